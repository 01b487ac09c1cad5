/* Sampling, resetting, reading and switching at once, from many threads, fed by hand: what ThreadSanitizer
 * and AddressSanitizer can look at, since they stand in for malloc and the locks themselves. Afterwards the
 * books must balance. */
#include <pthread.h>

#include "agent/hot/heap_hook.h"
#include "agent/hot/heap_live.h"
#include "agent/hot/lock_hook.h"
#include "agent/sample/capture.h"

#include "../../t.h"

enum { N_THREADS = 8, N_ROUNDS = 20000, N_BLOCKS = 64 };

static void control(const char *kind, const char *verb, const char *query)
{
    struct err err = {0};
    struct pages_buf reply = {0};
    struct kind_options options = {.query = query};
    if (kind_find(kind, strlen(kind))->control(verb, &options, &reply, &err))
        T_FAIL("%s %s: %s", kind, verb, err.text);
    pages_buf_free(&reply);
}

static int64_t sum(const char *kind, unsigned value)
{
    struct err err = {0};
    struct output o;
    struct kind_options options = {.query = ""};
    int64_t total = 0;
    if (capture_take(kind_find(kind, strlen(kind)), &options, NULL, &o, &err)) {
        T_FAIL("%s: %s", kind, err.text);
        return -1;
    }
    for (unsigned i = 0; i < output_n_samples(&o); i++)
        total += output_values(&o, output_sample_at(&o, i))[value];
    output_free(&o);
    return total;
}

static _Atomic bool stop;
static _Atomic int64_t allocated_bytes;

/* Addresses nobody else has: thread, block. A block is freed by the next thread half of the time. */
static _Atomic uintptr_t handed[N_THREADS][N_BLOCKS];

static void *allocate(void *number)
{
    uintptr_t me = (uintptr_t)number, serial = 0;
    unsigned x = (unsigned)me * 7919 + 1;
    for (int i = 0; i < N_ROUNDS; i++) {
        x = x * 1664525 + 1013904223;
        uintptr_t p = (me + 1) << 40 | (++serial & 0xffff) << 12 | (x >> 20 & 0xff0);
        size_t size = x >> 24;
        heap_count((void *)p, size);
        allocated_bytes += (int64_t)size;
        uintptr_t old =
            atomic_exchange(&handed[x & 1 ? me : (me + 1) % N_THREADS][x >> 8 & (N_BLOCKS - 1)], p);
        if (old) heap_forget((void *)old);
    }
    return NULL;
}

static void *wait_for_locks(void *number)
{
    unsigned x = (unsigned)(uintptr_t)number;
    for (int i = 0; i < N_ROUNDS / 4; i++) {
        struct lock_wait w;
        x = x * 1664525 + 1013904223;
        lock_wait_begin(&w, x >> 28 & 3, (const void *)lock_exported.pthread_mutex_lock);
        if ((x >> 20 & 63) == 0) sched_yield();
        lock_wait_end(&w);
    }
    return NULL;
}

static void *read_and_switch(void *unused)
{
    static const char *const kinds[] = {"heap", "contention", "block", "growth"};
    for (unsigned i = 0; !stop; i++) {
        (void)sum(kinds[i % 4], 1);
        if (i % 5 == 1) control("heap", "reset", "");
        if (i % 7 == 2) control("contention", "reset", "");
        if (i % 9 == 3) control("heap", "enable", i & 1 ? "interval=300" : "interval=2000");
        if (i % 9 == 5) control("heap", "disable", "");
        if (i % 9 == 6) control("heap", "enable", "");
    }
    return unused;
}

static void run_all(bool with_switching)
{
    pthread_t threads[N_THREADS + 3], reader;
    for (uintptr_t i = 0; i < N_THREADS; i++) pthread_create(&threads[i], NULL, allocate, (void *)i);
    for (uintptr_t i = 0; i < 3; i++)
        pthread_create(&threads[N_THREADS + i], NULL, wait_for_locks, (void *)i);
    if (with_switching) pthread_create(&reader, NULL, read_and_switch, NULL);
    for (int i = 0; i < N_THREADS + 3; i++) pthread_join(threads[i], NULL);
    stop = true;
    if (with_switching) pthread_join(reader, NULL);
    for (int t = 0; t < N_THREADS; t++)
        for (int b = 0; b < N_BLOCKS; b++)
            if (handed[t][b]) heap_forget((void *)atomic_exchange(&handed[t][b], 0));
}

/* Where the hooks are real, libc's own memory (of threads, say) is sampled too. */
static void check_nothing_left(void)
{
    int64_t n_blocks = sum("heap", 2), n_bytes = sum("heap", 3), n_live = (int64_t)heap_live_count();
    bool good = HOOKS_ARE_EXPORTED ? n_bytes < 100000 && n_live < 100 : !n_blocks && !n_bytes && !n_live;
    if (!good)
        T_FAIL("%lld blocks, %lld bytes, %lld addresses are left", (long long)n_blocks, (long long)n_bytes,
               (long long)n_live);
}

TEST(threads_alone_balance)
{
    control("heap", "enable", "interval=500");
    control("block", "enable", "interval=1us");
    run_all(false);
    int64_t bytes = sum("allocs", 1);
    double off = (double)bytes / (double)allocated_bytes - 1;
    if (off < -0.05 || off > 0.05) T_FAIL("%lld of %lld bytes", (long long)bytes, (long long)allocated_bytes);
    check_nothing_left();
    CHECK(sum("block", 0) > 0);
}

TEST(while_it_is_read_reset_and_switched)
{
    control("heap", "enable", "interval=500");
    control("block", "enable", "interval=1us");
    run_all(true);
    control("heap", "disable", "");
    control("block", "disable", "");
    check_nothing_left();
}

TEST_MAIN()
