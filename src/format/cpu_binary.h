/* cpu_binary.h - reads the binary CPU profile of gperftools, record by record.
 *
 * The file consists of words of 4 or 8 bytes in either byte order. The header is 0, 3, 0 (1 for Java), the
 * period in microseconds, 0. Each record is a count, a depth and that many program counters, leaf first and
 * as sampled: this reader subtracts nothing. The words 0, 1, 0 end the records. The memory map follows, or
 * for Java a list of names.
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
    /* A result other than 0 ends the reading and becomes the result of cpu_binary_read. The array is valid
     * during the call. */
    int (*record)(void *context, uint64_t count, const uint64_t *addresses, size_t n_addresses);
    void *context;
};

/* Returns 0, FORMAT_NOT_MINE, or an error. *ret_rest becomes the text behind the records. */
int cpu_binary_read(const void *data, size_t len, const struct cpu_handler *handler,
                    struct cpu_header *ret_header, struct piece *ret_rest, struct err *err);

#endif
