/* gzip.c - see gzip.h. RFC 1951 (fixed codes: 3.2.6), RFC 1952. */
#include "agent/write/gzip.h"

#include <stdint.h>
#include <string.h>

#define WINDOW    32768u
#define HASH_BITS 15
#define MIN_MATCH 4u
#define MAX_MATCH 258u

struct bits {
    struct pages_buf *into;
    uint64_t word;
    unsigned n;
};

static void put(struct bits *b, uint32_t value, unsigned n)
{
    b->word |= (uint64_t)value << b->n;
    b->n += n;
    while (b->n >= 8) {
        uint8_t byte = (uint8_t)b->word;
        if (b->into->size < b->into->room)
            b->into->data[b->into->size++] = (char)byte;
        else
            pages_buf_bytes(b->into, &byte, 1);
        b->word >>= 8;
        b->n -= 8;
    }
}

static uint32_t reversed(uint32_t value, unsigned n)
{
    uint32_t out = 0;
    for (unsigned i = 0; i < n; i++) out |= (value >> i & 1) << (n - 1 - i);
    return out;
}

static void put_symbol(struct bits *b, unsigned symbol)
{
    if (symbol < 144)
        put(b, reversed(0x30 + symbol, 8), 8);
    else if (symbol < 256)
        put(b, reversed(0x190 + symbol - 144, 9), 9);
    else if (symbol < 280)
        put(b, reversed(symbol - 256, 7), 7);
    else
        put(b, reversed(0xc0 + symbol - 280, 8), 8);
}

static void put_match(struct bits *b, unsigned length, unsigned distance)
{
    static const uint16_t length_base[] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                           31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
    static const uint8_t length_extra[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                           2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
    static const uint16_t distance_base[] = {1,    2,    3,    4,    5,    7,    9,    13,    17,    25,
                                             33,   49,   65,   97,   129,  193,  257,  385,   513,   769,
                                             1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
    unsigned l = 28, d = 29;
    while (length_base[l] > length) l--;
    while (distance_base[d] > distance) d--;
    put_symbol(b, 257 + l);
    put(b, length - length_base[l], length_extra[l]);
    put(b, reversed(d, 5), 5);
    put(b, distance - distance_base[d], d < 4 ? 0 : d / 2 - 1);
}

static uint32_t crc_of(const uint8_t *bytes, size_t n)
{
    uint32_t table[256];
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int k = 0; k < 8; k++) c = c & 1 ? 0xedb88320u ^ c >> 1 : c >> 1;
        table[i] = c;
    }
    uint32_t crc = ~0u;
    for (size_t i = 0; i < n; i++) crc = table[(crc ^ bytes[i]) & 255] ^ crc >> 8;
    return ~crc;
}

static void deflate(struct bits *b, const uint8_t *in, size_t n)
{
    /* Where each hash occurred last, as position + 1. Without this memory everything is a literal. */
    uint32_t *last = pages_map(sizeof *last << HASH_BITS);
    put(b, 1, 1); /* the last block */
    put(b, 1, 2); /* fixed codes */
    for (size_t at = 0; at < n;) {
        unsigned length = 0;
        size_t from = 0;
        if (last && at + MIN_MATCH <= n) {
            uint32_t word;
            memcpy(&word, in + at, 4);
            uint32_t *slot = &last[word * 0x9e3779b1u >> (32 - HASH_BITS)];
            if (*slot && at - (*slot - 1) <= WINDOW) {
                from = *slot - 1;
                while (length < MAX_MATCH && at + length < n && in[from + length] == in[at + length])
                    length++;
            }
            *slot = (uint32_t)at + 1;
        }
        if (length >= MIN_MATCH) {
            put_match(b, length, (unsigned)(at - from));
            at += length;
        } else {
            put_symbol(b, in[at++]);
        }
    }
    put_symbol(b, 256);
    put(b, 0, 7); /* fills up the last byte; fewer than 8 bits stay behind, all of them padding */
    pages_unmap(last, sizeof *last << HASH_BITS);
}

void gzip_write(struct pages_buf *into, const void *bytes, size_t n_bytes)
{
    static const uint8_t header[10] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3};
    pages_buf_bytes(into, header, sizeof header);
    struct bits b = {.into = into};
    deflate(&b, bytes, n_bytes);
    uint32_t tail[2] = {crc_of(bytes, n_bytes), (uint32_t)n_bytes};
    pages_buf_bytes(into, tail, sizeof tail);
}
