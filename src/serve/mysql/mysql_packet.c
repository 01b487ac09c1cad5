/* mysql_packet.c - see mysql_packet.h. */
#include "serve/mysql/mysql_packet.h"

enum { FLUSH_BYTES = 1 << 16, STATUS_AUTOCOMMIT = 2 };

static bool read_fully(struct mysql_stream *s, void *to, size_t n)
{
    for (uint8_t *at = to; n;) {
        ssize_t got = s->io.read(s->io.context, at, n);
        if (got <= 0) return false;
        at += got;
        n -= (size_t)got;
    }
    return true;
}

bool mysql_read(struct mysql_stream *s, size_t max_bytes, struct buf *packet, bool *ret_too_long)
{
    packet->len = 0;
    if (ret_too_long) *ret_too_long = false;
    for (;;) {
        uint8_t header[4];
        if (!read_fully(s, header, sizeof header)) return false;
        size_t n = header[0] | (size_t)header[1] << 8 | (size_t)header[2] << 16;
        if (header[3] != s->sequence) return false;
        s->sequence++;
        if (n > max_bytes || packet->len > max_bytes - n) {
            if (ret_too_long) *ret_too_long = true;
            return false;
        }
        buf_reserve(packet, n + 1);
        if (!read_fully(s, packet->data + packet->len, n)) return false;
        packet->len += n;
        if (n < MYSQL_MAX_PAYLOAD) return true;
    }
}

bool mysql_flush(struct mysql_stream *s)
{
    for (size_t at = 0; at < s->out.len && !s->broken;) {
        ssize_t n = s->io.write(s->io.context, s->out.data + at, s->out.len - at);
        if (n <= 0)
            s->broken = true;
        else
            at += (size_t)n;
    }
    s->out.len = 0;
    return !s->broken;
}

void mysql_write(struct mysql_stream *s, const void *payload, size_t n)
{
    const char *at = payload;
    for (;;) {
        size_t piece = n < MYSQL_MAX_PAYLOAD ? n : MYSQL_MAX_PAYLOAD;
        uint8_t header[4] = {(uint8_t)piece, (uint8_t)(piece >> 8), (uint8_t)(piece >> 16), s->sequence++};
        buf_add(&s->out, header, sizeof header);
        buf_add(&s->out, at, piece);
        if (s->out.len > FLUSH_BYTES) mysql_flush(s);
        at += piece;
        n -= piece;
        if (piece < MYSQL_MAX_PAYLOAD) return; /* another packet follows a full one, if only an empty one */
    }
}

void mysql_u16(struct buf *b, uint16_t v)
{
    buf_add(b, &v, sizeof v);
}

void mysql_u32(struct buf *b, uint32_t v)
{
    buf_add(b, &v, sizeof v);
}

void mysql_u64(struct buf *b, uint64_t v)
{
    buf_add(b, &v, sizeof v);
}

void mysql_lenenc(struct buf *b, uint64_t v)
{
    if (v < 0xfb) {
        buf_char(b, (char)v);
        return;
    }
    size_t n = v < 1 << 16 ? 2 : v < 1 << 24 ? 3 : 8;
    buf_char(b, (char)(n == 2 ? 0xfc : n == 3 ? 0xfd : 0xfe));
    buf_add(b, &v, n);
}

void mysql_lenenc_str(struct buf *b, const char *s, size_t n)
{
    mysql_lenenc(b, n);
    buf_add(b, s, n);
}

uint64_t mysql_read_lenenc(struct rd *r)
{
    uint8_t first = rd_u8(r);
    if (first < 0xfb) return first;
    if (first == 0xfb || first == 0xff) {
        rd_fail(r);
        return 0;
    }
    uint64_t v = 0;
    size_t n = first == 0xfc ? 2 : first == 0xfd ? 3 : 8;
    const uint8_t *at = rd_bytes(r, n);
    if (at) memcpy(&v, at, n);
    return v;
}

void mysql_write_ok(struct mysql_stream *s, uint64_t n_affected)
{
    struct buf b = {0};
    buf_char(&b, 0);
    mysql_lenenc(&b, n_affected);
    mysql_lenenc(&b, 0); /* last insert id */
    mysql_u16(&b, STATUS_AUTOCOMMIT);
    mysql_u16(&b, 0); /* warnings */
    mysql_write(s, b.data, b.len);
    buf_free(&b);
}

void mysql_write_eof(struct mysql_stream *s)
{
    static const uint8_t eof[5] = {0xfe, 0, 0, STATUS_AUTOCOMMIT, 0};
    mysql_write(s, eof, sizeof eof);
}

void mysql_write_error(struct mysql_stream *s, int error, const char *state, const char *text)
{
    struct buf b = {0};
    buf_char(&b, (char)0xff);
    mysql_u16(&b, (uint16_t)error);
    buf_char(&b, '#');
    buf_add(&b, state, 5);
    buf_str(&b, text);
    mysql_write(s, b.data, b.len);
    buf_free(&b);
}
