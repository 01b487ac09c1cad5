/* heap_hook.h - the allocation functions of the process, seen by the sampler.
 *
 *     host: malloc(n) ──> heap_routes.malloc ──off──> the allocator's own malloc
 *                                            ──on───> count n down ──(a mark: cold)──> allocator, then
 * heap_sample
 *
 * libprocprof exports malloc, free and their relatives; each is one jump through heap_routes. While profiling
 * is off, a route holds the address of the next library's function, so a call costs that jump. While it is
 * on, the route holds the counting version. Switching is one store per function and may happen while all
 * threads allocate: calls of the two versions may be mixed in any order.
 *
 * This code runs inside malloc. It takes no lock, allocates nothing, keeps errno, and passes calls straight
 * through when it is entered again.
 */
#ifndef AGENT_HOT_HEAP_HOOK_H
#define AGENT_HOT_HEAP_HOOK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/hot/epoch.h"
#include "agent/hot/heap_poisson.h"
#include "agent/hot/stack_table.h"

#pragma GCC visibility push(hidden)

/* A sanitizer replaces malloc and the lock functions itself. In such a build only tests call ours. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define HOOKS_ARE_EXPORTED 0
#else
#define HOOKS_ARE_EXPORTED 1
#endif

/* Frames inside the hooks are left out of stacks. All hook functions lie in one section, so they are
 * recognised by their address. */
#define HOOK_TEXT __attribute__((section("procprof_hooks")))
bool hook_owns(uintptr_t pc);

/* What the host calls: one jump through the routes. It has the public name, also for debuggers and
 * profiles. `exported_x` is the same code under a name that no other library can interpose. The
 * declaration comes first because the headers declare only some of these functions. */
#define HOOK_BODY(routes, name, values)                                                                      \
    {                                                                                                        \
        return atomic_load_explicit(&(routes).name, memory_order_relaxed) values;                            \
    }
#if __has_attribute(copy)
#define HOOK_LIKE(name)                                                                                      \
    __attribute__((copy(name))) /* gcc warns about an alias without the attributes of its target */
#else
#define HOOK_LIKE(name)
#endif
#if HOOKS_ARE_EXPORTED
#define HOOK_EXPORT(routes, name, type, arguments, values)                                                   \
    type name arguments __attribute__((visibility("default")));                                              \
    static type exported_##name arguments __attribute__((alias(#name))) HOOK_LIKE(name);                     \
    HOOK_TEXT type name arguments HOOK_BODY(routes, name, values)
#else
#define HOOK_EXPORT(routes, name, type, arguments, values)                                                   \
    HOOK_TEXT static type exported_##name arguments HOOK_BODY(routes, name, values)
#endif

/* name, return type, arguments with types, arguments */
#define HEAP_RELEASES(X)                                                                                     \
    X(free, void, (void *p), (p))                                                                            \
    X(realloc, void *, (void *p, size_t size), (p, size))

#define HEAP_ALLOCATIONS(X)                                                                                  \
    X(malloc, void *, (size_t size), (size))                                                                 \
    X(calloc, void *, (size_t n, size_t size), (n, size))                                                    \
    X(memalign, void *, (size_t alignment, size_t size), (alignment, size))                                  \
    X(aligned_alloc, void *, (size_t alignment, size_t size), (alignment, size))                             \
    X(posix_memalign, int, (void **ret, size_t alignment, size_t size), (ret, alignment, size))              \
    X(valloc, void *, (size_t size), (size))                                                                 \
    X(pvalloc, void *, (size_t size), (size))

/* The operators of C++, by their mangled names: operator new/new[] and delete/delete[], plain, nothrow,
 * sized, aligned. */
#define HEAP_OPERATORS(X)                                                                                    \
    X(_Znwm, void *, (size_t size), (size))                                                                  \
    X(_Znam, void *, (size_t size), (size))                                                                  \
    X(_ZnwmRKSt9nothrow_t, void *, (size_t size, const void *nothrow), (size, nothrow))                      \
    X(_ZnamRKSt9nothrow_t, void *, (size_t size, const void *nothrow), (size, nothrow))                      \
    X(_ZnwmSt11align_val_t, void *, (size_t size, size_t alignment), (size, alignment))                      \
    X(_ZnamSt11align_val_t, void *, (size_t size, size_t alignment), (size, alignment))                      \
    X(_ZnwmSt11align_val_tRKSt9nothrow_t, void *, (size_t size, size_t alignment, const void *nothrow),      \
      (size, alignment, nothrow))                                                                            \
    X(_ZnamSt11align_val_tRKSt9nothrow_t, void *, (size_t size, size_t alignment, const void *nothrow),      \
      (size, alignment, nothrow))

#define HEAP_DELETES(X)                                                                                      \
    X(_ZdlPv, void, (void *p), (p))                                                                          \
    X(_ZdaPv, void, (void *p), (p))                                                                          \
    X(_ZdlPvm, void, (void *p, size_t size), (p, size))                                                      \
    X(_ZdaPvm, void, (void *p, size_t size), (p, size))                                                      \
    X(_ZdlPvRKSt9nothrow_t, void, (void *p, const void *nothrow), (p, nothrow))                              \
    X(_ZdaPvRKSt9nothrow_t, void, (void *p, const void *nothrow), (p, nothrow))                              \
    X(_ZdlPvSt11align_val_t, void, (void *p, size_t alignment), (p, alignment))                              \
    X(_ZdaPvSt11align_val_t, void, (void *p, size_t alignment), (p, alignment))                              \
    X(_ZdlPvmSt11align_val_t, void, (void *p, size_t size, size_t alignment), (p, size, alignment))          \
    X(_ZdaPvmSt11align_val_t, void, (void *p, size_t size, size_t alignment), (p, size, alignment))          \
    X(_ZdlPvSt11align_val_tRKSt9nothrow_t, void, (void *p, size_t alignment, const void *nothrow),           \
      (p, alignment, nothrow))                                                                               \
    X(_ZdaPvSt11align_val_tRKSt9nothrow_t, void, (void *p, size_t alignment, const void *nothrow),           \
      (p, alignment, nothrow))

#define HEAP_ALL(X) HEAP_RELEASES(X) HEAP_ALLOCATIONS(X) HEAP_OPERATORS(X) HEAP_DELETES(X)

#define HEAP_ROUTE(name, type, arguments, values) _Atomic(type(*) arguments) name;
#define HEAP_REAL(name, type, arguments, values)  type(*name) arguments;
struct heap_routes {
    HEAP_ALL(HEAP_ROUTE)
};
struct heap_real {
    HEAP_ALL(HEAP_REAL)
};
#undef HEAP_ROUTE
#undef HEAP_REAL

extern struct heap_routes
    heap_routes;                   /* where calls go now; at first, functions that look up the real ones */
extern struct heap_real heap_real; /* the next library's functions, filled in once by heap_resolve.c */
extern const struct heap_real heap_counting; /* the versions that sample */
extern const struct heap_real
    heap_exported; /* our own exported functions, by addresses that no other library can interpose */

enum heap_counter { HEAP_ALLOC_COUNT, HEAP_ALLOC_BYTES, HEAP_LIVE_COUNT, HEAP_LIVE_BYTES, HEAP_N_COUNTERS };

/* One profile that is being filled. A reset publishes a new one; entries of heap_live that belong to an
 * older one are ignored. */
struct heap_book {
    struct stack_table *stacks;
    uint32_t
        overflow; /* id of the empty stack: samples without room are counted there, so that sums stay right */
    uint64_t epoch;             /* the number of this profile */
    _Atomic uint64_t n_samples; /* samples taken */
    _Atomic uint64_t
        n_untracked;          /* samples without room in heap_live: they are missing from what is in use */
    _Atomic uint64_t n_stale; /* addresses that malloc returned although their free was never seen */
};

extern _Atomic(struct heap_book *) heap_book; /* NULL: none */
extern struct epoch heap_epoch;               /* threads that use heap_book are inside */
extern _Atomic bool heap_active;              /* new samples are wanted; frees may be watched longer */
extern _Atomic uint64_t heap_period;          /* bytes between marks, for countdowns drawn from now on */
extern _Atomic uint64_t heap_seed;            /* for the generators of new threads */

struct heap_thread {
    struct poisson poisson;
    uint32_t
        n_events; /* countdowns drawn: tells an outer hook whether an inner one has counted the same call */
    bool busy;
};
extern __thread struct heap_thread heap_thread __attribute__((tls_model("initial-exec")));

/* An allocation of `size` bytes returned p, through our hooks or a hook of the allocator. Counts it down
 * and samples it when a mark was passed. */
void heap_count(void *p, size_t size);
void heap_forget(void *p); /* p is about to be freed */

struct heap_live_value;
void heap_drop(const struct heap_live_value
                   *value); /* the value was removed from heap_live: subtract it from what is in use */

#pragma GCC visibility pop
#endif
