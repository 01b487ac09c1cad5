/* Sorting stacks of numbers: against the plainest way to do it. */
#include <stdlib.h>

#include "../t.h"
#include "base/mem.h"
#include "report/flame/flame_sort.h"

static const struct flame_stacks *sorted_stacks;

static int compare(const void *a, const void *b)
{
    uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    struct flame_stack_view x = flame_stack_view(sorted_stacks, i), y = flame_stack_view(sorted_stacks, k);
    size_t common = flame_stack_common(&x, &y);
    if (common < x.n && common < y.n) return x.items[common] < y.items[common] ? -1 : 1;
    if (x.n != y.n) return x.n < y.n ? -1 : 1;
    return i < k ? -1 : i > k;
}

static void check_sorted(const struct flame_stacks *s)
{
    uint32_t *order = flame_stacks_sort(s), *plain = mem_array(s->n, sizeof *plain);
    for (uint32_t i = 0; i < s->n; i++) plain[i] = i;
    sorted_stacks = s;
    qsort(plain, s->n, sizeof *plain, compare);
    size_t n_wrong = 0;
    for (size_t i = 0; i < s->n; i++) n_wrong += order[i] != plain[i];
    CHECK_INT(n_wrong, 0);
    mem_free(order);
    mem_free(plain);
}

static uint64_t state = 88172645463325252u;

static uint32_t rnd(uint32_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state % below);
}

TEST(none_and_one)
{
    struct flame_stacks s = {0};
    check_sorted(&s);
    flame_stacks_reserve(&s, 1, 0);
    flame_stacks_end(&s);
    check_sorted(&s);
    flame_stacks_free(&s);
}

TEST(random_stacks)
{
    for (uint32_t width = 1; width < 2000; width = width * 3 + 1) { /* from all alike to all different */
        struct flame_stacks s = {0};
        for (int i = 0; i < 3000; i++) {
            size_t depth = rnd(30);
            flame_stacks_reserve(&s, 1, depth);
            for (size_t d = 0; d < depth; d++) flame_stacks_push(&s, d < 12 ? rnd(2) : rnd(width));
            flame_stacks_end(&s);
        }
        check_sorted(&s);
        flame_stacks_free(&s);
    }
}

/* Each one deeper than the last: no depth of calls, however deep. */
TEST(a_staircase)
{
    struct flame_stacks s = {0};
    for (size_t i = 0; i < 1500; i++) {
        flame_stacks_reserve(&s, 1, i);
        for (size_t d = 0; d < i; d++) flame_stacks_push(&s, 7);
        flame_stacks_end(&s);
    }
    check_sorted(&s);
    flame_stacks_reserve(&s, 2, 2000000);
    for (int k = 0; k < 2; k++) {
        for (size_t d = 0; d < 1000000; d++) flame_stacks_push(&s, 7 + (k && d == 999999));
        flame_stacks_end(&s);
    }
    check_sorted(&s);
    flame_stacks_free(&s);
}

/* Musser's sequence, of which each pivot out of three is a bad one: that must not take quadratic time. */
TEST(bad_pivots)
{
    enum { N = 600000, HALF = N / 2 };
    struct flame_stacks s = {0};
    flame_stacks_reserve(&s, N, N);
    for (uint32_t i = 1; i <= N; i++) {
        flame_stacks_push(&s, i > HALF ? 2 * (i - HALF) : i % 2 ? i : HALF + i - 1);
        flame_stacks_end(&s);
    }
    check_sorted(&s);
    flame_stacks_free(&s);
}

TEST_MAIN()
