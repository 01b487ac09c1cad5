/* collector.h - takes profiles from all nodes on a schedule and on request.
 *
 * Each type of each node has its own schedule, time limit, back-off and last error. One thread runs the
 * schedule, one moves the bytes of all transfers (collect/pull.h), two decode; each session of a JVM and each
 * fetch from another procprof has a thread of its own. A node that hangs, sends nonsense or is gone delays
 * only its own schedule. A profile is published only after it was decoded, is of the requested type and has
 * samples.
 *
 * All functions may be called from any thread.
 */
#ifndef SERVE_COLLECTOR_COLLECTOR_H
#define SERVE_COLLECTOR_COLLECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "serve/cluster/cluster.h"
#include "store/store.h"

struct collector;

enum collector_event { COLLECTOR_TYPE, COLLECTOR_JOB };
/* Called on the thread that made the change, with no lock held. id is the id of the node (COLLECTOR_TYPE) or
 * of the job (COLLECTOR_JOB). */
typedef void collector_watcher(void *context, enum collector_event event, int64_t id, enum profile_type type);

int collector_start(struct cluster *cluster, struct store *store, collector_watcher *watcher, void *context,
                    struct collector **ret_collector, struct err *err);
void collector_stop(struct collector *c); /* abandons captures that are under way; c may be NULL */

struct collector_type { /* one type of one node; times are wall clock, 0 when there is none */
    enum profile_type type;
    bool enabled, running;
    int64_t interval_s, duration_s;
    int64_t next_ms, last_ms, backoff_until_ms;
    unsigned failures; /* in a row */
    uint64_t n_failed; /* since the start */
    char error[240];
};
/* Fills in the types that can be collected from the node and returns their number. */
size_t collector_types(struct collector *c, int32_t node, struct collector_type types[PROFILE_N_TYPES]);
/* Switches scheduled captures of one type on or off. The choice survives restarts and overrides the settings.
 * Switching off clears the back-off; switching on starts a capture at once. */
int collector_switch(struct collector *c, int32_t node, enum profile_type type, bool enabled,
                     struct collector_type *ret_type, struct err *err);

enum job_state { JOB_WAITING, JOB_RUNNING, JOB_DONE, JOB_FAILED };
struct collector_job {
    int64_t id;
    int32_t node;
    enum profile_type type;
    enum job_state state;
    double progress; /* 0 to 1 */
    int64_t elapsed_ms;
    double seconds;
    int64_t profile_id; /* when done */
    char error[240];
};
/* Starts a capture now, as a job. ERR_INPUT when the seconds are out of bounds, ERR_NOT_FOUND when there is
 * no such node, ERR_UNSUPPORTED when the node cannot have that type, ERR_BUSY while a capture of that type of
 * that node is under way. */
int collector_collect(struct collector *c, int32_t node, enum profile_type type, double seconds,
                      int64_t *ret_job, struct err *err);
int collector_job(struct collector *c, int64_t id, struct collector_job *ret_job); /* or ERR_NOT_FOUND */

enum { COLLECTOR_MAX_FAILURES = 200 };
struct collector_failure {
    int64_t time_ms; /* wall clock, when the capture ended */
    int32_t node;
    enum profile_type type;
    bool is_job; /* requested with collector_collect; else scheduled */
    char error[240];
};
/* The captures that failed most recently, newest first, whether or not later ones succeeded. Returns their
 * number. */
size_t collector_failures(struct collector *c, struct collector_failure failures[COLLECTOR_MAX_FAILURES]);

void collector_metrics(struct collector *c, struct buf *out); /* Prometheus text */

#endif
