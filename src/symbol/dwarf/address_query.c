/* address_query.c - see address_query.h. */
#include "symbol/dwarf/address_query.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static int by_address(const void *a_, const void *b_)
{
    const struct query *a = a_, *b = b_;
    if (a->address != b->address) return a->address < b->address ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

/* A large batch is radix-sorted, with one pass for each byte in which the addresses differ. */
void queries_sort(struct query *q, size_t n)
{
    if (n < 256) {
        qsort(q, n, sizeof *q, by_address);
        return;
    }
    struct query *other = mem_array(n, sizeof *other), *from = q, *to = other;
    uint64_t all_or = 0, all_and = UINT64_MAX;
    for (size_t i = 0; i < n; i++) all_or |= q[i].address, all_and &= q[i].address;
    for (unsigned shift = 0; shift < 64; shift += 8) {
        if (!((all_or ^ all_and) >> shift & 255)) continue;
        size_t start[257] = {0};
        for (size_t i = 0; i < n; i++) start[(from[i].address >> shift & 255) + 1]++;
        for (unsigned b = 0; b < 256; b++) start[b + 1] += start[b];
        for (size_t i = 0; i < n; i++) to[start[from[i].address >> shift & 255]++] = from[i];
        struct query *swap = from;
        from = to;
        to = swap;
    }
    if (from != q) memcpy(q, from, n * sizeof *q);
    mem_free(other);
}
