/* epoch.h - lets a writer know when no reader can still hold what it has just replaced.
 *
 * Readers are signal handlers, malloc and lock hooks, and threads of the host as they end: they may not wait,
 * so they only count themselves in and out (as does the wall clock's thread, when it unwinds others). The
 * writer (an ordinary thread) publishes the new thing, then calls epoch_drain and may free the old one when
 * that returns true. Counters are striped by thread so that handlers on many cores do not share a line, and
 * come in two phases so that a stream of new readers cannot keep the writer waiting: a reader that arrives
 * after the turn counts in the other phase.
 */
#ifndef AGENT_HOT_EPOCH_H
#define AGENT_HOT_EPOCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define EPOCH_STRIPES 64

struct epoch {
    struct {
        _Atomic uint64_t n_readers[2];
        char pad[48];
    } stripes[EPOCH_STRIPES];
    _Atomic unsigned phase;
};

/* Returns a ticket for epoch_leave. What the reader loads after this call stays valid until it leaves. */
static inline unsigned epoch_enter(struct epoch *e)
{
    unsigned stripe = (unsigned)(((uintptr_t)__builtin_thread_pointer() * 0x9e3779b97f4a7c15u) >> 58);
    unsigned phase = atomic_load_explicit(&e->phase, memory_order_relaxed) & 1;
    atomic_fetch_add(&e->stripes[stripe].n_readers[phase], 1);
    return stripe << 1 | phase;
}

static inline void epoch_leave(struct epoch *e, unsigned ticket)
{
    atomic_fetch_sub_explicit(&e->stripes[ticket >> 1].n_readers[ticket & 1], 1, memory_order_release);
}

/* Waits until every reader that was inside has left; false when one is still there after limit_ms (it may
 * have been left by a longjmp): then the old thing must be kept for ever. Not for handlers. Several
 * writers may wait at once: a CPU and a wall-clock capture end when they like. */
bool epoch_drain(struct epoch *e, unsigned limit_ms);

/* In the child of a fork: readers of the parent's other threads are gone. */
void epoch_reset(struct epoch *e);

#endif
