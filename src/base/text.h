/* text.h - reading text: pieces of it, lines, numbers, hexadecimal digits.
 *
 * A piece is part of a text that may be hostile. It is never NUL-terminated and never copied, and every
 * function on pieces stays inside [s, s + n). The inline functions need only libc, so that the library in
 * src/agent may use them; the functions declared at the end take NUL-terminated texts of our own or of users.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct piece {
    const char *s;
    size_t n;
};

#define PIECE(literal) ((struct piece){literal, sizeof(literal) - 1})

static inline bool text_is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static inline struct piece piece_trim(struct piece p)
{
    while (p.n && text_is_blank(*p.s)) p.s++, p.n--;
    while (p.n && text_is_blank(p.s[p.n - 1])) p.n--;
    return p;
}

static inline bool piece_starts(struct piece p, const char *prefix)
{
    size_t n = strlen(prefix);
    return p.n >= n && !memcmp(p.s, prefix, n);
}

static inline bool piece_is(struct piece p, const char *text)
{
    return p.n == strlen(text) && !memcmp(p.s, text, p.n);
}

static inline bool piece_has(struct piece p, const char *text)
{
    return p.n && memmem(p.s, p.n, text, strlen(text)) != NULL;
}

/* Moves past the bytes of `set` and returns how many there were. */
static inline size_t piece_skip(struct piece *p, const char *set)
{
    size_t n = 0;
    while (p->n && *p->s && strchr(set, *p->s)) p->s++, p->n--, n++;
    return n;
}

static inline size_t piece_skip_blanks(struct piece *p)
{
    size_t n = 0;
    while (p->n && text_is_blank(*p->s)) p->s++, p->n--, n++;
    return n;
}

static inline bool piece_take(struct piece *p, const char *prefix)
{
    size_t n = strlen(prefix);
    if (p->n < n || memcmp(p->s, prefix, n)) return false;
    p->s += n;
    p->n -= n;
    return true;
}

/* The next line, without its end (\n or \r\n); false when nothing is left. */
static inline bool text_line(struct piece *text, struct piece *ret_line)
{
    if (!text->n) return false;
    const char *end = memchr(text->s, '\n', text->n);
    size_t n = end ? (size_t)(end - text->s) : text->n;
    *ret_line = (struct piece){text->s, n && text->s[n - 1] == '\r' ? n - 1 : n};
    n += end ? 1 : 0;
    text->s += n;
    text->n -= n;
    return true;
}

#define TEXT_HEX_DIGITS "0123456789abcdef"

/* The value of a hexadecimal digit of either case, or -1. */
static inline int text_hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* Writes n bytes as 2 * n lower-case digits and a NUL. */
static inline void text_hex(const void *bytes, size_t n, char *into)
{
    const uint8_t *b = bytes;
    for (size_t i = 0; i < n; i++) {
        into[2 * i] = TEXT_HEX_DIGITS[b[i] >> 4];
        into[2 * i + 1] = TEXT_HEX_DIGITS[b[i] & 15];
    }
    into[2 * n] = '\0';
}

/* The byte that "%41" at s stands for, or -1 when the n bytes at s do not start with such a code. */
static inline int text_percent_byte(const char *s, size_t n)
{
    if (n < 3 || s[0] != '%' || text_hex_digit(s[1]) < 0 || text_hex_digit(s[2]) < 0) return -1;
    return text_hex_digit(s[1]) << 4 | text_hex_digit(s[2]);
}

enum text_number { TEXT_NONE, TEXT_GOOD, TEXT_TOO_LARGE };

/* Digits at the start of p, which moves past them. */
static inline enum text_number text_take_hex(struct piece *p, uint64_t *ret_value)
{
    uint64_t value = 0;
    size_t i = 0;
    bool large = false;
    for (int d; i < p->n && (d = text_hex_digit(p->s[i])) >= 0; i++) {
        large |= value >> 60 != 0;
        value = value << 4 | (unsigned)d;
    }
    if (!i) return TEXT_NONE;
    p->s += i;
    p->n -= i;
    *ret_value = value;
    return large ? TEXT_TOO_LARGE : TEXT_GOOD;
}

static inline enum text_number text_take_u64(struct piece *p, uint64_t *ret_value)
{
    uint64_t value = 0;
    size_t i = 0;
    bool large = false;
    for (; i < p->n && p->s[i] >= '0' && p->s[i] <= '9'; i++)
        large |= __builtin_mul_overflow(value, 10u, &value) ||
                 __builtin_add_overflow(value, (unsigned)(p->s[i] - '0'), &value);
    if (!i) return TEXT_NONE;
    p->s += i;
    p->n -= i;
    *ret_value = value;
    return large ? TEXT_TOO_LARGE : TEXT_GOOD;
}

/* With an optional minus. */
static inline enum text_number text_take_i64(struct piece *p, int64_t *ret_value)
{
    struct piece rest = *p;
    bool minus = piece_take(&rest, "-");
    uint64_t value;
    enum text_number got = text_take_u64(&rest, &value);
    if (got == TEXT_NONE) return got;
    if (value > INT64_MAX) got = TEXT_TOO_LARGE;
    *p = rest;
    *ret_value = minus ? -(int64_t)(value & INT64_MAX) : (int64_t)(value & INT64_MAX);
    return got;
}

/* A double as a value of a profile: truncated as C does, at the ends of the range where C does not say. */
static inline int64_t text_clamp_i64(double value)
{
    if (!(value > -9.2e18)) return value != value ? 0 : INT64_MIN;
    return value < 9.2e18 ? (int64_t)value : INT64_MAX;
}

/* ---- in text.c ---- */

/* A whole decimal number from min to max: false when text is anything else. As with strtoll, blanks and a
 * sign may come before the digits. */
bool text_to_int(const char *text, int64_t min, int64_t max, int64_t *ret_value);

/* A port from 1 to 65535, digits only. */
bool text_to_port(const char *text, uint16_t *ret_port);

/* Removes blanks at both ends of text, in place, and returns its new start. */
char *text_trim(char *text);

/* Copies the first line that is not blank, for an error message: at most size - 1 bytes up to the first
 * control byte or invalid UTF-8, and a NUL. */
void text_first_line(const void *data, size_t len, char *into, size_t size);

#endif
