/* cpu_binary.h - the binary CPU profile of gperftools, record by record.
 *
 * Words of 4 or 8 bytes in either byte order: 0, 3, 0 (1: java), period in microseconds, 0; then records of
 * count, depth, depth program counters (leaf first, as sampled: nothing is subtracted here); then 0, 1, 0;
 * then the memory map (java: a list of names).
 */
#ifndef FORMAT_CPU_BINARY_H
#define FORMAT_CPU_BINARY_H

#include "base/err.h"
#include "base/text.h"

struct cpu_header {
    unsigned word_bytes; /* 4 or 8 */
    bool big_endian, java;
    uint64_t period_us;
};

struct cpu_handler {
    /* Non-zero ends the reading and is returned. The array is valid during the call. */
    int (*record)(void *context, uint64_t count, const uint64_t *addresses, size_t n_addresses);
    void *context;
};

/* 0, FORMAT_NOT_MINE, or an error. ret_rest: what follows the records. */
int cpu_binary_read(const void *data, size_t len, const struct cpu_handler *handler,
                    struct cpu_header *ret_header, struct piece *ret_rest, struct err *err);

#endif
