/* stack_table.h - stacks and their counters: the place every profiler of this library counts into.
 *
 * A preallocated, lock-free table: (stack, tag) -> id, and for each id a few 64-bit counters. Any number of
 * threads may find and add at the same time, also in signal handlers and inside malloc, and none of them
 * waits. A full table counts what it drops. Entries are never removed, so a reader may walk the table at any
 * time. Two threads that add the same stack at the same instant may both make an entry for it; the sum of the
 * two is right, so readers add up entries of the same stack.
 */
#ifndef AGENT_HOT_STACK_TABLE_H
#define AGENT_HOT_STACK_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/assert.h"

#define STACK_NONE         UINT32_MAX
#define STACK_MAX_COUNTERS 8

struct stack_slot {
    _Atomic uint64_t hash;  /* 0: free. The thread that takes the slot sets it first */
    _Atomic uint32_t ready; /* the members below may be read */
    uint32_t n_pcs;
    uint64_t tag;
    uint64_t first_word;
};

struct stack_table {
    uint32_t n_slots; /* a power of two */
    uint32_t n_counters;
    uint64_t n_words;
    struct stack_slot *slots;
    _Atomic int64_t *counters; /* n_slots * n_counters */
    uintptr_t *words;
    _Atomic uint64_t n_words_used;
    _Atomic uint32_t n_slots_used;
    _Atomic uint64_t n_dropped; /* finds that got STACK_NONE */
};

/* Bytes of memory that a table of this shape needs. Untouched pages of it cost nothing. */
size_t stack_table_bytes(uint32_t n_slots, uint64_t n_words, uint32_t n_counters);

/* Makes a table in zeroed, 64-byte aligned memory of that many bytes. n_slots is a power of two. The caller
 * owns the memory. */
struct stack_table *stack_table_init(void *memory, uint32_t n_slots, uint64_t n_words, uint32_t n_counters);

/* The id of the stack with this tag, added when it is new. The tag is what else must be kept apart (a thread,
 * a label set, a kind of lock); 0 when nothing. STACK_NONE when there is no room, counted in n_dropped. */
uint32_t stack_table_find(struct stack_table *t, const uintptr_t *pcs, uint32_t n_pcs, uint64_t tag);

static inline void stack_table_add(struct stack_table *t, uint32_t id, uint32_t counter, int64_t delta)
{
    ASSERT((id < t->n_slots || id == STACK_NONE) && counter < t->n_counters);
    if (id != STACK_NONE)
        atomic_fetch_add_explicit(&t->counters[(size_t)id * t->n_counters + counter], delta,
                                  memory_order_relaxed);
}

static inline int64_t stack_table_value(const struct stack_table *t, uint32_t id, uint32_t counter)
{
    ASSERT(id < t->n_slots && counter < t->n_counters);
    return atomic_load_explicit(&t->counters[(size_t)id * t->n_counters + counter], memory_order_relaxed);
}

/* For readers: the stack at this id; false when there is none. Ids run from 0 to n_slots - 1. */
static inline bool stack_table_get(const struct stack_table *t, uint32_t id, const uintptr_t **ret_pcs,
                                   uint32_t *ret_n_pcs, uint64_t *ret_tag)
{
    const struct stack_slot *s = &t->slots[id];
    ASSERT(id < t->n_slots);
    if (!atomic_load_explicit(&s->ready, memory_order_acquire)) return false;
    ASSERT(s->first_word + s->n_pcs <= t->n_words);
    *ret_pcs = t->words + s->first_word;
    *ret_n_pcs = s->n_pcs;
    *ret_tag = s->tag;
    return true;
}

#endif
