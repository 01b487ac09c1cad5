/* collector_int.h - the inside of struct collector, for collector*.c only. */
#ifndef SERVE_COLLECTOR_COLLECTOR_INT_H
#define SERVE_COLLECTOR_COLLECTOR_INT_H

#include <pthread.h>

#include "collect/pull.h"
#include "serve/collector/collector.h"
#include "serve/collector/node_capture.h"

struct task { /* one type of one node */
    bool possible, enabled, running;
    int64_t interval_ms, duration_ms;
    int64_t due_ms;     /* monotonic */
    int64_t backoff_ms; /* monotonic: not before; 0: none */
    int64_t last_ms;    /* wall: last published */
    unsigned failures;  /* in a row */
    uint64_t n_failed;  /* ever */
    unsigned n_busy;    /* so often in a row somebody else was there */
    size_t path;        /* which of capture_path answered */
    char error[240];
};

struct member { /* a node, as the collector sees it */
    int32_t id;
    struct cluster_node node; /* as it was when nodes were read last */
    struct task tasks[PROFILE_N_TYPES];
    unsigned n_running;
    struct capture
        *waiting; /* a JVM that is being captured: asked for meanwhile, begins when that has ended */
    bool give_up; /* its session is to end early */
    /* A JVM that crashed while it was profiled is left alone for a while, and then profiled by its own flight
     * recorder, unless the settings say otherwise. */
    int64_t rest_until_ms; /* monotonic; 0: none */
    int64_t heartbeat_due_ms;
    bool heartbeat_running, is_gone, was_dead;
    bool is_followed;          /* its new profiles are being fetched */
    struct followed *followed; /* what was seen there; NULL: not looked yet */
};

struct capture { /* under way */
    struct collector *collector;
    struct capture_facts facts;
    int64_t began_ms; /* monotonic */
    size_t path, first_path;
    bool wrapped;                 /* all paths were tried */
    bool is_off, was_switched_on; /* the node has that profile, but it has to be switched on first; we did */
    int64_t job;                  /* 0: scheduled */
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
    pthread_cond_t wake, work; /* scheduler; workers */
    pthread_t scheduler, workers[2];
    unsigned n_workers;
    bool stopping, nodes_changed;
    struct member **members; /* by id; a member lives while captures of it run */
    size_t n_members, cap_members;
    struct capture *done_first, **done_last; /* waiting for a worker */
    struct job *jobs;
    size_t n_jobs, cap_jobs;
    int64_t last_job;
    unsigned n_captures;    /* under way, with their decoding */
    unsigned n_own_threads; /* sessions of JVMs */
    uint64_t n_started, n_published, n_empty, n_failed, n_missed, n_heartbeats;
    struct collector_failure
        failures[COLLECTOR_MAX_FAILURES]; /* a ring: the next one goes to n_failed % its size */
    unsigned random_state;
};

/* collector_jvm.c: captures of a JVM on this host, all in one session, on a thread of its own. Each ends with
 * capture_ended. */
bool capture_is_jvm(const struct cluster_node *node);
void capture_jvm_begin(struct capture **captures, size_t n_captures);
bool jvm_is_alive(const struct cluster_node *node, char *error, size_t n_error);

/* collector_follow.c: another procprof. Fetches what is new there, on a thread of its own. */
void node_follow(struct collector *c, const struct cluster_node *node);

struct member *member_of(struct collector *c, int32_t id); /* with the lock; NULL: none */

/* Whether the session of that node is to end now: the server stops, or somebody asked for a capture. */
bool collector_gives_up(struct collector *c, int32_t node);
/* The JVM of that node crashed while it was profiled: why is what was found of it. Before its captures end.
 */
void collector_jvm_crashed(struct collector *c, const struct cluster_node *node, const char *why);
void capture_arrived(struct capture *cap); /* hands it to a worker */
void capture_ended(struct capture *cap, int code, const struct store_profile *p, const char *error);

#endif
