/* sampler.h - what runs in the signal handler of the CPU and wall-clock profilers: take the stack, count it,
 * return.
 *
 * There are two samplers, and each has a table while its capture runs. The signal carries which sampler and
 * which thread it is for. A signal without our mark comes from other code and does nothing.
 */
#ifndef AGENT_HOT_SAMPLER_H
#define AGENT_HOT_SAMPLER_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/hot/epoch.h"
#include "agent/hot/stack_table.h"

enum { SAMPLER_CPU, SAMPLER_WALL, SAMPLER_COUNT };

struct sampler_thread { /* one thread in one capture; the handler counts into it */
    _Atomic uint32_t tid;
    _Atomic uint64_t n_samples;
    /* first_due_ns is when the first sample is due on the thread's CPU clock. n_due is how many samples
     * its handler has seen due; arming the timer sets it to 0, and counting the thread's tail (cpu_tail.h)
     * adds to it. */
    _Atomic int64_t first_due_ns;
    _Atomic uint64_t n_due;
    /* The thread has no timer, because it blocks the signal or the kernel refused one. Its time is lost,
     * and a signal that was already sent counts nothing. It is cleared only after the two members above
     * have been set anew. */
    _Atomic bool rests;
    _Atomic bool
        is_called; /* CPU timers: a signal was sent in addition to the timer's and has not arrived yet */
    _Atomic uint32_t last_stack; /* id of the stack where it was last seen; STACK_NONE: nowhere yet */
};

struct sampler {
    _Atomic(struct stack_table *) table; /* NULL: no capture runs */
    struct sampler_thread *threads;      /* stored before table is */
    uintptr_t *pcs; /* UNWIND_MAX_FRAMES for each thread: where its handler builds the stack */
    uint32_t n_threads;
    uint32_t max_frames;
    _Atomic uint64_t n_incomplete; /* stacks that did not reach an outermost frame */
    _Atomic uint64_t n_lost;       /* samples (with their weight) for which the table had no room */
    _Atomic uint64_t n_no_stack;   /* samples not taken: the thread had too little stack left */
    _Atomic int64_t weight; /* ns that one sample stands for: the period of the CPU profiler; of the wall
                               clock, the weight of the current tick */
};

extern struct sampler sampler_of[SAMPLER_COUNT];
extern struct epoch sampler_epoch;

/* By the descriptor of a perf event: index into sampler_of[SAMPLER_CPU].threads, + 1; 0: not one of our
 * events. */
#define SAMPLER_MAX_EVENT_FD 65536
extern _Atomic uint32_t sampler_event_thread[SAMPLER_MAX_EVENT_FD];

/* The label set of this thread (labels.h); 0: none. */
extern _Thread_local uint32_t sampler_label_set;

/* The number of this thread, set when it is first sampled or given a label; 0 before. The child of a fork
 * sets it back to 0. */
extern _Thread_local uint32_t sampler_own_tid;

/* What a signal carries in si_value: the mark, the sampler, the index into threads. */
#define SAMPLER_MARK 0x9f5e0000u
static inline void *sampler_signal_value(unsigned sampler, uint32_t thread)
{
    return (void *)((uintptr_t)(SAMPLER_MARK | sampler) << 32 | thread);
}

#define SAMPLER_ASLEEP 0x80000000u /* in the thread's index: it was asleep when the signal was sent */

/* Tags in the table: thread, label set, state. */
enum sampler_state {
    SAMPLER_RUNNING,
    SAMPLER_SLEEPING,
    SAMPLER_WAITING
}; /* waiting: uninterruptible (disk) */
static inline uint64_t sampler_tag(uint32_t tid, uint32_t label_set, enum sampler_state state)
{
    return (uint64_t)tid << 32 | (uint64_t)(label_set & 0xffffff) << 8 | (uint64_t)state;
}
static inline uint32_t sampler_tag_tid(uint64_t tag)
{
    return (uint32_t)(tag >> 32);
}
static inline uint32_t sampler_tag_labels(uint64_t tag)
{
    return (uint32_t)(tag >> 8) & 0xffffff;
}
static inline enum sampler_state sampler_tag_state(uint64_t tag)
{
    return (enum sampler_state)(tag & 0xff);
}

/* Counters of the tables */
enum { SAMPLER_COUNTER_SAMPLES, SAMPLER_COUNTER_VALUE, SAMPLER_N_COUNTERS };

/* The handler. Installed with SA_SIGINFO | SA_RESTART | SA_ONSTACK, and all signals are blocked while it
 * runs. */
void sampler_handle(int signal_number, siginfo_t *info, void *ucontext);

#endif
