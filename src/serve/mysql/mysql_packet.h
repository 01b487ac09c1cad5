/* mysql_packet.h - packets of the MySQL client/server protocol: framing, numbers and the standard replies.
 *
 * A packet has three bytes of length, one byte of sequence number, and the payload. A payload of 16 MiB - 1
 * bytes continues in the next packet. A stream reads and writes through two functions, which may stand for a
 * socket, for TLS or for the bytes of a fuzzer.
 */
#ifndef SERVE_MYSQL_MYSQL_PACKET_H
#define SERVE_MYSQL_MYSQL_PACKET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/rd.h"

enum { MYSQL_MAX_PAYLOAD = 0xffffff };

struct mysql_io {
    void *context;
    ssize_t (*read)(void *context, void *to, size_t n); /* 0: the end; -1: error or time-out */
    ssize_t (*write)(void *context, const void *from, size_t n);
};

struct mysql_stream {
    struct mysql_io io;
    uint8_t sequence; /* of the next packet in either direction */
    bool broken;      /* a write failed; later packets are dropped */
    struct buf out;   /* not sent yet */
};

/* Reads the payload of the next packet into *packet, replacing its content. False at the end, after an
 * error, for a wrong sequence number, and for a payload longer than max_bytes; *ret_too_long (may be NULL)
 * is true in the last case. */
bool mysql_read(struct mysql_stream *s, size_t max_bytes, struct buf *packet, bool *ret_too_long);

void mysql_write(struct mysql_stream *s, const void *payload, size_t n); /* queues it as packets */
bool mysql_flush(struct mysql_stream *s);

/* ---- payload pieces ---- */

void mysql_u16(struct buf *b, uint16_t v);
void mysql_u32(struct buf *b, uint32_t v);
void mysql_u64(struct buf *b, uint64_t v);
void mysql_lenenc(struct buf *b, uint64_t v);
void mysql_lenenc_str(struct buf *b, const char *s, size_t n);
uint64_t mysql_read_lenenc(struct rd *r); /* sets r->bad for 0xfb and 0xff, which are not numbers */

/* ---- standard replies ---- */

void mysql_write_ok(struct mysql_stream *s, uint64_t n_affected);
void mysql_write_eof(struct mysql_stream *s);
void mysql_write_error(struct mysql_stream *s, int error, const char *state, const char *text);

#endif
