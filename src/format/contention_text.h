/* contention_text.h - lock contention profiles in text, record by record, with the numbers as they stand in
 * the file.
 *
 *   --- contentionz 1 ---          also "--- contention:", "--- mutex:" (Go), "--- contention" (brpc), "---
 * Stacks:" (very old) cycles/second = 3201000000     and sampling period, ms since reset, discarded samples
 *   <cycles> <count> @ 0x1 0x2     very old: <cycles> @ ...
 *   --- Memory map: ---            brpc leaves this line out
 */
#ifndef FORMAT_CONTENTION_TEXT_H
#define FORMAT_CONTENTION_TEXT_H

#include "base/err.h"
#include "base/text.h"

struct contention_header {
    int64_t cycles_per_second; /* 0: not given */
    int64_t sampling_period;   /* 1 when not given */
    int64_t duration_ms;       /* since reset; 0: not given */
};

struct contention_handler {
    /* count: -1 when the line has none. header holds what was said above this line. Non-zero ends the reading
     * and is returned. */
    int (*record)(void *context, const struct contention_header *header, int64_t cycles, int64_t count,
                  const uint64_t *addresses, size_t n_addresses);
    void (*unknown_key)(void *context, struct piece key, struct piece value); /* may be NULL */
    void *context;
};

/* 0, FORMAT_NOT_MINE, or an error that names the line. */
int contention_text_read(struct piece text, const struct contention_handler *handler,
                         struct contention_header *ret_header, struct piece *ret_maps, struct err *err);

#endif
