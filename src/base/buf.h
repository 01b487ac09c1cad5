/* buf.h - a growing output buffer, to which all writers (text, DOT, SVG, JSON, proto, HTTP, SQL) append.
 *
 * A buffer made by buf_to_fd writes its content to a file descriptor as it grows, so that a report of any
 * size needs little memory.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct buf { /* all zero is an empty buffer */
    char *data;
    size_t len, cap;
    size_t max_len; /* an append beyond it is dropped and sets `full`; 0: no limit */
    int drain_fd;   /* only when draining */
    bool draining, full;
    int write_errno; /* first error while draining */
};

struct buf buf_to_fd(int fd); /* drains; call buf_flush at the end */
int buf_flush(struct buf *b); /* 0, or -1 with write_errno set */
void buf_free(struct buf *b); /* empty again */
char *buf_take(
    struct buf *b); /* the text, NUL-terminated, now the caller's (mem_free); the buffer is empty again */
const char *buf_cstr(struct buf *b);          /* NUL-terminated view, until the next append */
void buf_reserve(struct buf *b, size_t more); /* after it, `more` bytes can be stored at data+len */

void buf_add_slow(struct buf *b, const void *bytes, size_t n);
void buf_printf(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buf_vprintf(struct buf *b, const char *format, va_list args) __attribute__((format(printf, 2, 0)));
void buf_u64(struct buf *b, uint64_t value); /* decimal */
void buf_i64(struct buf *b, int64_t value);  /* decimal */
void buf_hex(struct buf *b, uint64_t value); /* without 0x */
void buf_fill(struct buf *b, char c, size_t n);
void buf_varint(struct buf *b, uint64_t value);    /* LEB128 */
void buf_utf8(struct buf *b, uint32_t code_point); /* at most U+10FFFF */
void buf_xml(struct buf *b, const char *s,
             size_t n); /* & < > " ' escaped; invalid UTF-8 and control bytes become U+FFFD */
void buf_json(struct buf *b, const char *s,
              size_t n); /* a quoted JSON string, valid UTF-8 whatever came in; '<' as \u003c */
void buf_url(struct buf *b, const char *text); /* percent-encoded, but for letters, digits and -_.~ */

static inline void buf_add(struct buf *b, const void *bytes, size_t n)
{
    if (b->cap - b->len > n && !b->full) {
        if (n) memcpy(b->data + b->len, bytes, n); /* bytes may be NULL when there are none */
        b->len += n;
    } else {
        buf_add_slow(b, bytes, n);
    }
}

static inline void buf_str(struct buf *b, const char *text)
{
    buf_add(b, text, strlen(text));
}

static inline void buf_char(struct buf *b, char c)
{
    if (b->cap - b->len > 1 && !b->full)
        b->data[b->len++] = c;
    else
        buf_add_slow(b, &c, 1);
}

#endif
