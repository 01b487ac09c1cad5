/* epoch.h - lets a writer know when no reader can still use what it has just replaced.
 *
 * Readers are signal handlers, the malloc and lock hooks, threads of the host that end, and the wall clock's
 * thread when it unwinds others. Writers are ordinary threads of the library. They share a pointer to a
 * table, which the writer replaces and frees. A reader that has loaded the old pointer would read freed
 * memory, and readers may not wait for a lock. So a reader only counts itself in before it loads the pointer,
 * and out when it is done. The writer stores the new pointer, calls epoch_drain, and frees the old table when
 * that returns true.
 *
 * The counters are striped by thread, so that handlers on many cores do not share a cache line. They come in
 * two phases, so that a stream of new readers cannot keep the writer waiting: a reader that arrives after the
 * writer has changed the phase counts in the other one.
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

/* Waits until every reader that was inside has left. False when one is still inside after limit_ms (its
 * thread may have left the hook by longjmp); the old table must then be kept for ever. Must not be called
 * in a handler. Several writers may drain at once: a CPU and a wall-clock capture end independently. */
bool epoch_drain(struct epoch *e, unsigned limit_ms);

/* In the child of a fork: the parent's other threads do not exist here, so their counts are cleared. */
void epoch_reset(struct epoch *e);

#endif
