/* utf8.c - well-formedness by the table of Unicode 15, section 3.9: no overlong forms, no surrogates, nothing
 * past U+10FFFF. */
#include "base/utf8.h"

size_t utf8_sequence_len(const char *s, size_t n)
{
    const unsigned char *u = (const unsigned char *)s;
    if (!n) return 0;
    if (u[0] < 0x80) return 1;
    unsigned low = 0x80, high = 0xbf;
    size_t len;
    if (u[0] >= 0xc2 && u[0] <= 0xdf) {
        len = 2;
    } else if (u[0] >= 0xe0 && u[0] <= 0xef) {
        len = 3;
        if (u[0] == 0xe0) low = 0xa0;
        if (u[0] == 0xed) high = 0x9f;
    } else if (u[0] >= 0xf0 && u[0] <= 0xf4) {
        len = 4;
        if (u[0] == 0xf0) low = 0x90;
        if (u[0] == 0xf4) high = 0x8f;
    } else {
        return 0;
    }
    if (n < len || u[1] < low || u[1] > high) return 0;
    for (size_t i = 2; i < len; i++) {
        if ((u[i] & 0xc0) != 0x80) return 0;
    }
    return len;
}

size_t utf8_encode(uint32_t code_point, char out[4])
{
    static const unsigned char first[] = {0, 0, 0xc0, 0xe0, 0xf0}; /* by length */
    if (code_point < 0x80) {
        out[0] = (char)code_point;
        return 1;
    }
    size_t len = code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;
    for (size_t i = len; i-- > 1; code_point >>= 6) out[i] = (char)(0x80 | (code_point & 63));
    out[0] = (char)(first[len] | code_point);
    return len;
}
