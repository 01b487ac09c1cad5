/* flame_sort.c - see flame_sort.h.
 *
 * A key holds as many items as fit into 64 bits: four, if no item is above 65,534. Stacks with equal keys are
 * then sorted by their next items, after the items that all of them share. The ranges still to be sorted wait
 * in an array, so that deep stacks need no recursion. Many stacks are sorted in parts, one for each core, and
 * the parts are merged.
 */
#include "report/flame/flame_sort.h"

#include <stdbool.h>

#include "base/mem.h"
#include "base/parallel.h"

struct keyed {
    uint64_t key; /* items, each + 1, the first one highest; 0: the stack has ended */
    uint32_t stack;
};

struct range {
    size_t from, to, depth;
};

struct sorting {
    const struct flame_stacks *s;
    unsigned item_bits, key_items;
    struct keyed *items;
    struct range *todo;
    size_t n_todo, cap_todo;
};

void flame_stacks_reserve(struct flame_stacks *s, size_t more_stacks, size_t more_items)
{
    size_t n_starts = s->n + more_stacks + 1;
    if (n_starts > s->cap_starts)
        s->starts = mem_grow(s->starts, &s->cap_starts, n_starts, sizeof *s->starts);
    if (s->n_items + more_items > s->cap_items)
        s->items = mem_grow(s->items, &s->cap_items, s->n_items + more_items, sizeof *s->items);
    if (!s->n) s->starts[0] = 0;
}

void flame_stacks_free(struct flame_stacks *s)
{
    mem_free(s->items);
    mem_free(s->starts);
    *s = (struct flame_stacks){0};
}

static uint64_t key_at(const struct sorting *x, uint32_t stack, size_t depth)
{
    struct flame_stack_view v = flame_stack_view(x->s, stack);
    uint64_t key = 0;
    for (size_t i = depth; i < depth + x->key_items; i++)
        key = key << x->item_bits | (i < v.n ? (uint64_t)v.items[i] + 1 : 0);
    return key;
}

static inline bool is_less(struct keyed a, struct keyed b)
{
    return a.key < b.key || (a.key == b.key && a.stack < b.stack);
}

static void insertion_sort(struct keyed *items, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        struct keyed item = items[i];
        size_t at = i;
        for (; at && is_less(item, items[at - 1]); at--) items[at] = items[at - 1];
        items[at] = item;
    }
}

static void sink(struct keyed *items, size_t at, size_t n)
{
    struct keyed item = items[at];
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && is_less(items[child], items[child + 1])) child++;
        if (!is_less(item, items[child])) break;
        items[at] = items[child];
    }
    items[at] = item;
}

static void heap_sort(struct keyed *items, size_t n)
{
    for (size_t i = n / 2; i-- > 0;) sink(items, i, n);
    while (n-- > 1) {
        struct keyed largest = items[0];
        items[0] = items[n];
        items[n] = largest;
        sink(items, 0, n);
    }
}

/* Sorts by key, and equal keys by number. It recurses into the smaller side and loops over the larger one.
 * After too many rounds it uses another algorithm, because a hostile profile can make every pivot a bad
 * one. */
static void sort_keys(struct keyed *items, size_t n, unsigned n_rounds)
{
    while (n > 24) {
        if (!n_rounds--) {
            heap_sort(items, n);
            return;
        }
        struct keyed a = items[0], b = items[n / 2], c = items[n - 1];
        struct keyed pivot = is_less(a, b) ? (is_less(b, c)   ? b
                                              : is_less(a, c) ? c
                                                              : a)
                                           : (is_less(a, c)   ? a
                                              : is_less(b, c) ? c
                                                              : b);
        size_t low = 0, high = n - 1;
        for (;;) {
            while (is_less(items[low], pivot)) low++;
            while (is_less(pivot, items[high])) high--;
            if (low >= high) break;
            struct keyed t = items[low];
            items[low++] = items[high];
            items[high--] = t;
        }
        size_t middle = high + 1; /* [0,middle) and [middle,n) */
        if (middle < n - middle) {
            sort_keys(items, middle, n_rounds);
            items += middle;
            n -= middle;
        } else {
            sort_keys(items + middle, n - middle, n_rounds);
            n = middle;
        }
    }
    insertion_sort(items, n);
}

/* Returns how many items after `depth` all stacks of the range share. */
static size_t shared_by_all(const struct sorting *x, const struct range *r)
{
    struct flame_stack_view a = flame_stack_view(x->s, x->items[r->from].stack);
    a.items += r->depth;
    a.n -= r->depth;
    for (size_t i = r->from + 1; i < r->to && a.n; i++) {
        struct flame_stack_view b = flame_stack_view(x->s, x->items[i].stack);
        b.items += r->depth;
        b.n -= r->depth;
        a.n = flame_stack_common(&a, &b);
    }
    return a.n;
}

/* All stacks of a range are at least `depth` deep and equal up to there. */
static void sort_range(struct sorting *x, struct range r)
{
    struct keyed *items = x->items;
    r.depth += shared_by_all(x, &r);
    for (size_t i = r.from; i < r.to; i++) items[i].key = key_at(x, items[i].stack, r.depth);
    sort_keys(items + r.from, r.to - r.from, 2 * (64 - (unsigned)__builtin_clzll(r.to - r.from)));
    for (size_t i = r.from; i < r.to;) {
        size_t end = i + 1;
        while (end < r.to && items[end].key == items[i].key) end++;
        /* Within these items: so they are equal. */
        bool ended = !(items[i].key & (UINT64_MAX >> (64 - x->item_bits)));
        if (end - i > 1 && !ended)
            *VEC_PUSH(x->todo, x->n_todo, x->cap_todo) = (struct range){i, end, r.depth + x->key_items};
        i = end;
    }
}

/* ---- parts ---- */

enum { MIN_PART = 4096, MAX_PARTS = 64 };

struct parts {
    const struct flame_stacks *s;
    size_t starts[MAX_PARTS + 1]; /* part i is [starts[i], starts[i + 1]) */
    size_t n;
    unsigned item_bits;
    struct keyed *items;
    uint32_t *from, *to; /* of a round of merging: sorted parts, and each two of them as one */
};

static void sort_part(void *context, size_t i, unsigned worker)
{
    (void)worker;
    struct parts *p = context;
    struct sorting x = {
        .s = p->s, .item_bits = p->item_bits, .key_items = 64 / p->item_bits, .items = p->items};
    if (p->starts[i + 1] - p->starts[i] > 1)
        *VEC_PUSH(x.todo, x.n_todo, x.cap_todo) = (struct range){p->starts[i], p->starts[i + 1], 0};
    while (x.n_todo) sort_range(&x, x.todo[--x.n_todo]);
    mem_free(x.todo);
    for (size_t k = p->starts[i]; k < p->starts[i + 1]; k++) p->from[k] = p->items[k].stack;
}

/* Of two equal stacks, the one of the earlier part has the lower number and stays first. */
static bool is_before_or_equal(const struct flame_stacks *s, uint32_t a, uint32_t b)
{
    struct flame_stack_view x = flame_stack_view(s, a), y = flame_stack_view(s, b);
    size_t common = flame_stack_common(&x, &y);
    if (common == x.n || common == y.n) return x.n <= y.n;
    return x.items[common] < y.items[common];
}

static void merge_pair(void *context, size_t i, unsigned worker)
{
    (void)worker;
    const struct parts *p = context;
    size_t middle = 2 * i + 1 < p->n ? 2 * i + 1 : p->n, end = 2 * i + 2 < p->n ? 2 * i + 2 : p->n;
    size_t a = p->starts[2 * i], a_end = p->starts[middle], b = a_end, b_end = p->starts[end];
    for (size_t at = a; at < b_end; at++) {
        bool take_a = b == b_end || (a < a_end && is_before_or_equal(p->s, p->from[a], p->from[b]));
        p->to[at] = p->from[take_a ? a++ : b++];
    }
}

/* Returns the number of bits that the largest item + 1 needs. */
static unsigned bits_of_items(const struct flame_stacks *s)
{
    uint64_t any = 1; /* an item + 1 sets no bit above its highest, or the one beside it */
    for (size_t i = 0; i < s->n_items; i++) any |= (uint64_t)s->items[i] + 1;
    return 64 - (unsigned)__builtin_clzll(any);
}

uint32_t *flame_stacks_sort(const struct flame_stacks *s)
{
    unsigned width = parallel_width();
    size_t most = s->n / MIN_PART ? s->n / MIN_PART : 1;
    struct parts p = {.s = s, .n = most < width ? most : width, .item_bits = bits_of_items(s)};
    p.items = mem_array(s->n, sizeof *p.items);
    p.from = mem_array(s->n, sizeof *p.from);
    for (size_t i = 0; i <= p.n; i++) p.starts[i] = s->n * i / p.n;
    for (size_t i = 0; i < s->n; i++) p.items[i] = (struct keyed){0, (uint32_t)i};
    parallel_for(p.n, (unsigned)p.n, sort_part, &p);
    mem_free(p.items);
    if (p.n > 1) p.to = mem_array(s->n, sizeof *p.to);
    while (p.n > 1) {
        size_t n = (p.n + 1) / 2;
        parallel_for(n, (unsigned)n, merge_pair, &p);
        for (size_t i = 0; i <= n; i++) p.starts[i] = p.starts[2 * i < p.n ? 2 * i : p.n];
        p.n = n;
        uint32_t *merged = p.to;
        p.to = p.from;
        p.from = merged;
    }
    mem_free(p.to);
    return p.from;
}
