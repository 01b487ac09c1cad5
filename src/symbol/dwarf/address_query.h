/* address_query.h - addresses that are looked up together, in order, with the place that the caller gave
 * them. */
#ifndef SYMBOL_DWARF_ADDRESS_QUERY_H
#define SYMBOL_DWARF_ADDRESS_QUERY_H

#include <stddef.h>
#include <stdint.h>

struct query {
    uint64_t address;
    uint32_t index;
};

void queries_sort(struct query *queries, size_t n); /* by address; equal ones stay in order */

/* How many addresses are below. */
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
