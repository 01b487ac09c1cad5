/* cpu_binary.c - see cpu_binary.h. */
#include "format/cpu_binary.h"

#include <byteswap.h>

#include "base/mem.h"
#include "base/rd.h"
#include "format/format.h"

static uint64_t word(struct rd *r, const struct cpu_header *h)
{
    if (h->word_bytes == 4) {
        uint32_t value = rd_u32(r);
        return h->big_endian ? bswap_32(value) : value;
    }
    uint64_t value = rd_u64(r);
    return h->big_endian ? bswap_64(value) : value;
}

/* Tries one of the four layouts. On success r is positioned after the header. */
static bool take_header(struct rd *r, unsigned word_bytes, bool big_endian, struct cpu_header *h)
{
    *h = (struct cpu_header){.word_bytes = word_bytes, .big_endian = big_endian};
    uint64_t w[5];
    for (size_t i = 0; i < 5; i++) w[i] = word(r, h);
    if (r->bad || w[0] != 0 || w[1] != 3 || w[2] > 1 || w[3] == 0 || w[4] != 0) return false;
    h->java = w[2] == 1;
    h->period_us = w[3];
    return true;
}

int cpu_binary_read(const void *data, size_t len, const struct cpu_handler *handler,
                    struct cpu_header *ret_header, struct piece *ret_rest, struct err *err)
{
    struct cpu_header h;
    struct rd r;
    unsigned layout = 0;
    do {
        if (layout == 4) return FORMAT_NOT_MINE;
        r = rd_over(data, len);
    } while (!take_header(&r, layout < 2 ? 4 : 8, layout & 1, &h) && ++layout);
    if (h.period_us > 1000000000000)
        return err_set(err, ERR_INPUT, "a sampling period of %llu us is not believable",
                       (unsigned long long)h.period_us);
    *ret_header = h;

    uint64_t *addresses = NULL;
    size_t cap = 0;
    int rc = 0;
    while (!rc && rd_left(&r)) {
        size_t at = (size_t)(r.p - (const uint8_t *)data);
        uint64_t count = word(&r, &h), depth = word(&r, &h);
        if (r.bad || depth > rd_left(&r) / h.word_bytes) {
            rc = err_set(
                err, ERR_INPUT,
                "the CPU profile is cut off or damaged: the record at byte %zu does not fit in the file", at);
            break;
        }
        if (depth > cap) addresses = mem_grow(addresses, &cap, (size_t)depth, sizeof *addresses);
        for (size_t i = 0; i < depth; i++) addresses[i] = word(&r, &h);
        if (!count && depth == 1 && !addresses[0]) break; /* the end mark */
        rc = handler->record(handler->context, count, addresses, (size_t)depth);
    }
    *ret_rest = (struct piece){(const char *)r.p, rd_left(&r)};
    mem_free(addresses);
    return rc;
}
