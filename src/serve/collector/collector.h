/* collector.h - who is asked for what, when: per node and type a schedule, a time limit, a back-off, a
 * reason.
 *
 * One thread decides, one moves bytes (collect/pull.h), a few decode. A node that hangs, lies or is gone
 * costs its own schedule and nobody else's. What is published was decoded, is of the type it says, and is not
 * empty.
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
/* Told without locks held. id is the node's, or the job's. */
typedef void collector_watcher(void *context, enum collector_event event, int64_t id, enum profile_type type);

int collector_start(struct cluster *cluster, struct store *store, collector_watcher *watcher, void *context,
                    struct collector **ret_collector, struct err *err);
void collector_stop(struct collector *c); /* captures under way are given up; NULL is fine */

struct collector_type { /* of one node; times are wall clock, 0: none */
    enum profile_type type;
    bool enabled, running;
    int64_t interval_s, duration_s;
    int64_t next_ms, last_ms, backoff_until_ms;
    unsigned failures; /* in a row */
    uint64_t n_failed; /* since the start */
    char error[240];
};
/* The types this node can be asked for. */
size_t collector_types(struct collector *c, int32_t node, struct collector_type types[PROFILE_N_TYPES]);
/* Somebody switched it by hand: kept over restarts; off clears the back-off, on begins at once. */
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
/* A capture now. ERR_INPUT for seconds out of bounds, ERR_NOT_FOUND for the node, ERR_BUSY while that type of
 * that node is being captured. */
int collector_collect(struct collector *c, int32_t node, enum profile_type type, double seconds,
                      int64_t *ret_job, struct err *err);
int collector_job(struct collector *c, int64_t id, struct collector_job *ret_job); /* or ERR_NOT_FOUND */

enum { COLLECTOR_MAX_FAILURES = 200 };
struct collector_failure {
    int64_t time_ms; /* wall clock, of its end */
    int32_t node;
    enum profile_type type;
    bool is_job; /* somebody asked for it; else it was scheduled */
    char error[240];
};
/* The last captures that failed, newest first, also when later ones went well. Returns how many. */
size_t collector_failures(struct collector *c, struct collector_failure failures[COLLECTOR_MAX_FAILURES]);

void collector_metrics(struct collector *c, struct buf *out); /* Prometheus text */

#endif
