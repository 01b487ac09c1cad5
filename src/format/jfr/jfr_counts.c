/* jfr_counts.c - counts the events of each distinct place; see jfr.h.
 *
 * A large recording has millions of events and tens of thousands of places, more than the caches of a core
 * hold. New events are therefore queued while the memory of their places is prefetched.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "format/jfr/jfr.h"

static inline uint64_t hash_place(const struct jfr_count *c)
{
    uint64_t h = (c->stack ^ (uint64_t)c->kind << 56) * 0x9e3779b97f4a7c15u;
    h = (h ^ h >> 32 ^ c->thread) * 0xd6e8feb86659fd93u;
    h = (h ^ h >> 32 ^ c->class_id ^ (uint64_t)c->state << 48) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 32;
}

static void grow(struct jfr_counts *counts)
{
    size_t n_slots = counts->n_slots ? counts->n_slots * 2 : 1024;
    mem_free(counts->slots);
    counts->slots = mem_zalloc(n_slots * sizeof *counts->slots);
    counts->n_slots = n_slots;
    for (size_t k = 0; k < counts->n_items; k++) {
        uint64_t hash = hash_place(&counts->items[k]);
        size_t i = hash & (n_slots - 1);
        while (counts->slots[i].item) i = (i + 1) & (n_slots - 1);
        counts->slots[i] = (struct jfr_count_slot){(uint32_t)(hash >> 32), (uint32_t)k + 1};
    }
}

static void add(struct jfr_counts *counts, const struct jfr_count *key, uint64_t hash, double n,
                int64_t value)
{
    if (counts->n_items * 2 >= counts->n_slots) grow(counts);
    size_t mask = counts->n_slots - 1, i = hash & mask;
    uint32_t tag = (uint32_t)(hash >> 32);
    for (; counts->slots[i].item; i = (i + 1) & mask) {
        if (counts->slots[i].tag != tag) continue;
        struct jfr_count *c = &counts->items[counts->slots[i].item - 1];
        if (c->stack == key->stack && c->thread == key->thread && c->class_id == key->class_id &&
            c->kind == key->kind && c->state == key->state) {
            c->n += n;
            if (__builtin_add_overflow(c->value, value, &c->value)) c->value = INT64_MAX;
            return;
        }
    }
    struct jfr_count *c = VEC_PUSH(counts->items, counts->n_items, counts->cap_items);
    counts->slots[i] = (struct jfr_count_slot){tag, (uint32_t)counts->n_items};
    *c = *key;
    c->n = n;
    c->value = value;
}

void jfr_counts_flush(struct jfr_counts *counts)
{
    for (size_t k = 0; k < counts->n_waiting && counts->n_slots; k++) {
        const struct jfr_count_slot *slot = &counts->slots[counts->hashes[k] & (counts->n_slots - 1)];
        if (!slot->item) continue;
        const struct jfr_count *c = &counts->items[slot->item - 1];
        __builtin_prefetch(c, 1);
        __builtin_prefetch(&c->value, 1);
    }
    for (size_t k = 0; k < counts->n_waiting; k++)
        add(counts, &counts->waiting[k], counts->hashes[k], counts->waiting[k].n, counts->waiting[k].value);
    counts->n_waiting = 0;
}

void jfr_count_add(struct jfr_counts *counts, const struct jfr_count *count)
{
    uint64_t hash = hash_place(count);
    if (counts->n_slots) __builtin_prefetch(&counts->slots[hash & (counts->n_slots - 1)]);
    counts->hashes[counts->n_waiting] = hash;
    counts->waiting[counts->n_waiting++] = *count;
    if (counts->n_waiting == JFR_MAX_WAITING) jfr_counts_flush(counts);
}

void jfr_counts_clear(struct jfr_counts *counts)
{
    if (counts->n_items <
        counts->n_slots / 16) { /* clearing a large table for each of many small chunks would be slow */
        jfr_counts_free(counts);
        return;
    }
    if (counts->n_items) memset(counts->slots, 0, counts->n_slots * sizeof *counts->slots);
    counts->n_items = 0;
}

void jfr_counts_free(struct jfr_counts *counts)
{
    mem_free(counts->items);
    mem_free(counts->slots);
    *counts = (struct jfr_counts){0};
}
