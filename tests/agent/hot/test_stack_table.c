/* The table every profiler counts into: same stack same id, tags apart, full is counted, many threads lose
 * nothing. */
#include <pthread.h>

#include "agent/host/pages.h"
#include "agent/hot/stack_table.h"

#include "../../t.h"

static struct stack_table *table_new(uint32_t n_slots, uint64_t n_words)
{
    return stack_table_init(pages_map(stack_table_bytes(n_slots, n_words, 2)), n_slots, n_words, 2);
}

TEST(same_stack_same_id)
{
    struct stack_table *t = table_new(64, 1000);
    uintptr_t a[] = {1, 2, 3}, b[] = {1, 2, 4};
    uint32_t id = stack_table_find(t, a, 3, 0);
    CHECK(id != STACK_NONE);
    CHECK_INT(stack_table_find(t, a, 3, 0), id);
    CHECK(stack_table_find(t, b, 3, 0) != id);
    CHECK(stack_table_find(t, a, 2, 0) != id);
    CHECK(stack_table_find(t, a, 3, 7) != id);
    CHECK_INT(t->n_slots_used, 4);
    stack_table_add(t, id, 1, 5);
    stack_table_add(t, id, 1, -2);
    CHECK_INT(stack_table_value(t, id, 1), 3);
    CHECK_INT(stack_table_value(t, id, 0), 0);
    const uintptr_t *pcs;
    uint32_t n_pcs;
    uint64_t tag;
    REQUIRE(stack_table_get(t, id, &pcs, &n_pcs, &tag));
    CHECK_INT(n_pcs, 3);
    CHECK_INT(pcs[2], 3);
}

TEST(full_is_counted_and_known_stacks_still_found)
{
    struct stack_table *t = table_new(1024, 100);
    uint32_t first = STACK_NONE;
    unsigned n_none = 0;
    for (uintptr_t i = 1; i <= 50; i++) {
        uintptr_t stack[4] = {i, i, i, i};
        uint32_t id = stack_table_find(t, stack, 4, 0);
        if (i == 1) first = id;
        n_none += id == STACK_NONE;
    }
    CHECK_INT(n_none, 25);
    CHECK_INT(t->n_dropped, 25);
    uintptr_t stack[4] = {1, 1, 1, 1};
    CHECK_INT(stack_table_find(t, stack, 4, 0), first);
    stack_table_add(t, STACK_NONE, 0, 1); /* must be harmless */
}

static struct stack_table *shared;

static void *hammer(void *argument)
{
    uint64_t random = (uintptr_t)argument * 77 + 1;
    for (int i = 0; i < 200000; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        uintptr_t stack[8];
        for (unsigned k = 0; k < 8; k++) stack[k] = (random >> 40) % 500 + k;
        stack_table_add(shared, stack_table_find(shared, stack, 8, 0), 0, 1);
    }
    return NULL;
}

TEST(threads_lose_nothing)
{
    shared = table_new(4096, 100000);
    pthread_t threads[4];
    for (uintptr_t i = 0; i < 4; i++) pthread_create(&threads[i], NULL, hammer, (void *)i);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    int64_t sum = 0;
    for (uint32_t id = 0; id < shared->n_slots; id++) sum += stack_table_value(shared, id, 0);
    CHECK_INT(sum + (int64_t)shared->n_dropped, 800000);
    CHECK_INT(shared->n_dropped, 0);
    CHECK(shared->n_slots_used >= 500 && shared->n_slots_used <= 510);
}

TEST_MAIN()
