/* capture.h - a capture from begin to end: its readers, its table of stacks, its threads, its output.
 *
 *     reader 1   start ────────────────────────────────── output
 *     reader 2            mark ─────────────────────────────────── stop, output since the mark
 *
 * capture_take() is what the HTTP server and the public interface call, for every kind of profile. The rest
 * is for the two kinds that sample by signal, CPU and wall clock: struct capture is the memory that one such
 * capture needs, and the functions on it are those that both kinds share.
 */
#ifndef AGENT_SAMPLE_CAPTURE_H
#define AGENT_SAMPLE_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/host/threads.h"
#include "agent/hot/sampler.h"
#include "agent/sample/cpu_event.h"
#include "agent/sample/kinds.h"

/* Takes a whole profile and blocks for the seconds that the options ask for. A capture kind is started,
 * ticked, stopped and read. A counter kind is read twice, and the output is the difference; without seconds
 * it is read once. *cancel (may be NULL) ends the wait early when it becomes true. On success the caller
 * frees *output.
 *
 * Several threads may call this at once. Callers that ask for the same capture kind share its one sampler
 * when the running capture fits their options, and each gets the samples of its own time. A caller whose
 * options do not fit waits for the running capture to end if that is less than ten seconds away; otherwise it
 * gets ERR_BUSY. */
int capture_take(const struct kind *k, const struct kind_options *options, const _Atomic bool *cancel,
                 struct output *output, struct err *err);

/* In the child of a fork: no capture runs there. */
void captures_forked(void);

/* ---- the memory of a capture by signal */

#define CAPTURE_MAX_THREADS 16384
#define CAPTURE_MAX_TALLIES 8

/* What the library keeps about a sampled thread, beside the sampler_thread of the same index. The atomic
 * members are shared with the sampled thread itself when it ends; the capture's lock guards the others. */
struct capture_thread {
    bool used, seen;
    /* A thread that ends counts its missing samples itself and takes no lock for it. It may do so only when
     * it wins `is_free`, which says that no other thread works on this entry's timer. If it does not win, it
     * only leaves its clock in `end_cpu_ns`. */
    _Atomic bool is_free, has_ended;
    _Atomic int64_t end_cpu_ns; /* 0: the thread has not announced its end */
    int timer;                  /* the kernel's number */
    bool has_timer;
    struct cpu_event event;
    uint64_t blocked;      /* the signals that it blocked when last looked at (threads.h) */
    bool is_refused;       /* it rests (sampler.h) because the kernel refused it a timer */
    uint64_t n_before;     /* its samples until it last rested */
    int64_t seemed_cpu_ns; /* its clock when it first seemed to block the signal; 0: it does not seem to */
    uint64_t seemed_n_samples; /* its samples at that moment */
    char name[THREAD_NAME_BYTES];
    int64_t begin_cpu_ns, last_cpu_ns; /* its clock when the capture met it, and when last read; 0: not yet */
};

struct capture {
    unsigned which; /* SAMPLER_CPU, SAMPLER_WALL */
    struct stack_table *table;
    size_t table_bytes;
    struct sampler_thread *counts;
    struct capture_thread *threads; /* both CAPTURE_MAX_THREADS long; untouched pages cost nothing */
    uintptr_t *pcs;                 /* for the handlers: UNWIND_MAX_FRAMES for each thread */
    uint32_t n_threads;             /* highest index in use + 1 */
    uint32_t first_free;            /* no index below it is free */
    _Atomic uint32_t *index_of;     /* by tid (below THREADS_MAX_TIDS): index + 1 */
    uint32_t *name_of;              /* by tid: index + 1 into names */
    struct pages_buf names;         /* of threads that ended: struct capture_name[] */
    int64_t period_ns;
    int signal_number;
    char status_text[THREADS_STATUS_BYTES]; /* scratch for threads_status; under the kind's lock */
    bool is_kept;                           /* a handler may still write here: the memory is never freed */
};

struct capture_name {
    uint32_t tid;
    char name[THREAD_NAME_BYTES];
};

/* The state of a capture at some moment. A reader that joins later subtracts the mark from what it reads. */
struct capture_mark {
    size_t n_bytes;
    uint64_t tallies[CAPTURE_MAX_TALLIES]; /* what the kind counts besides samples, such as lost ones */
    int64_t values[];                      /* the counters of the table */
};

/* Holds the unwind tables, takes the signal, maps the memory and shows the table to the handler. */
int capture_begin(struct capture *c, unsigned which, struct err *err);

/* Hides the table from the handlers, then waits until every reader of sampler_of[].table has left
 * sampler_epoch. If a reader has not left after two seconds, the memory is kept for good. The table can still
 * be read. */
void capture_end(struct capture *c);

/* False when the memory is kept: then `c` and everything it points to must stay as they are. */
bool capture_free(struct capture *c);

int64_t capture_thread_find(const struct capture *c, uint32_t tid); /* index, or -1 */
int64_t capture_thread_add(struct capture *c, uint32_t tid);        /* index, or -1 when there are too many */
void capture_thread_remove(struct capture *c, uint32_t index);      /* keeps its name when it has samples */

/* While the capture runs, or after it. The caller fills in the tallies. NULL when there is no memory. */
struct capture_mark *capture_mark(const struct capture *c);
void capture_mark_free(struct capture_mark *mark); /* NULL is fine */
void capture_tallies_since(uint64_t *tallies, unsigned n,
                           const struct capture_mark *since); /* NULL is fine */

/* Adds every stack of the table that was counted since the mark (NULL: since the begin). The values are the
 * counters, in the order of the output's types. */
void capture_output(struct capture *c, const struct capture_mark *since, bool with_state, struct output *o);

#endif
