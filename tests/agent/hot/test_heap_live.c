/* The table of sampled addresses: what goes in comes out once, the filter never says no wrongly, full is
 * said, threads lose nothing. */
#include <pthread.h>

#include "agent/host/pages.h"
#include "agent/hot/heap_live.h"

#include "../../t.h"

static void start(void)
{
    heap_live_set_memory(pages_map(heap_live_size_bytes()), heap_live_size_bytes());
}

static bool insert(uintptr_t address, uint64_t stack)
{
    struct heap_live_value stale, value = {.stack = stack, .count = 1, .bytes = address, .epoch = 1};
    bool had_stale;
    return heap_live_insert(address, &value, &stale, &had_stale);
}

TEST(in_and_out)
{
    struct heap_live_value v;
    start();
    CHECK(!heap_live_maybe((void *)0x1000));
    CHECK(!heap_live_remove(0x1000, &v));
    for (uintptr_t a = 16; a <= 16 * 100000; a += 16) CHECK(insert(a, a + 1));
    CHECK_INT(heap_live_count(), 100000);
    for (uintptr_t a = 16; a <= 16 * 100000; a += 16) {
        CHECK(heap_live_maybe((void *)a));
        CHECK(heap_live_remove(a, &v) && v.stack == a + 1 && v.bytes == a);
        CHECK(!heap_live_remove(a, &v));
    }
    CHECK_INT(heap_live_count(), 0);
    int n_left = 0;
    for (size_t i = 0; i < HEAP_LIVE_FILTER_BYTES; i++) n_left += heap_live_filter[i] != 0;
    CHECK_INT(n_left, 0);
}

TEST(a_free_that_went_past_us_is_noticed)
{
    struct heap_live_value stale, v = {.stack = 2, .epoch = 1};
    bool had_stale;
    start();
    CHECK(insert(0x7f0000001000, 1));
    CHECK(heap_live_insert(0x7f0000001000, &v, &stale, &had_stale));
    CHECK(had_stale && stale.stack == 1);
    CHECK_INT(heap_live_count(), 1);
}

TEST(full_is_said_and_nothing_is_lost)
{
    size_t small = 4u << 20; /* fewer levels */
    struct heap_live_value v;
    heap_live_set_memory(pages_map(small), small);
    uintptr_t n = 0, n_in = 0;
    while (n_in == n) {
        n++;
        n_in += insert(n * 4096 + 16, n);
    }
    CHECK(n_in > 10000);
    CHECK_INT(heap_live_count(), n_in);
    for (uintptr_t i = 1; i <= n_in; i++) CHECK(heap_live_remove(i * 4096 + 16, &v) && v.stack == i);
}

enum { N_THREADS = 8, N_ROUNDS = 200, N_EACH = 500 };

static void *work(void *number)
{
    uintptr_t base = (uintptr_t)number << 32;
    struct heap_live_value v;
    for (int round = 0; round < N_ROUNDS; round++) {
        for (uintptr_t i = 0; i < N_EACH; i++) CHECK(insert(base + i * 48 + 16, base + i));
        for (uintptr_t i = N_EACH; i-- > 0;) {
            CHECK(heap_live_maybe((void *)(base + i * 48 + 16)));
            CHECK(heap_live_remove(base + i * 48 + 16, &v) && v.stack == base + i);
        }
    }
    return NULL;
}

TEST(threads)
{
    pthread_t threads[N_THREADS];
    start();
    for (uintptr_t i = 0; i < N_THREADS; i++) pthread_create(&threads[i], NULL, work, (void *)(i + 1));
    for (int i = 0; i < N_THREADS; i++) pthread_join(threads[i], NULL);
    CHECK_INT(heap_live_count(), 0);
}

TEST_MAIN()
