/* heap_live.c - the table of sampled addresses behind the filter (see heap_live.h for the picture). */
#include "agent/hot/heap_live.h"

/* A key is an address, 0 (free), or CLAIMED while a thread writes or reads the value beside it. Malloc
 * never returns 1. */
#define CLAIMED ((uintptr_t)1)

struct bucket {
    _Atomic uintptr_t keys[HEAP_LIVE_SLOTS];
    uintptr_t pad; /* the keys fill one cache line */
    struct heap_live_value values[HEAP_LIVE_SLOTS];
};

_Atomic uint8_t heap_live_filter[HEAP_LIVE_FILTER_BYTES];

static struct bucket *levels[HEAP_LIVE_LEVELS];
static int n_levels;              /* levels that have memory */
static _Atomic int n_levels_used; /* levels that were ever written: a lookup sees no others */
static _Atomic uint64_t n_live;

static size_t n_buckets_of(int level)
{
    return (size_t)HEAP_LIVE_FIRST_BUCKETS << level;
}

size_t heap_live_size_bytes(void)
{
    return n_buckets_of(HEAP_LIVE_LEVELS) *
           sizeof(struct bucket); /* a little more than the sum of the levels */
}

void heap_live_set_memory(void *zeroed, size_t n_bytes)
{
    struct bucket *at = (struct bucket *)zeroed;
    size_t left = n_bytes / sizeof *at;
    for (n_levels = 0; n_levels < HEAP_LIVE_LEVELS && left >= n_buckets_of(n_levels); n_levels++) {
        levels[n_levels] = at;
        at += n_buckets_of(n_levels);
        left -= n_buckets_of(n_levels);
    }
}

static uint64_t mix(uintptr_t address)
{
    uint64_t h = (uint64_t)address * 0x9e3779b97f4a7c15u;
    return h ^ (h >> 29);
}

/* A level has two buckets where an address may stand; `choice` is which. */
static struct bucket *bucket_at(int level, uint64_t hash, int choice)
{
    size_t mask = n_buckets_of(level) - 1;
    return &levels[level][(choice ? hash >> 40 : hash) & mask];
}

/* The count saturates: a byte that has reached 255 stays there, and only costs looks into the table. */
static void filter_add(uintptr_t address)
{
    _Atomic uint8_t *at = &heap_live_filter[heap_live_filter_index(address)];
    uint8_t old = atomic_load_explicit(at, memory_order_relaxed);
    while (old != 255 && !atomic_compare_exchange_weak_explicit(at, &old, (uint8_t)(old + 1),
                                                                memory_order_relaxed, memory_order_relaxed))
        ;
}

static void filter_drop(uintptr_t address)
{
    _Atomic uint8_t *at = &heap_live_filter[heap_live_filter_index(address)];
    uint8_t old = atomic_load_explicit(at, memory_order_relaxed);
    while (old != 255 && old != 0 &&
           !atomic_compare_exchange_weak_explicit(at, &old, (uint8_t)(old - 1), memory_order_relaxed,
                                                  memory_order_relaxed))
        ;
}

static bool insert_into(struct bucket *b, uintptr_t address, const struct heap_live_value *value)
{
    for (int i = 0; i < HEAP_LIVE_SLOTS; i++) {
        uintptr_t expected = 0;
        if (atomic_load_explicit(&b->keys[i], memory_order_relaxed) != 0) continue;
        if (!atomic_compare_exchange_strong_explicit(&b->keys[i], &expected, CLAIMED, memory_order_acquire,
                                                     memory_order_relaxed))
            continue;
        b->values[i] = *value;
        atomic_store_explicit(&b->keys[i], address, memory_order_release);
        return true;
    }
    return false;
}

bool heap_live_insert(uintptr_t address, const struct heap_live_value *value,
                      struct heap_live_value *ret_stale, bool *ret_had_stale)
{
    *ret_had_stale = heap_live_maybe((void *)address) && heap_live_remove(address, ret_stale);
    uint64_t hash = mix(address);
    for (int level = 0; level < n_levels; level++) {
        int used = atomic_load_explicit(&n_levels_used, memory_order_relaxed);
        while (used <= level &&
               !atomic_compare_exchange_weak_explicit(&n_levels_used, &used, level + 1, memory_order_release,
                                                      memory_order_relaxed))
            ;
        if (insert_into(bucket_at(level, hash, 0), address, value) ||
            insert_into(bucket_at(level, hash, 1), address, value)) {
            filter_add(address);
            atomic_fetch_add_explicit(&n_live, 1, memory_order_relaxed);
            return true;
        }
    }
    return false;
}

static bool remove_from(struct bucket *b, uintptr_t address, struct heap_live_value *ret_value)
{
    for (int i = 0; i < HEAP_LIVE_SLOTS; i++) {
        uintptr_t expected = address;
        if (atomic_load_explicit(&b->keys[i], memory_order_relaxed) != address) continue;
        /* Two threads come here with the same address when the host frees it twice. The slot is claimed
         * before its value is read, so only one of them gets the value and the other finds nothing. */
        if (!atomic_compare_exchange_strong_explicit(&b->keys[i], &expected, CLAIMED, memory_order_acquire,
                                                     memory_order_relaxed))
            continue;
        *ret_value = b->values[i];
        atomic_store_explicit(&b->keys[i], 0, memory_order_release);
        return true;
    }
    return false;
}

bool heap_live_remove(uintptr_t address, struct heap_live_value *ret_value)
{
    uint64_t hash = mix(address);
    int used = atomic_load_explicit(&n_levels_used, memory_order_acquire);
    for (int level = 0; level < used; level++) {
        if (remove_from(bucket_at(level, hash, 0), address, ret_value) ||
            remove_from(bucket_at(level, hash, 1), address, ret_value)) {
            filter_drop(address);
            atomic_fetch_sub_explicit(&n_live, 1, memory_order_relaxed);
            return true;
        }
    }
    return false;
}

uint64_t heap_live_count(void)
{
    return atomic_load_explicit(&n_live, memory_order_relaxed);
}
