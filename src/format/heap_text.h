/* heap_text.h - heap profiles in text, record by record, with the numbers as they stand in the file.
 *
 *   heap profile: n: bytes [n: bytes] @ TYPE[/RATE]        gperftools, tcmalloc, Go: one line a record
 *   n: bytes [n: bytes] @ 0x1 0x2 ...
 *
 *   heap_v2/RATE                                           jemalloc: totals first, then a block a stack
 *     t*: n: bytes [n: bytes]
 *     t1: n: bytes [n: bytes] thread-name
 *   @ 0x1 0x2 ...
 *     t*: n: bytes [n: bytes]
 *     t1: n: bytes [n: bytes]
 *
 * then "MAPPED_LIBRARIES:" or "--- Memory map: ---" and the map. The reader of format_heap and the jeprof
 * personality both stand on this: they differ in how they undo the sampling and in what they do to the
 * addresses.
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
    unsigned version; /* of the sampling: 2 Poisson, 1 the older linear one, 0 not sampled */
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
    /* Non-zero ends the reading and is returned. header is complete when the first record comes. */
    int (*record)(void *context, const struct heap_header *header, const struct heap_record *record);
    void (*thread)(void *context, int64_t thread,
                   struct piece name); /* before the first record; may be NULL */
    void *context;
    bool lenient; /* pass over lines that are no records, as the Perl tools do */
};

/* 0, FORMAT_NOT_MINE, or an error that names the line. ret_maps: the text after the sentinel. */
int heap_text_read(struct piece text, const struct heap_handler *handler, struct heap_header *ret_header,
                   struct piece *ret_maps, struct err *err);

#endif
