/* heap_live.h - which live addresses were sampled. Every free asks, so the answer "not sampled" costs one
 * byte.
 *
 *     free(p) ──> filter: a byte per 256 bytes of address space, modulo 256 MiB ── 0 ──> not sampled, done
 *                    │ not 0
 *                    └──> table: buckets of one cache line, two choices, levels that double in size
 *
 * The filter keeps neighbouring addresses together, so its cache lines are hot where those of the heap are.
 *
 * All threads of the host come here, inside malloc and free, and share the filter and the table. No function
 * takes a lock, allocates or waits. The thread that got an address from malloc inserts it, and the thread
 * that passes it to free removes it before the allocator can hand it out again. So two threads never work on
 * the same address, unless the host frees it twice. A thread that is killed, or a process that forks, in the
 * middle of an insert costs one slot.
 */
#ifndef AGENT_HOT_HEAP_LIVE_H
#define AGENT_HOT_HEAP_LIVE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEAP_LIVE_PIECE_LOG2   8        /* addresses so near share a byte of the filter */
#define HEAP_LIVE_FILTER_BYTES 0x100000 /* a power of two */

enum {
    HEAP_LIVE_SLOTS = 7,           /* of a bucket */
    HEAP_LIVE_FIRST_BUCKETS = 512, /* of level 0; each level has twice as many */
    HEAP_LIVE_LEVELS = 8, /* 915,000 sampled objects alive at once; 480 GB of heap at a sample per 512 KiB */
};

struct heap_live_value {
    uint64_t stack; /* the stack that allocated it: a slot of the stack table */
    uint64_t count; /* what the sample stands for: objects in 1/POISSON_ONE, */
    uint64_t bytes; /* and bytes */
    uint64_t epoch; /* of the profile it was counted in */
};

/* Addresses that lie apart may share a byte (arenas of glibc are 64 MiB apart). That only costs a look
 * into the table: one free in 2,000 per four arenas, at a sample per 512 KiB. */
extern _Atomic uint8_t heap_live_filter[HEAP_LIVE_FILTER_BYTES] __attribute__((visibility("hidden")));

static inline size_t heap_live_filter_index(uintptr_t address)
{
    return (uint32_t)address >> HEAP_LIVE_PIECE_LOG2 & (HEAP_LIVE_FILTER_BYTES - 1);
}

/* False: certainly not sampled. */
static inline bool heap_live_maybe(const void *address)
{
    return atomic_load_explicit(&heap_live_filter[heap_live_filter_index((uintptr_t)address)],
                                memory_order_relaxed) != 0;
}

/* The zeroed memory of the table. The caller maps it outside the hot path and sets it once, before the
 * first insert: heap_live_size_bytes() of it, or less, and then fewer levels are used. */
size_t heap_live_size_bytes(void);
void heap_live_set_memory(void *zeroed, size_t n_bytes);

/* False when the table is full; the caller counts that. If an entry of the same address is still there,
 * its free did not come by our hooks (sdallocx and the like): the entry is moved to *ret_stale and
 * *ret_had_stale is set. */
bool heap_live_insert(uintptr_t address, const struct heap_live_value *value,
                      struct heap_live_value *ret_stale, bool *ret_had_stale);

/* Removes the address. True, and its value, when it was there. */
bool heap_live_remove(uintptr_t address, struct heap_live_value *ret_value);

uint64_t heap_live_count(void);

#endif
