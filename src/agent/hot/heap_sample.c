/* heap_sample.c - one sampled allocation: its stack, its weight, its place in the table of live blocks. This
 * runs once per 512 KiB. */
#include "agent/hot/heap_hook.h"
#include "agent/hot/heap_live.h"
#include "agent/hot/unwind.h"

#define HEAP_MAX_FRAMES 128

_Atomic(struct heap_book *) heap_book;
struct epoch heap_epoch;
_Atomic bool heap_active;
_Atomic uint64_t heap_period = 512 * 1024;
_Atomic uint64_t heap_seed = 0x243f6a8885a308d3u;
__thread struct heap_thread heap_thread __attribute__((tls_model("initial-exec")));

extern const char __start_procprof_hooks[], __stop_procprof_hooks[];

bool hook_owns(uintptr_t pc)
{
    return pc >= (uintptr_t)__start_procprof_hooks && pc < (uintptr_t)__stop_procprof_hooks;
}

static void draw(struct heap_thread *t)
{
    if (t->poisson.random == 0) {
        uint64_t seed = atomic_fetch_add_explicit(&heap_seed, 0x632be59bd9b4e019u, memory_order_relaxed);
        t->poisson.random = poisson_random(&seed) | 1;
    }
    t->n_events++;
    poisson_draw(&t->poisson, (double)atomic_load_explicit(&heap_period, memory_order_relaxed));
}

/* The allocation's stack, from the caller of the hook outwards. */
HOOK_TEXT static uint32_t find_stack(struct heap_book *book)
{
    uintptr_t pcs[HEAP_MAX_FRAMES];
    unsigned n = unwind_here(pcs, HEAP_MAX_FRAMES, 0), own = 0;
    while (own < n && hook_owns(pcs[own])) own++;
    uint32_t id = stack_table_find(book->stacks, pcs + own, n - own, 0);
    return id == STACK_NONE ? book->overflow : id;
}

static void drop_live(struct heap_book *book, const struct heap_live_value *value)
{
    if (book->epoch != value->epoch) return;
    stack_table_add(book->stacks, (uint32_t)value->stack, HEAP_LIVE_COUNT, -(int64_t)value->count);
    stack_table_add(book->stacks, (uint32_t)value->stack, HEAP_LIVE_BYTES, -(int64_t)value->bytes);
}

HOOK_TEXT static void record(struct heap_book *book, void *p, size_t size, double period)
{
    double weight = poisson_weight((double)size + 1, period);
    struct heap_live_value stale, value = {.stack = find_stack(book),
                                           .count = (uint64_t)(weight * POISSON_ONE + 0.5),
                                           .bytes = (uint64_t)(weight * (double)size + 0.5),
                                           .epoch = book->epoch};
    uint32_t id = (uint32_t)value.stack;
    bool had_stale;
    stack_table_add(book->stacks, id, HEAP_ALLOC_COUNT, (int64_t)value.count);
    stack_table_add(book->stacks, id, HEAP_ALLOC_BYTES, (int64_t)value.bytes);
    atomic_fetch_add_explicit(&book->n_samples, 1, memory_order_relaxed);
    /* The live counters are raised before the address is listed. Only a listed address can be dropped, by
     * another thread too, so what is in use never falls below zero. */
    stack_table_add(book->stacks, id, HEAP_LIVE_COUNT, (int64_t)value.count);
    stack_table_add(book->stacks, id, HEAP_LIVE_BYTES, (int64_t)value.bytes);
    if (!heap_live_insert((uintptr_t)p, &value, &stale, &had_stale)) {
        drop_live(book, &value);
        atomic_fetch_add_explicit(&book->n_untracked, 1, memory_order_relaxed);
    }
    if (had_stale) {
        drop_live(book, &stale);
        atomic_fetch_add_explicit(&book->n_stale, 1, memory_order_relaxed);
    }
}

HOOK_TEXT void heap_count(void *p, size_t size)
{
    struct heap_thread *t = &heap_thread;
    if (t->busy) return;
    t->busy = true;
    if (t->poisson.random == 0) draw(t);
    double period = t->poisson.period;
    if (size < (uint64_t)t->poisson.left) {
        t->poisson.left -= (int64_t)size + 1;
    } else {
        unsigned ticket = epoch_enter(&heap_epoch);
        struct heap_book *book = atomic_load(&heap_book);
        if (book && p && atomic_load_explicit(&heap_active, memory_order_relaxed))
            record(book, p, size, period);
        epoch_leave(&heap_epoch, ticket);
        draw(t);
    }
    t->busy = false;
}

void heap_drop(const struct heap_live_value *value)
{
    unsigned ticket = epoch_enter(&heap_epoch);
    struct heap_book *book = atomic_load(&heap_book);
    if (book) drop_live(book, value);
    epoch_leave(&heap_epoch, ticket);
}

void heap_forget(void *p)
{
    struct heap_live_value value;
    if (p && heap_live_remove((uintptr_t)p, &value)) heap_drop(&value);
}
