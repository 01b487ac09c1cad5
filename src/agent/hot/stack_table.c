/* stack_table.c - see stack_table.h. Open addressing. The pcs of all stacks lie in one block, and a counter
 * hands out its next words. */
#include "agent/hot/stack_table.h"

#define MAX_PROBES 64 /* a stack that finds no slot within so many is dropped */

size_t stack_table_bytes(uint32_t n_slots, uint64_t n_words, uint32_t n_counters)
{
    return 64 + ((sizeof(struct stack_table) + 63) & ~(size_t)63) +
           (size_t)n_slots * sizeof(struct stack_slot) + (size_t)n_slots * n_counters * sizeof(int64_t) +
           (size_t)n_words * sizeof(uintptr_t);
}

struct stack_table *stack_table_init(void *memory, uint32_t n_slots, uint64_t n_words, uint32_t n_counters)
{
    struct stack_table *t = memory;
    char *at = (char *)memory + ((sizeof *t + 63) & ~(size_t)63);
    ASSERT(n_slots && !(n_slots & (n_slots - 1)) && !((uintptr_t)memory & 63));
    ASSERT(n_counters && n_counters <= STACK_MAX_COUNTERS);
    t->n_slots = n_slots;
    t->n_counters = n_counters;
    t->n_words = n_words;
    t->slots = (struct stack_slot *)(void *)at;
    at += (size_t)n_slots * sizeof *t->slots;
    t->counters = (_Atomic int64_t *)(void *)at;
    at += (size_t)n_slots * n_counters * sizeof *t->counters;
    t->words = (uintptr_t *)(void *)at;
    return t;
}

static uint64_t hash_stack(const uintptr_t *pcs, uint32_t n_pcs, uint64_t tag)
{
    uint64_t h = tag * 0x9e3779b97f4a7c15u + n_pcs;
    for (uint32_t i = 0; i < n_pcs; i++) {
        h = (h ^ pcs[i]) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    h *= 0xc4ceb9fe1a85ec53u;
    h ^= h >> 29;
    return h ? h : 1;
}

static bool same_stack(const struct stack_table *t, const struct stack_slot *s, const uintptr_t *pcs,
                       uint32_t n_pcs, uint64_t tag)
{
    if (s->tag != tag || s->n_pcs != n_pcs) return false;
    const uintptr_t *words = t->words + s->first_word;
    for (uint32_t i = 0; i < n_pcs; i++)
        if (words[i] != pcs[i]) return false;
    return true;
}

/* Only the thread that has set the slot's hash comes here, and no other thread reads the rest of the slot
 * before `ready` is set. The release store orders the words and members before it, so a thread that sees
 * `ready` also sees them whole. */
static uint32_t fill_slot(struct stack_table *t, uint32_t at, const uintptr_t *pcs, uint32_t n_pcs,
                          uint64_t tag)
{
    struct stack_slot *s = &t->slots[at];
    ASSERT(!atomic_load_explicit(&s->ready, memory_order_relaxed));
    uint64_t first = atomic_fetch_add_explicit(&t->n_words_used, n_pcs, memory_order_relaxed);
    /* Without words the slot stays taken and never becomes ready. That costs nothing more: the next stacks
     * find no words either. */
    if (first + n_pcs > t->n_words) {
        atomic_fetch_add_explicit(&t->n_dropped, 1, memory_order_relaxed);
        return STACK_NONE;
    }
    for (uint32_t i = 0; i < n_pcs; i++) t->words[first + i] = pcs[i];
    s->first_word = first;
    s->n_pcs = n_pcs;
    s->tag = tag;
    atomic_fetch_add_explicit(&t->n_slots_used, 1, memory_order_relaxed);
    atomic_store_explicit(&s->ready, 1, memory_order_release);
    return at;
}

uint32_t stack_table_find(struct stack_table *t, const uintptr_t *pcs, uint32_t n_pcs, uint64_t tag)
{
    uint64_t hash = hash_stack(pcs, n_pcs, tag);
    uint32_t mask = t->n_slots - 1, at = (uint32_t)(hash >> 20) & mask;
    bool room = atomic_load_explicit(&t->n_words_used, memory_order_relaxed) + n_pcs <= t->n_words;
    for (unsigned probe = 0; probe < MAX_PROBES; probe++, at = (at + 1) & mask) {
        struct stack_slot *s = &t->slots[at];
        uint64_t seen = atomic_load_explicit(&s->hash, memory_order_acquire);
        if (seen == 0) {
            if (!room) break;
            if (atomic_compare_exchange_strong(&s->hash, &seen, hash))
                return fill_slot(t, at, pcs, n_pcs, tag);
        }
        /* Another thread may have taken a slot of the same hash and not have filled it yet. This may be a
         * handler that interrupted that very thread, so waiting for it could last for ever. The slot is
         * passed by, and the stack gets a second entry. */
        if (seen == hash && atomic_load_explicit(&s->ready, memory_order_acquire) &&
            same_stack(t, s, pcs, n_pcs, tag))
            return at;
    }
    atomic_fetch_add_explicit(&t->n_dropped, 1, memory_order_relaxed);
    return STACK_NONE;
}
