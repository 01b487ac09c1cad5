/* rd.h - a reader that checks bounds. All code reads hostile bytes (profiles, ELF, DWARF, packets, our own
 * files) through it.
 *
 * A read past the end returns zero, moves to the end and sets `bad`; it never touches memory outside. So a
 * parser reads a whole record and asks once: `if (r.bad) ...`. Multi-byte reads are little-endian unless the
 * name says otherwise.
 */
#ifndef BASE_RD_H
#define BASE_RD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct rd {
    const uint8_t *p, *end;
    bool bad;
};

static inline struct rd rd_over(const void *bytes, size_t n_bytes)
{
    const uint8_t *p = bytes ? (const uint8_t *)bytes : (const uint8_t *)""; /* no bytes may come as NULL */
    return (struct rd){.p = p, .end = p + n_bytes};
}

static inline size_t rd_left(const struct rd *r)
{
    return (size_t)(r->end - r->p);
}

static inline void rd_fail(struct rd *r)
{
    r->bad = true;
    r->p = r->end;
}

/* Returns the next n bytes and moves past them. If there are fewer, returns NULL and sets `bad`. */
static inline const uint8_t *rd_bytes(struct rd *r, uint64_t n)
{
    if (n > rd_left(r)) {
        rd_fail(r);
        return NULL;
    }
    const uint8_t *at = r->p;
    r->p += n;
    return at;
}

static inline void rd_skip(struct rd *r, uint64_t n)
{
    (void)rd_bytes(r, n);
}

/* Returns a reader over the next n bytes and moves past them. If there are fewer, returns an empty reader and
 * sets `bad` in both. */
static inline struct rd rd_sub(struct rd *r, uint64_t n)
{
    const uint8_t *at = rd_bytes(r, n);
    return at ? rd_over(at, (size_t)n) : (struct rd){.p = r->end, .end = r->end, .bad = true};
}

#define RD_FIXED(name, type)                                                                                 \
    static inline type name(struct rd *r)                                                                    \
    {                                                                                                        \
        type value = 0;                                                                                      \
        const uint8_t *at = rd_bytes(r, sizeof value);                                                       \
        if (at) memcpy(&value, at, sizeof value);                                                            \
        return value;                                                                                        \
    }
RD_FIXED(rd_u8, uint8_t)
RD_FIXED(rd_u16, uint16_t)
RD_FIXED(rd_u32, uint32_t)
RD_FIXED(rd_u64, uint64_t)
#undef RD_FIXED

uint64_t rd_varint_slow(struct rd *r);
int64_t rd_sleb(struct rd *r);

/* Unsigned LEB128 = protobuf varint. More than ten bytes, or bits past 64, are dropped silently as protobuf
 * does. */
static inline uint64_t rd_varint(struct rd *r)
{
    if (r->p < r->end && *r->p < 0x80) return *r->p++;
    return rd_varint_slow(r);
}

/* Returns the NUL-terminated string at the current position and moves past it. If there is no NUL, returns
 * NULL and sets `bad`. */
static inline const char *rd_cstr(struct rd *r)
{
    const uint8_t *nul = (const uint8_t *)(r->p < r->end ? memchr(r->p, 0, rd_left(r)) : NULL);
    if (!nul) {
        rd_fail(r);
        return NULL;
    }
    const char *text = (const char *)r->p;
    r->p = nul + 1;
    return text;
}

#endif
