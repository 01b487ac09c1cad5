/* utf8.h - is this text? Foreign names are bytes; what we show must be UTF-8. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>

/* Length (1-4) of the well-formed sequence at s, of which n bytes are left; 0 when there is none. */
size_t utf8_sequence_len(const char *s, size_t n);

#endif
