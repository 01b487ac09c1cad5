/* stack_table.h - stacks and their counters: the place every profiler of this library counts into.
 *
 * A preallocated, lock-free table: (stack, tag) -> id, and for each id a few 64-bit counters. Finding and
 * adding may be done by any number of threads, in signal handlers and in malloc; nobody waits. When it is
 * full it counts what it drops. Entries are never removed; a reader outside walks it at any time (a stack may
 * stand in it twice when two threads added it at the same instant: the sum of the two is right, so readers
 * add up).
 */
#ifndef AGENT_HOT_STACK_TABLE_H
#define AGENT_HOT_STACK_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STACK_NONE         UINT32_MAX
#define STACK_MAX_COUNTERS 8

struct stack_slot {
    _Atomic uint64_t hash;  /* 0: free. Set first, by the one who takes the slot */
    _Atomic uint32_t ready; /* the words below may be read */
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

/* Bytes of memory a table of this shape needs. Zeroed memory from mmap is not touched before it is used. */
size_t stack_table_bytes(uint32_t n_slots, uint64_t n_words, uint32_t n_counters);

/* Makes a table in zeroed, 64-byte aligned memory of that many bytes. n_slots is a power of two. The memory
 * is the caller's. */
struct stack_table *stack_table_init(void *memory, uint32_t n_slots, uint64_t n_words, uint32_t n_counters);

/* The id of the stack with this tag (a thread, a label set, a size class: what else must be kept apart; 0
 * when nothing), added when it is new; STACK_NONE when there is no room (counted in n_dropped). */
uint32_t stack_table_find(struct stack_table *t, const uintptr_t *pcs, uint32_t n_pcs, uint64_t tag);

static inline void stack_table_add(struct stack_table *t, uint32_t id, uint32_t counter, int64_t delta)
{
    if (id != STACK_NONE)
        atomic_fetch_add_explicit(&t->counters[(size_t)id * t->n_counters + counter], delta,
                                  memory_order_relaxed);
}

static inline int64_t stack_table_value(const struct stack_table *t, uint32_t id, uint32_t counter)
{
    return atomic_load_explicit(&t->counters[(size_t)id * t->n_counters + counter], memory_order_relaxed);
}

/* Reader: is there a stack at this id, and which? Ids run from 0 to n_slots - 1. */
static inline bool stack_table_get(const struct stack_table *t, uint32_t id, const uintptr_t **ret_pcs,
                                   uint32_t *ret_n_pcs, uint64_t *ret_tag)
{
    const struct stack_slot *s = &t->slots[id];
    if (!atomic_load_explicit(&s->ready, memory_order_acquire)) return false;
    *ret_pcs = t->words + s->first_word;
    *ret_n_pcs = s->n_pcs;
    *ret_tag = s->tag;
    return true;
}

#endif
