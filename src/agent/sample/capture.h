/* capture.h - what the CPU and the wall-clock profiler share: the table of a capture, the threads in it, and
 * how it becomes output. */
#ifndef AGENT_SAMPLE_CAPTURE_H
#define AGENT_SAMPLE_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/host/threads.h"
#include "agent/hot/sampler.h"
#include "agent/sample/cpu_event.h"
#include "agent/sample/kinds.h"

#define CAPTURE_MAX_THREADS 16384

struct capture_thread { /* beside sampler_thread of the same index */
    bool used, seen;
    /* A thread that ends counts what is missing by itself, without a lock: when nobody else is at the timer
     * and what belongs to it. Else it leaves word of its clock. */
    _Atomic bool is_free, has_ended;
    _Atomic int64_t end_cpu_ns; /* 0: it has not said that it ends */
    int timer;                  /* the kernel's number */
    bool has_timer;
    struct cpu_event event;
    uint64_t blocked;          /* signals, when it was last looked at (threads.h) */
    bool is_refused;           /* it rests (sampler.h) because the kernel gave it no timer */
    uint64_t n_before;         /* samples until it last rested */
    int64_t seemed_cpu_ns;     /* its clock when it first seemed to block the signal; 0: it does not */
    uint64_t seemed_n_samples; /* and its samples then */
    char name[THREAD_NAME_BYTES];
    int64_t begin_cpu_ns, last_cpu_ns; /* when it was met, when its clock was last read; 0: not yet */
};

struct capture {
    unsigned which; /* SAMPLER_CPU, SAMPLER_WALL */
    struct stack_table *table;
    size_t table_bytes;
    struct sampler_thread *counts;
    struct capture_thread *threads; /* both CAPTURE_MAX_THREADS long, untouched pages cost nothing */
    uintptr_t *pcs;                 /* of the handlers: UNWIND_MAX_FRAMES for each thread */
    uint32_t n_threads;             /* highest index in use + 1 */
    uint32_t first_free;            /* no index below is free */
    _Atomic uint32_t *index_of;     /* by tid (below THREADS_MAX_TIDS): index + 1 */
    uint32_t *name_of;              /* by tid: index + 1 into names */
    struct pages_buf names;         /* of threads that ended: struct capture_name[] */
    int64_t period_ns;
    int signal_number;
    char status_text[THREADS_STATUS_BYTES]; /* for who looks at a thread; under the lock */
    bool is_kept;                           /* somebody may still write: its memory is never given back */
};

struct capture_name {
    uint32_t tid;
    char name[THREAD_NAME_BYTES];
};

/* Where a capture stood at some moment: who begins to read it then reads the difference. */
#define CAPTURE_MAX_TALLIES 8
struct capture_mark {
    size_t n_bytes;
    uint64_t tallies[CAPTURE_MAX_TALLIES]; /* what the kind counts besides: of samples lost, and the like */
    int64_t values[];                      /* the counters of the table */
};

/* Holds the unwind tables, takes the signal, makes the table and lets the handler see it. */
int capture_begin(struct capture *c, unsigned which, const struct kind_options *options, struct err *err);
/* Nobody counts any more who asked sampler_of[].table inside sampler_epoch, when this returns; or somebody
 * did not come out for two seconds, then it is kept. The table stays. */
void capture_end(struct capture *c);
/* False: it is kept, `c` and all that it points to may be read and written for ever. */
bool capture_free(struct capture *c);

int64_t capture_thread_find(const struct capture *c, uint32_t tid); /* index, or -1 */
int64_t capture_thread_add(struct capture *c, uint32_t tid);        /* index, or -1 when there are too many */
void capture_thread_remove(struct capture *c, uint32_t index); /* remembers its name when it has samples */

/* NULL: no memory. The tallies are the caller's to fill in. While the capture runs, or after it. */
struct capture_mark *capture_mark(const struct capture *c);
void capture_mark_free(struct capture_mark *mark); /* NULL is fine */

/* Adds every stack of the table that was counted since the mark (NULL: since the begin): values are those of
 * the counters, in the order the types ask for. */
void capture_output(struct capture *c, const struct capture_mark *since, bool with_state, struct output *o);

#endif
