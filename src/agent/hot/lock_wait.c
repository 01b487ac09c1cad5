/* lock_wait.c - one wait: how long it lasts, whether it is sampled, and its stack (see lock_hook.h). */
#include "agent/hot/heap_hook.h" /* hook_owns: all hooks lie in one section */
#include "agent/hot/lock_hook.h"
#include "agent/hot/raw_clock.h"
#include "agent/hot/unwind.h"

#define LOCK_MAX_FRAMES 96
/* A mark is within reach when it is due within this many usual waits (and always within the floor). */
#define REACH_WAITS     4
#define REACH_NS        10000

_Atomic(struct lock_book *) lock_book;
struct epoch lock_epoch;
_Atomic bool lock_active;
_Atomic uint64_t lock_period_ns = 1000000;
_Atomic uint64_t lock_seed = 0x13198a2e03707344u;
__thread struct lock_thread lock_thread __attribute__((tls_model("initial-exec")));

static void draw(struct lock_thread *t)
{
    if (t->poisson.random == 0) {
        uint64_t seed = atomic_fetch_add_explicit(&lock_seed, 0x632be59bd9b4e019u, memory_order_relaxed);
        t->poisson.random = poisson_random(&seed) | 1;
    }
    poisson_draw(&t->poisson, (double)atomic_load_explicit(&lock_period_ns, memory_order_relaxed));
}

HOOK_TEXT __attribute__((noinline)) static void take_stack(struct lock_wait *w)
{
    uintptr_t pcs[LOCK_MAX_FRAMES + 1];
    w->has_stack = true;
    unsigned ticket = epoch_enter(&lock_epoch);
    struct lock_book *book = atomic_load(&lock_book);
    if (book) {
        unsigned n = unwind_here(pcs + 1, LOCK_MAX_FRAMES, 0), first = 1;
        while (first <= n && hook_owns(pcs[first])) first++;
        pcs[--first] =
            (uintptr_t)w->function +
            2; /* inside the function, so that it reads like the other entries, which are return addresses */
        w->stack = stack_table_find(book->stacks, pcs + first, n + 1 - first, w->kind);
        if (w->stack == STACK_NONE) w->stack = book->overflow[w->kind];
        w->epoch = book->epoch;
    }
    epoch_leave(&lock_epoch, ticket);
}

HOOK_TEXT void lock_wait_begin(struct lock_wait *w, enum lock_kind kind, const void *function)
{
    struct lock_thread *t = &lock_thread;
    if (t->poisson.random == 0) draw(t);
    *w = (struct lock_wait){.kind = kind, .function = function, .stack = STACK_NONE};
    w->begin_ns = clock_now_ns();
    if (kind != LOCK_COND && t->poisson.left <= REACH_WAITS * t->usual_ns + REACH_NS) take_stack(w);
}

/* Runs with the lock held, in the thread that waited. A reset may have replaced the book during the wait;
 * the stack's id belongs to the old one then, and its epoch says so. */
HOOK_TEXT void lock_wait_end(struct lock_wait *w)
{
    struct lock_thread *t = &lock_thread;
    int64_t waited_ns = clock_now_ns() - w->begin_ns;
    if (waited_ns < 1) waited_ns = 1;
    t->usual_ns += (waited_ns - t->usual_ns) / 8;
    t->poisson.left -= waited_ns;
    if (t->poisson.left >= 0) return;
    double weight = poisson_weight((double)waited_ns, t->poisson.period);
    bool late = !w->has_stack;
    if (late) take_stack(w);
    unsigned ticket = epoch_enter(&lock_epoch);
    struct lock_book *book = atomic_load(&lock_book);
    if (book && book->epoch == w->epoch && atomic_load_explicit(&lock_active, memory_order_relaxed)) {
        stack_table_add(book->stacks, w->stack, LOCK_COUNT, (int64_t)(weight * POISSON_ONE + 0.5));
        stack_table_add(book->stacks, w->stack, LOCK_NS, (int64_t)(weight * (double)waited_ns + 0.5));
        atomic_fetch_add_explicit(&book->n_samples, 1, memory_order_relaxed);
        if (late && w->kind != LOCK_COND) atomic_fetch_add_explicit(&book->n_late, 1, memory_order_relaxed);
    }
    epoch_leave(&lock_epoch, ticket);
    draw(t);
}
