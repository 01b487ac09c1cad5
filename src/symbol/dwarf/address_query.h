/* address_query.h - the addresses of one lookup. They are sorted by address, and each one keeps its index in
 * the caller's array. */
#ifndef SYMBOL_DWARF_ADDRESS_QUERY_H
#define SYMBOL_DWARF_ADDRESS_QUERY_H

#include <stddef.h>
#include <stdint.h>

struct query {
    uint64_t address;
    uint32_t index; /* in the caller's array of addresses */
};

/* Sorts the queries by address. Queries with equal addresses keep their order. */
void queries_sort(struct query *queries, size_t n);

/* Returns how many of the n sorted queries have an address below the given one. */
static inline size_t queries_below(const struct query *q, size_t n, uint64_t address)
{
    size_t low = 0;
    while (n) {
        size_t half = n / 2;
        if (q[low + half].address < address) {
            low += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return low;
}

#endif
