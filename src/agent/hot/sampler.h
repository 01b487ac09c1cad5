/* sampler.h - what runs in the signal handler of the CPU and wall-clock profilers: take the stack, count it,
 * return.
 *
 * Two samplers, each with a table while a capture runs. The signal carries which sampler and which thread it
 * is for; a signal without our mark (somebody else sent it) does nothing.
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
    /* On the thread's CPU clock: when the first sample is due; and how many were seen due (by its handler;
     * arming begins it anew, counting its tail adds to it). */
    _Atomic int64_t first_due_ns;
    _Atomic uint64_t n_due;
    /* It has no timer (it blocks the signal, or was refused one): its time is lost, and a signal that was
     * still under way counts nothing of it. Ends when the two above have been set anew. */
    _Atomic bool rests;
    _Atomic bool is_called;      /* CPU timers: a signal was sent beside the timer's and has not come yet */
    _Atomic uint32_t last_stack; /* where it was last seen: an id of the table; STACK_NONE: nowhere yet */
};

struct sampler {
    _Atomic(struct stack_table *) table; /* NULL: no capture runs */
    struct sampler_thread *threads;      /* set before table is */
    uintptr_t *pcs;                      /* UNWIND_MAX_FRAMES for each thread, to put its stack together */
    uint32_t n_threads;
    uint32_t max_frames;
    _Atomic uint64_t n_incomplete; /* stacks that did not reach an outermost frame */
    _Atomic uint64_t n_lost;       /* samples (with their weight) for which the table had no room */
    _Atomic uint64_t n_no_stack;   /* samples not taken: the thread had too little stack left */
    _Atomic int64_t weight;        /* ns that one sample stands for: the CPU profiler's period; of the wall
                                      clock, what it is now */
};

extern struct sampler sampler_of[SAMPLER_COUNT];
extern struct epoch sampler_epoch;

/* By descriptor of a perf event: index into sampler_of[SAMPLER_CPU].threads, + 1; 0: none of ours. */
#define SAMPLER_MAX_EVENT_FD 65536
extern _Atomic uint32_t sampler_event_thread[SAMPLER_MAX_EVENT_FD];

/* The label set of this thread (labels.h); 0: none. */
extern _Thread_local uint32_t sampler_label_set;

/* Of this thread, once it was sampled or given a label; 0 before. The child of a fork sets it back. */
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

/* The handler: SA_SIGINFO | SA_RESTART | SA_ONSTACK, all signals blocked meanwhile. */
void sampler_handle(int signal_number, siginfo_t *info, void *ucontext);

#endif
