/* heap_text.h - reads heap profiles in text, record by record, with the numbers as written.
 *
 *   heap profile: n: bytes [n: bytes] @ TYPE[/RATE]        gperftools, tcmalloc, Go: one line per record
 *   n: bytes [n: bytes] @ 0x1 0x2 ...
 *
 *   heap_v2/RATE                                           jemalloc: totals first, then a block per stack
 *     t*: n: bytes [n: bytes]
 *     t1: n: bytes [n: bytes] thread-name
 *   @ 0x1 0x2 ...
 *     t*: n: bytes [n: bytes]
 *     t1: n: bytes [n: bytes]
 *
 * The line "MAPPED_LIBRARIES:" or "--- Memory map: ---" and the memory map follow. format_heap and the jeprof
 * personality both use this reader; they differ in how they undo the sampling and how they adjust addresses.
 */
#ifndef FORMAT_HEAP_TEXT_H
#define FORMAT_HEAP_TEXT_H

#include "base/err.h"
#include "base/text.h"

enum heap_kind { HEAP_SAMPLED, HEAP_EXACT, HEAP_GROWTH, HEAP_FRAGMENTATION, HEAP_JEMALLOC };

struct heap_counts {
    int64_t inuse_count, inuse_bytes, alloc_count, alloc_bytes;
};

struct heap_header {
    enum heap_kind kind;
    unsigned version; /* of the sampling: 2 Poisson, 1 the older linear rule, 0 not sampled */
    int64_t rate;     /* as written; 0: not given */
    bool has_type;    /* "@ TYPE" was there */
    struct heap_counts total;
};

enum { HEAP_ALL_THREADS = -1 };

struct heap_record {
    struct heap_counts counts;
    int64_t thread;            /* jemalloc's number, or HEAP_ALL_THREADS */
    const uint64_t *addresses; /* leaf first, as in the file; the same array for all records of one stack */
    size_t n_addresses;
    bool same_stack; /* as the record before (jemalloc) */
};

struct heap_handler {
    /* A result other than 0 ends the reading and becomes the result of heap_text_read. header is complete at
     * the first record. */
    int (*record)(void *context, const struct heap_header *header, const struct heap_record *record);
    void (*thread)(void *context, int64_t thread,
                   struct piece name); /* called before the first record; may be NULL */
    void *context;
    bool lenient; /* skip lines that are not records, as the Perl tools do */
};

/* Returns 0, FORMAT_NOT_MINE, or an error whose text has the line's number. *ret_maps becomes the text behind
 * the line that starts the memory map, or is empty without one. */
int heap_text_read(struct piece text, const struct heap_handler *handler, struct heap_header *ret_header,
                   struct piece *ret_maps, struct err *err);

#endif
