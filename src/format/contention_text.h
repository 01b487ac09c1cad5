/* contention_text.h - reads lock contention profiles in text, record by record, with the numbers as written.
 *
 *   --- contentionz 1 ---            "--- contention:" and "--- mutex:" (Go), "--- contention" (brpc) and
 *                                    "--- Stacks:" (very old) also start such a file
 *   cycles/second = 3201000000       also sampling period, ms since reset, discarded samples
 *   <cycles> <count> @ 0x1 0x2       very old files have no count
 *   --- Memory map: ---              brpc leaves this line out
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
    /* count is -1 when the line has none. header holds the values of the lines above this record. A result
     * other than 0 ends the reading and becomes the result of contention_text_read. */
    int (*record)(void *context, const struct contention_header *header, int64_t cycles, int64_t count,
                  const uint64_t *addresses, size_t n_addresses);
    void (*unknown_key)(void *context, struct piece key, struct piece value); /* may be NULL */
    void *context;
};

/* Returns 0, FORMAT_NOT_MINE, or an error whose text has the line's number. */
int contention_text_read(struct piece text, const struct contention_handler *handler,
                         struct contention_header *ret_header, struct piece *ret_maps, struct err *err);

#endif
