/* buf.c - see buf.h. */
#include "base/buf.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/utf8.h"

enum { DRAIN_AT_BYTES = 1 << 16 };

struct buf buf_to_fd(int fd)
{
    return (struct buf){.drain_fd = fd, .draining = true};
}

static void write_all(struct buf *b, const char *bytes, size_t n)
{
    while (n && !b->write_errno) {
        ssize_t done = write(b->drain_fd, bytes, n);
        if (done < 0) {
            if (errno == EINTR) continue;
            b->write_errno = errno;
            return;
        }
        bytes += done;
        n -= (size_t)done;
    }
}

int buf_flush(struct buf *b)
{
    if (b->draining) {
        write_all(b, b->data, b->len);
        b->len = 0;
    }
    return b->write_errno ? -1 : 0;
}

void buf_free(struct buf *b)
{
    mem_free(b->data);
    *b = (struct buf){.max_len = b->max_len};
}

char *buf_take(struct buf *b)
{
    buf_reserve(b, 1);
    b->data[b->len] = '\0';
    char *text = b->data;
    *b = (struct buf){.max_len = b->max_len};
    return text;
}

const char *buf_cstr(struct buf *b)
{
    buf_reserve(b, 1);
    b->data[b->len] = '\0';
    return b->data;
}

void buf_reserve(struct buf *b, size_t more)
{
    if (b->cap - b->len <= more) b->data = mem_grow(b->data, &b->cap, b->len + more + 1, 1);
}

void buf_add_slow(struct buf *b, const void *bytes, size_t n)
{
    if (b->full) return;
    if (b->max_len && (b->len > b->max_len || n > b->max_len - b->len)) {
        b->full = true;
        return;
    }
    if (b->draining && b->len + n >= DRAIN_AT_BYTES) {
        buf_flush(b);
        if (n >= DRAIN_AT_BYTES) {
            write_all(b, bytes, n);
            return;
        }
        if (b->cap < DRAIN_AT_BYTES + 1) buf_reserve(b, DRAIN_AT_BYTES);
    }
    buf_reserve(b, n);
    if (b->max_len && b->cap > b->max_len + 1)
        b->cap = b->max_len + 1; /* the inline appends look at cap only */
    if (n) memcpy(b->data + b->len, bytes, n);
    b->len += n;
}

void buf_vprintf(struct buf *b, const char *format, va_list args)
{
    char small[512];
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(small, sizeof small, format, args);
    if (n >= 0 && (size_t)n < sizeof small) {
        buf_add(b, small, (size_t)n);
    } else if (n >= 0) {
        char *large = mem_alloc((size_t)n + 1);
        vsnprintf(large, (size_t)n + 1, format, again);
        buf_add(b, large, (size_t)n);
        mem_free(large);
    }
    va_end(again);
}

void buf_printf(struct buf *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    buf_vprintf(b, format, args);
    va_end(args);
}

void buf_u64(struct buf *b, uint64_t value)
{
    char digits[20], *p = digits + sizeof digits;
    do {
        *--p = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    buf_add(b, p, (size_t)(digits + sizeof digits - p));
}

void buf_i64(struct buf *b, int64_t value)
{
    if (value < 0) buf_char(b, '-');
    buf_u64(b, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void buf_hex(struct buf *b, uint64_t value)
{
    char digits[16], *p = digits + sizeof digits;
    do {
        *--p = TEXT_HEX_DIGITS[value & 15];
        value >>= 4;
    } while (value);
    buf_add(b, p, (size_t)(digits + sizeof digits - p));
}

void buf_fill(struct buf *b, char c, size_t n)
{
    while (n--) buf_char(b, c);
}

void buf_varint(struct buf *b, uint64_t value)
{
    while (value >= 0x80) {
        buf_char(b, (char)(value | 0x80));
        value >>= 7;
    }
    buf_char(b, (char)value);
}

void buf_utf8(struct buf *b, uint32_t code_point)
{
    char bytes[4];
    buf_add(b, bytes, utf8_encode(code_point, bytes));
}

/* Appends the start of s, of which n bytes are left, as far as it needs no escaping: a run of `plain` bytes
 * or one UTF-8 sequence. A byte that starts no sequence becomes U+FFFD. Returns how many bytes of s were
 * used, or 0 if the first byte must be escaped. */
static size_t add_unescaped(struct buf *b, const char *s, size_t n, const bool *plain)
{
    size_t len = 0;
    while (len < n && plain[(unsigned char)s[len]]) len++;
    if (!len && (unsigned char)s[0] >= 0x80) {
        len = utf8_sequence_len(s, n);
        if (!len) {
            buf_utf8(b, 0xfffd);
            return 1;
        }
    }
    buf_add(b, s, len);
    return len;
}

/* The bytes that need no escape in XML text: ASCII without & < > " ' and control bytes. */
static const bool plain_xml[256] = {
    ['\t'] = 1,          ['\n'] = 1,          ['\r'] = 1, [' '] = 1,           ['!'] = 1,
    [0x23 ... 0x25] = 1, [0x28 ... 0x3b] = 1, ['='] = 1,  [0x3f ... 0x7f] = 1,
};

void buf_xml(struct buf *b, const char *s, size_t n)
{
    for (size_t i = 0; i < n;) {
        size_t unescaped = add_unescaped(b, s + i, n - i, plain_xml);
        i += unescaped;
        if (unescaped) continue;
        unsigned char c = (unsigned char)s[i];
        switch (c) {
        case '&':
            buf_add(b, "&amp;", 5);
            break;
        case '<':
            buf_add(b, "&lt;", 4);
            break;
        case '>':
            buf_add(b, "&gt;", 4);
            break;
        case '"':
            buf_add(b, "&quot;", 6);
            break;
        case '\'':
            buf_add(b, "&#39;", 5);
            break;
        default:
            buf_utf8(b, 0xfffd);
        }
        i++;
    }
}

/* The bytes that need no escape in a JSON string: ASCII without " \\ < and control bytes. */
static const bool plain_json[256] = {
    [0x20 ... 0x21] = 1,
    [0x23 ... 0x3b] = 1,
    [0x3d ... 0x5b] = 1,
    [0x5d ... 0x7e] = 1,
};

void buf_json(struct buf *b, const char *s, size_t n)
{
    buf_char(b, '"');
    for (size_t i = 0; i < n;) {
        size_t unescaped = add_unescaped(b, s + i, n - i, plain_json);
        i += unescaped;
        if (unescaped) continue;
        unsigned char c = (unsigned char)s[i];
        if (c == '"' || c == '\\') {
            buf_char(b, '\\');
            buf_char(b, (char)c);
        } else if (c == '\n') {
            buf_str(b, "\\n");
        } else if (c == '\t') {
            buf_str(b, "\\t");
        } else if (c < 0x20 || c == '<' || c == 0x7f) { /* escaping '<' keeps JSON safe in <script> */
            buf_printf(b, "\\u%04x", c);
        } else {
            buf_char(b, (char)c);
        }
        i++;
    }
    buf_char(b, '"');
}

void buf_url(struct buf *b, const char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (isalnum(c) || strchr("-_.~", c))
            buf_char(b, (char)c);
        else
            buf_printf(b, "%%%02X", c);
    }
}
