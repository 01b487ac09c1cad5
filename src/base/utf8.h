/* utf8.h - checks and writes UTF-8. Names from other programs are bytes; what we show must be UTF-8. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Length (1-4) of the well-formed sequence at s, of which n bytes are left; 0 when there is none. */
size_t utf8_sequence_len(const char *s, size_t n);

/* Writes the 1 to 4 bytes of a code point of at most U+10FFFF and returns their number. */
size_t utf8_encode(uint32_t code_point, char out[4]);

/* The number of characters in a text: its bytes without those that continue a sequence. */
static inline size_t utf8_count(const char *text)
{
    size_t n = 0;
    for (; *text; text++) n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

#endif
