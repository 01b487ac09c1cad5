/* heap_own.c - our own sampler as a heap source: its memory, its switches, its output. The sampling itself
 * is in hot/heap_*.c. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "agent/heap/heap_source.h"
#include "agent/hooks/heap_resolve.h"
#include "agent/host/config.h"
#include "agent/hot/heap_hook.h"
#include "agent/hot/heap_live.h"
#include "agent/unwind/tables.h"

#define DEFAULT_STACKS  65536
#define WORDS_PER_STACK 40
#define DRAIN_MS        2000

static uint64_t last_epoch;
static size_t book_bytes;
static bool has_live_memory, is_on;

static struct heap_book *book_new(struct err *err)
{
    uint32_t n_slots = 1024;
    long wanted = config_number("heap_max", DEFAULT_STACKS);
    while (n_slots < wanted && n_slots < 1u << 24) n_slots *= 2;
    uint64_t n_words = (uint64_t)n_slots * WORDS_PER_STACK;
    size_t table_bytes = stack_table_bytes(n_slots, n_words, HEAP_N_COUNTERS),
           head_bytes = (sizeof(struct heap_book) + 63) & ~63ul;
    char *memory = pages_map(head_bytes + table_bytes);
    if (!memory) {
        err_set(err, ERR_LIMIT, "heap: no memory for a table of %u stacks (%zu bytes); set heap_max lower",
                n_slots, table_bytes);
        return NULL;
    }
    struct heap_book *book = (struct heap_book *)(void *)memory;
    book->stacks = stack_table_init(memory + head_bytes, n_slots, n_words, HEAP_N_COUNTERS);
    book->overflow = stack_table_find(book->stacks, NULL, 0, 0);
    book->epoch = ++last_epoch;
    book_bytes = head_bytes + table_bytes;
    return book;
}

/* Hooks in any thread of the host may still write into the old book. It is freed when all of them have
 * left heap_epoch; if one does not leave, the old book is kept for ever. */
static int book_replace(struct err *err)
{
    size_t old_bytes = book_bytes;
    struct heap_book *book = book_new(err), *old;
    if (!book) return ERR_LIMIT;
    old = atomic_exchange(&heap_book, book);
    if (old && epoch_drain(&heap_epoch, DRAIN_MS)) pages_unmap(old, old_bytes);
    return 0;
}

static int live_memory(struct err *err)
{
    for (size_t n_bytes = heap_live_size_bytes(); !has_live_memory; n_bytes /= 2) {
        void *memory = n_bytes > 1 << 20 ? pages_map(n_bytes) : NULL;
        if (!memory && n_bytes <= 1 << 20)
            return err_set(err, ERR_LIMIT, "heap: no memory for the table of live objects");
        if (!memory) continue;
        heap_live_set_memory(memory, n_bytes);
        has_live_memory = true;
    }
    return 0;
}

static bool own_usable(char *why, size_t size)
{
    if (!heap_sees_calls()) {
        snprintf(why, size, "the malloc of %.120s is found before ours: its calls cannot be seen",
                 heap_first_file());
        return false;
    }
    snprintf(why, size, "malloc of %s", heap_allocator_file());
    return true;
}

static bool own_is_on(void)
{
    return is_on;
}

static void set_period(uint64_t period_bytes)
{
    if (period_bytes) atomic_store(&heap_period, period_bytes);
}

static int own_enable(uint64_t period_bytes, struct err *err)
{
    char why[200];
    if (!own_usable(why, sizeof why)) return err_set(err, ERR_UNSUPPORTED, "heap: %s", why);
    set_period(period_bytes);
    if (is_on) return 0;
    int status = live_memory(err);
    if (!status && !atomic_load(&heap_book)) {
        uint64_t seed;
        if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) == sizeof seed) atomic_fetch_xor(&heap_seed, seed);
        status = book_replace(err);
    }
    if (!status) status = tables_hold(err);
    if (status) return status;
    is_on = true;
    atomic_store(&heap_active, true);
    heap_switch(true, true);
    return 0;
}

static int own_disable(struct err *err)
{
    (void)err;
    if (!is_on) return 0;
    is_on = false;
    atomic_store(&heap_active, false);
    heap_switch(false, heap_live_count() > 0); /* the frees of sampled blocks are still watched */
    tables_release();
    return 0;
}

static int own_reset(uint64_t period_bytes, struct err *err)
{
    set_period(period_bytes);
    return atomic_load(&heap_book) ? book_replace(err) : 0;
}

static int64_t at_least_zero(int64_t value)
{
    return value > 0 ? value : 0;
}

static int own_snapshot(const struct kind_options *options, struct output *o, struct err *err)
{
    (void)options;
    struct heap_book *book = atomic_load(&heap_book);
    if (!book)
        return err_set(err, ERR_UNSUPPORTED,
                       "heap: sampling has not been switched on; ask for .../heap/enable, or for ?seconds=N, "
                       "or start with heap=on");
    if (!is_on && heap_live_count() == 0) heap_switch(false, false);
    for (uint32_t id = 0; id < book->stacks->n_slots; id++) {
        const uintptr_t *pcs;
        uint32_t n_pcs;
        uint64_t tag;
        if (!stack_table_get(book->stacks, id, &pcs, &n_pcs, &tag)) continue;
        int64_t v[HEAP_N_COUNTERS];
        for (unsigned i = 0; i < HEAP_N_COUNTERS; i++)
            v[i] = at_least_zero(stack_table_value(book->stacks, id, i));
        int64_t values[4] = {(v[HEAP_ALLOC_COUNT] + POISSON_ONE / 2) / POISSON_ONE, v[HEAP_ALLOC_BYTES],
                             (v[HEAP_LIVE_COUNT] + POISSON_ONE / 2) / POISSON_ONE, v[HEAP_LIVE_BYTES]};
        if (values[0] | values[1] | values[2] | values[3]) output_add(o, pcs, n_pcs, true, values, NULL, 0);
    }
    o->period = (int64_t)atomic_load(&heap_period);
    o->n_lost = atomic_load(&book->stacks->n_dropped);
    uint64_t n_untracked = atomic_load(&book->n_untracked);
    output_comment(o,
                   "heap: sampled by procprof, a mark every %lld bytes on average, each sample weighed with "
                   "its own size; %llu samples",
                   (long long)o->period, (unsigned long long)atomic_load(&book->n_samples));
    if (n_untracked)
        output_comment(o, "heap: %llu sampled objects are missing from what is in use (table full)",
                       (unsigned long long)n_untracked);
    return 0;
}

static void own_status(struct pages_buf *reply)
{
    struct heap_book *book = atomic_load(&heap_book);
    pages_buf_format(reply, "interval: %llu bytes\n", (unsigned long long)atomic_load(&heap_period));
    pages_buf_format(reply, "allocator: %s\n", heap_allocator_file());
    if (!book) return;
    pages_buf_format(reply, "samples: %llu\n", (unsigned long long)atomic_load(&book->n_samples));
    pages_buf_format(reply, "live samples: %llu\n", (unsigned long long)heap_live_count());
    pages_buf_format(reply, "stacks: %u of %u\n", (unsigned)atomic_load(&book->stacks->n_slots_used),
                     (unsigned)book->stacks->n_slots);
    pages_buf_format(reply, "samples without room for their stack: %llu\n",
                     (unsigned long long)atomic_load(&book->stacks->n_dropped));
    pages_buf_format(reply, "live samples not followed: %llu\n",
                     (unsigned long long)atomic_load(&book->n_untracked));
    pages_buf_format(reply, "frees not seen: %llu\n", (unsigned long long)atomic_load(&book->n_stale));
}

void heap_own_stopped(void)
{
    if (is_on || !atomic_load(&heap_book)) return;
    if (!book_replace(NULL)) heap_switch(false, false);
}

void heap_own_forked(void)
{
    epoch_reset(&heap_epoch);
    is_on = false;
    atomic_store(&heap_active, false);
    heap_switch_forked();
}

const struct heap_source heap_own = {
    .name = "procprof",
    .usable = own_usable,
    .is_on = own_is_on,
    .enable = own_enable,
    .disable = own_disable,
    .reset = own_reset,
    .snapshot = own_snapshot,
    .status = own_status,
};
