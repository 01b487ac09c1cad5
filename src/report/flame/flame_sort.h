/* flame_sort.h - sorts many stacks of numbers (root first) so that stacks with equal first items are
 * neighbours.
 *
 * There is no limit on the number or the depth of stacks. Memory: the numbers themselves and 20 bytes per
 * stack.
 */
#ifndef REPORT_FLAME_FLAME_SORT_H
#define REPORT_FLAME_FLAME_SORT_H

#include <stddef.h>
#include <stdint.h>

struct flame_stacks { /* all zero: none */
    uint32_t *items;
    size_t n_items, cap_items;
    uint64_t *starts; /* n + 1, once there is one */
    size_t n, cap_starts;
};

void flame_stacks_reserve(struct flame_stacks *s, size_t more_stacks, size_t more_items);
void flame_stacks_free(struct flame_stacks *s);

/* Adds within the reserved memory only. */
static inline void flame_stacks_push(struct flame_stacks *s, uint32_t item)
{
    s->items[s->n_items++] = item;
}

static inline void flame_stacks_end(struct flame_stacks *s)
{
    s->starts[++s->n] = s->n_items;
}

struct flame_stack_view {
    const uint32_t *items;
    size_t n;
};

static inline struct flame_stack_view flame_stack_view(const struct flame_stacks *s, size_t i)
{
    return (struct flame_stack_view){s->items + s->starts[i], (size_t)(s->starts[i + 1] - s->starts[i])};
}

/* The number of equal items at the start of both. */
static inline size_t flame_stack_common(const struct flame_stack_view *a, const struct flame_stack_view *b)
{
    size_t n = a->n < b->n ? a->n : b->n, i = 0;
    while (i < n && a->items[i] == b->items[i]) i++;
    return i;
}

/* The numbers of the stacks in sorted order: the lower item first, a stack before its continuations, equal
 * stacks by number. The caller frees the array (mem_free). */
uint32_t *flame_stacks_sort(const struct flame_stacks *s);

#endif
