/* collector_int.h - the inside of struct collector, for collector*.c only.
 *
 * collector.lock protects everything below except where a comment says otherwise. Functions that need it held
 * say "With the lock". No callback and no call into cluster or store that takes a lock of its own is made
 * while it is held, except cluster_jvm_is_claimed and cluster_type_switch (lock order: collector, cluster,
 * store). */
#ifndef SERVE_COLLECTOR_COLLECTOR_INT_H
#define SERVE_COLLECTOR_COLLECTOR_INT_H

#include <pthread.h>

#include "base/assert.h"
#include "collect/pull.h"
#include "serve/collector/collector.h"
#include "serve/collector/node_capture.h"

enum { HEARTBEAT_LIMIT_S = 5 }; /* also for switching heap profiling on */

struct task { /* one type of one node */
    bool possible, enabled, running;
    int64_t interval_ms, duration_ms;
    int64_t due_ms;     /* monotonic */
    int64_t backoff_ms; /* monotonic: no scheduled capture before it; 0 when there is no back-off */
    int64_t last_ms;    /* wall clock: start of the last published capture */
    unsigned failures;  /* in a row */
    uint64_t n_failed;  /* since the start of the server */
    unsigned n_busy;    /* captures in a row that another client of the JVM prevented */
    size_t path;        /* the number of the capture_path that answered last */
    char error[240];
};

struct member { /* a node, as the collector sees it */
    int32_t id;
    struct cluster_node node; /* a copy from the last read_nodes */
    struct task tasks[PROFILE_N_TYPES];
    unsigned n_running;
    struct capture *waiting; /* a job that starts when the present session of the JVM has ended */
    bool give_up;            /* the present session must end early */
    /* A JVM that crashed while it was profiled is not profiled until then. Afterwards its own flight recorder
     * samples it, unless the settings name another engine. */
    int64_t rest_until_ms; /* monotonic; 0: none */
    int64_t heartbeat_due_ms;
    bool heartbeat_running, is_gone, was_dead;
    bool is_followed; /* a thread is fetching its new profiles */
    struct followed
        *followed; /* what was fetched so far; NULL before the first fetch. Only that thread uses it. */
};

/* A capture under way. Exactly one thread owns it at a time and needs no lock for it: the scheduler or the
 * thread of collector_collect creates it, pull's thread (or the thread of a JVM session) receives the answer,
 * a worker decodes it, and capture_ended frees it. */
struct capture {
    struct collector *collector;
    struct capture_facts facts;
    int64_t began_ms; /* monotonic */
    size_t path, first_path;
    bool is_off;          /* the node has that type but profiling is switched off (HTTP status 501) */
    bool was_switched_on; /* we asked the node to switch it on */
    int64_t job;          /* 0 for a scheduled capture */
    struct bytes body;
    char content_type[80];
    int failed; /* a code of err.h */
    char error[240];
    struct capture *next;
};

struct job {
    struct collector_job about;
    int64_t began_ms, ended_ms; /* monotonic */
};

struct collector {
    struct cluster *cluster;
    struct store *store;
    struct pull *pull;
    collector_watcher *watcher;
    void *watcher_context;

    pthread_mutex_t lock;
    pthread_cond_t wake; /* of the scheduler, and of collector_stop */
    pthread_cond_t work; /* of the workers */
    pthread_t scheduler, workers[2];
    unsigned n_workers;
    bool stopping, nodes_changed;
    struct member **members; /* freed only while none of its captures, heartbeats and fetches runs */
    size_t n_members, cap_members;
    struct capture *done_first, **done_last; /* a queue of captures that wait for a worker */
    struct job *jobs;
    size_t n_jobs, cap_jobs;
    int64_t last_job;
    unsigned n_captures;    /* under way, decoding included */
    unsigned n_own_threads; /* detached threads: sessions of JVMs, fetches from other servers */
    uint64_t n_started, n_published, n_empty, n_failed, n_missed, n_heartbeats;
    /* A ring; the next failure goes to index n_failed % COLLECTOR_MAX_FAILURES. */
    struct collector_failure failures[COLLECTOR_MAX_FAILURES];
    unsigned random_state;
};

/* collector_jvm.c: captures of a JVM on this host. All of them share one session on one detached thread, and
 * each ends with capture_ended. */
void capture_jvm_begin(struct capture **captures, size_t n_captures);
bool jvm_is_alive(const struct cluster_node *node, char *error, size_t n_error);

/* collector_heartbeat.c: asks the node, without the lock, whether it is alive, and updates its state. */
void heartbeat_begin(struct collector *c, const struct cluster_node *node);

/* collector_follow.c: fetches the new profiles of another procprof on a detached thread. */
void node_follow(struct collector *c, const struct cluster_node *node);

struct member *member_of(struct collector *c, int32_t id); /* With the lock. NULL when there is none. */

/* True when the session or fetch of that node must end now: the server stops, the node was dropped, a job
 * waits for the JVM or a script has claimed it. */
bool collector_gives_up(struct collector *c, int32_t node);
/* Records that the JVM of that node crashed while it was profiled; `why` goes to the log. Must be called
 * before its captures end. */
void collector_jvm_crashed(struct collector *c, const struct cluster_node *node, const char *why);
void capture_arrived(struct capture *cap); /* puts it into the queue of the workers */
void capture_ended(struct capture *cap, int code, const struct store_profile *p, const char *error);

/* With the lock, or after all other threads have ended. */
static inline struct capture *take_done(struct collector *c)
{
    struct capture *cap = c->done_first;
    if (cap) c->done_first = cap->next;
    if (!c->done_first) c->done_last = &c->done_first;
    return cap;
}

/* With the lock. A member lives while captures of it run, so the members' counts add up to the total. */
static inline void check_counts(const struct collector *c)
{
    if (!ASSERT_ON) return;
    unsigned n_running = 0;
    for (size_t i = 0; i < c->n_members; i++) n_running += c->members[i]->n_running;
    ASSERT(n_running == c->n_captures);
    ASSERT(c->done_first || c->done_last == &c->done_first);
}

#endif
