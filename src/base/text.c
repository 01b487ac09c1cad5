/* text.c - see text.h. */
#include "base/text.h"

#include <errno.h>
#include <stdlib.h>

#include "base/utf8.h"

bool text_to_int(const char *text, int64_t min, int64_t max, int64_t *ret_value)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end || errno || value < min || value > max) return false;
    *ret_value = value;
    return true;
}

bool text_to_port(const char *text, uint16_t *ret_port)
{
    int64_t port;
    if (*text < '0' || *text > '9' || !text_to_int(text, 1, UINT16_MAX, &port)) return false;
    *ret_port = (uint16_t)port;
    return true;
}

char *text_trim(char *text)
{
    while (text_is_blank(*text)) text++;
    size_t n = strlen(text);
    while (n && text_is_blank(text[n - 1])) text[--n] = '\0';
    return text;
}

void text_first_line(const void *data, size_t len, char *into, size_t size)
{
    struct piece rest = {data, len};
    size_t n = 0;
    piece_skip_blanks(&rest);
    while (n < rest.n && (unsigned char)rest.s[n] >= 32 && rest.s[n] != 127) {
        size_t more = utf8_sequence_len(rest.s + n, rest.n - n);
        if (!more || n + more >= size) break;
        n += more;
    }
    if (n) memcpy(into, rest.s, n);
    into[n] = '\0';
}
