/* heap_hook.c - the exported allocation functions and their counting versions (see heap_hook.h).
 *
 * A free removes the block's record from heap_live before the allocator gets the block back. In the other
 * order another thread could be given the address while it is still listed, and its insert would meet the old
 * record. Realloc counts as a free and an allocation of the whole new size, as in all profilers of this
 * family.
 */
#include "agent/hot/heap_hook.h"

#include "agent/hot/heap_live.h"

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define COLD        __attribute__((noinline)) HOOK_TEXT

#define EXPORT(name, type, arguments, values) HOOK_EXPORT(heap_routes, name, type, arguments, values)
HEAP_ALL(EXPORT)

/* ---- on */

/* True when no mark was passed; the allocation then costs nothing more. Five instructions: left - size - 1
 * is computed as left + ~size, whose carry says that left was greater than size. That holds for any size,
 * so absurd sizes, whose allocation will fail, cannot turn the countdown round. */
static inline bool count_down(size_t size)
{
    uint64_t left;
    bool carry = __builtin_add_overflow((uint64_t)heap_thread.poisson.left, ~(uint64_t)size, &left);
    heap_thread.poisson.left = (int64_t)left;
    return likely(carry);
}

/* A mark was passed, or this thread has not drawn one yet: undo what count_down subtracted and let
 * heap_count do all of it. */
static inline void sample_it(void *p, size_t size)
{
    heap_thread.poisson.left = (int64_t)((uint64_t)heap_thread.poisson.left - ~(uint64_t)size);
    heap_count(p, size);
}

static inline void forget_it(void *p)
{
    if (unlikely(heap_live_maybe(p))) heap_forget(p);
}

COLD static void *sampled_malloc(size_t size)
{
    void *p = heap_real.malloc(size);
    sample_it(p, size);
    return p;
}

HOOK_TEXT static void *counting_malloc(size_t size)
{
    return count_down(size) ? heap_real.malloc(size) : sampled_malloc(size);
}

COLD static void forgotten_free(void *p)
{
    heap_forget(p);
    heap_real.free(p);
}

HOOK_TEXT static void counting_free(void *p)
{
    if (unlikely(heap_live_maybe(p))) return forgotten_free(p);
    heap_real.free(p);
}

COLD static void *sampled_calloc(size_t n, size_t size)
{
    void *p = heap_real.calloc(n, size);
    sample_it(p, n * size); /* the product matters only when p is not NULL, and then it fits */
    return p;
}

HOOK_TEXT static void *counting_calloc(size_t n, size_t size)
{
    return count_down(n * size) ? heap_real.calloc(n, size) : sampled_calloc(n, size);
}

/* The record of the old block is out of the table while the allocator works, and goes back when realloc
 * fails. */
COLD static void *sampled_realloc(void *p, size_t size)
{
    struct heap_live_value value, stale;
    bool had_stale;
    if (!heap_live_remove((uintptr_t)p, &value)) {
        void *moved = heap_real.realloc(p, size);
        if (moved && !count_down(size)) sample_it(moved, size);
        return moved;
    }
    void *moved = heap_real.realloc(p, size);
    if (!moved && size) {
        heap_live_insert((uintptr_t)p, &value, &stale, &had_stale);
        return NULL;
    }
    heap_drop(&value);
    if (moved && !count_down(size)) sample_it(moved, size);
    return moved;
}

HOOK_TEXT static void *counting_realloc(void *p, size_t size)
{
    if (unlikely(p && heap_live_maybe(p))) return sampled_realloc(p, size);
    void *moved = heap_real.realloc(p, size);
    if (moved && unlikely(!count_down(size))) sample_it(moved, size);
    return moved;
}

/* The other allocation functions allocate first and count then. */
#define COUNTING(name, arguments, values)                                                                    \
    HOOK_TEXT static void *counting_##name arguments                                                         \
    {                                                                                                        \
        void *p = heap_real.name values;                                                                     \
        if (unlikely(!count_down(size))) sample_it(p, size);                                                 \
        return p;                                                                                            \
    }
COUNTING(memalign, (size_t alignment, size_t size), (alignment, size))
COUNTING(aligned_alloc, (size_t alignment, size_t size), (alignment, size))
COUNTING(valloc, (size_t size), (size))
COUNTING(pvalloc, (size_t size), (size))

HOOK_TEXT static int counting_posix_memalign(void **ret, size_t alignment, size_t size)
{
    int failed = heap_real.posix_memalign(ret, alignment, size);
    if (!failed && unlikely(!count_down(size))) sample_it(*ret, size);
    return failed;
}

/* libstdc++'s operator new comes through our malloc again; the operators of most allocators do not. So the
 * call is counted here only when nothing was counted inside it. No flag is set around the call, because it
 * may throw. */
#define COUNTING_NEW(name, type, arguments, values)                                                          \
    HOOK_TEXT static type counting_##name arguments                                                          \
    {                                                                                                        \
        int64_t left = heap_thread.poisson.left;                                                             \
        uint32_t n_events = heap_thread.n_events;                                                            \
        void *p = heap_real.name values;                                                                     \
        if (heap_thread.poisson.left == left && heap_thread.n_events == n_events && !count_down(size))       \
            sample_it(p, size);                                                                              \
        return p;                                                                                            \
    }
HEAP_OPERATORS(COUNTING_NEW)

#define COUNTING_DELETE(name, type, arguments, values)                                                       \
    HOOK_TEXT static type counting_##name arguments                                                          \
    {                                                                                                        \
        forget_it(p);                                                                                        \
        heap_real.name values;                                                                               \
    }
HEAP_DELETES(COUNTING_DELETE)

#define COUNTED(name, type, arguments, values)     .name = counting_##name,
#define EXPORTED_AS(name, type, arguments, values) .name = exported_##name,
const struct heap_real heap_counting = {HEAP_ALL(COUNTED)};
const struct heap_real heap_exported = {HEAP_ALL(EXPORTED_AS)};
