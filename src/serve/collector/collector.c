/* collector.c - see collector.h. */
#include "serve/collector/collector.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/lock_rank.h"
#include "base/mem.h"
#include "base/text.h"
#include "serve/collector/collector_int.h"
#include "serve/collector/node_url.h"

enum {
    TICK_MS = 100,
    MAX_BACKOFF_MS = 900 * 1000,
    MIN_BACKOFF_MS = 5 * 1000,
    MIN_BUSY_MS = 1000, /* the first retry while another client profiles the JVM */
    MAX_BUSY_MS = 15 * 1000,
    JOIN_MS = 1000, /* types of a JVM whose back-offs end within this time share a session */
    MAX_PROFILE_BYTES = 512 << 20,
    MAX_JOBS = 1000,
    JOB_KEPT_MS = 3600 * 1000,
};

static int64_t monotonic_ms(void)
{
    return clock_monotonic_ns() / 1000000;
}

static int64_t wall_ms(void)
{
    return clock_wall_ns() / 1000000;
}

static double random_part(struct collector *c) /* [0, 1); with the lock */
{
    return rand_r(&c->random_state) / ((double)RAND_MAX + 1);
}

static void notify(struct collector *c, enum collector_event event, int64_t id, enum profile_type type)
{
    if (c->watcher) c->watcher(c->watcher_context, event, id, type);
}

/* ---- nodes ---- */

struct member *member_of(struct collector *c, int32_t id)
{
    for (size_t i = 0; i < c->n_members; i++)
        if (c->members[i]->id == id) return c->members[i];
    return NULL;
}

struct settings {
    bool fe_cpu, fe_mem;
    int64_t fe_time_s, be_time_s, be_interval_s, heartbeat_s, max_captures;
    char be_types[128];
};

static struct settings read_settings(struct cluster *cluster)
{
    struct settings s = {.fe_cpu = cluster_setting_int(cluster, CONF_PROC_PROFILE_CPU_ENABLE),
                         .fe_mem = cluster_setting_int(cluster, CONF_PROC_PROFILE_MEM_ENABLE),
                         .fe_time_s = cluster_setting_int(cluster, CONF_PROC_PROFILE_COLLECT_TIME_S),
                         .be_time_s = cluster_setting_int(cluster, CONF_BE_COLLECT_TIME_S),
                         .be_interval_s = cluster_setting_int(cluster, CONF_COLLECT_BE_PROFILE_INTERVAL),
                         .heartbeat_s = cluster_setting_int(cluster, CONF_HEARTBEAT_INTERVAL_S),
                         .max_captures = cluster_setting_int(cluster, CONF_MAX_CONCURRENT_CAPTURES)};
    char *types = cluster_setting_text(cluster, CONF_BE_PROFILE_TYPES);
    snprintf(s.be_types, sizeof s.be_types, "%s", types);
    mem_free(types);
    return s;
}

static bool in_list(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = list; (p = strstr(p, word)); p++)
        if ((p == list || strchr(", \t", p[-1])) && (!p[n] || strchr(", \t", p[n]))) return true;
    return false;
}

/* Another procprof collects its own profiles, and the entry of this server has none unless it names a JVM. */
static bool is_possible(const struct cluster_node *n)
{
    return n->role != CLUSTER_FE || (cluster_node_is_jvm(n) && (n->jvm_pid || n->jvm_match[0]));
}

/* With the lock. Brings the tasks of a node in line with the settings and with the switches of users. */
static void apply_settings(struct collector *c, struct member *m, const struct settings *s, int64_t now_ms)
{
    bool is_fe = m->node.role == CLUSTER_FE;
    for (int t = 0; t < PROFILE_N_TYPES; t++) {
        struct task *k = &m->tasks[t];
        int by_hand = cluster_type_switch(c->cluster, m->id, profile_type_name((enum profile_type)t));
        bool wanted = is_fe ? (t == PROFILE_CPU && s->fe_cpu) || (t == PROFILE_MEM && s->fe_mem)
                            : in_list(s->be_types, profile_type_name((enum profile_type)t));
        if (by_hand >= 0) wanted = by_hand;
        k->possible = is_possible(&m->node);
        wanted = wanted && k->possible;
        k->duration_ms = 1000 * (is_fe ? s->fe_time_s : s->be_time_s);
        /* A frontend is profiled without gaps. */
        k->interval_ms = is_fe ? k->duration_ms + 1000 : 1000 * s->be_interval_s;
        if (wanted && !k->enabled) {
            /* The first captures of many nodes are spread out over up to one interval (200 ms for each node),
             * so that a thousand nodes do not start in the same second. */
            double window_ms = 200.0 * (double)c->n_members;
            if (window_ms > (double)k->interval_ms) window_ms = (double)k->interval_ms;
            k->due_ms = now_ms + (is_fe ? 0 : (int64_t)(window_ms * random_part(c)));
            k->failures = 0;
            k->error[0] = 0;
        } else if (wanted && !k->backoff_ms && k->due_ms > now_ms + k->interval_ms) {
            k->due_ms =
                now_ms + (int64_t)((double)k->interval_ms * random_part(c)); /* the interval became shorter */
        }
        if (!wanted) {
            k->backoff_ms = 0;
            k->failures = 0;
            if (k->enabled) k->error[0] = 0;
        }
        k->enabled = wanted;
    }
}

/* Takes over added, changed and dropped nodes. A dropped node stays in the list while a capture, a heartbeat
 * or a fetch of it runs, because their threads look it up when they end. */
static void read_nodes(struct collector *c, const struct settings *s, int64_t now_ms)
{
    struct cluster_node *nodes;
    size_t n = cluster_nodes(c->cluster, ~0u, &nodes);
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < c->n_members; i++) c->members[i]->is_gone = true;
    for (size_t i = 0; i < n; i++) {
        struct member *m = member_of(c, nodes[i].id);
        if (!m) {
            m = mem_zalloc(sizeof *m);
            m->id = nodes[i].id;
            m->heartbeat_due_ms = now_ms;
            *VEC_PUSH(c->members, c->n_members, c->cap_members) = m;
        }
        m->is_gone = false;
        m->node = nodes[i];
        apply_settings(c, m, s, now_ms);
    }
    for (size_t i = c->n_members; i-- > 0;) {
        struct member *m = c->members[i];
        if (!m->is_gone || m->n_running || m->heartbeat_running || m->is_followed) continue;
        mem_free(m->followed);
        mem_free(m);
        c->members[i] = c->members[--c->n_members];
    }
    pthread_mutex_unlock(&c->lock);
    mem_free(nodes);
}

static void on_cluster(void *context, enum cluster_event event, int32_t node)
{
    (void)node;
    struct collector *c = context;
    if (event == CLUSTER_NODE_STATE) return;
    pthread_mutex_lock(&c->lock);
    c->nodes_changed = true;
    pthread_cond_signal(&c->wake);
    pthread_mutex_unlock(&c->lock);
}

/* ---- captures ----
 *
 * on_answer and on_switched run on pull's thread. */

static void request_profile(struct capture *cap);

static void on_switched(void *context, struct pull_result *r)
{
    struct capture *cap = context;
    cap->was_switched_on = true;
    if (!r->code && r->status == 200) {
        cluster_audit(cap->collector->cluster, "collector", "", "ok", NULL,
                      "heap profiling of node %d switched on", cap->facts.node.id);
        request_profile(cap);
        return;
    }
    cap->failed = r->code ? r->code : ERR_UNSUPPORTED;
    if (r->code)
        snprintf(cap->error, sizeof cap->error, "heap profiling cannot be switched on: %s", r->error);
    else
        snprintf(cap->error, sizeof cap->error, "heap profiling cannot be switched on: HTTP status %ld",
                 r->status);
    capture_arrived(cap);
}

static void switch_on(struct capture *cap)
{
    char *path = capture_control_path(PROFILE_HEAP, "enable");
    node_pull(cap->collector->pull, &cap->facts.node, path, "", HEARTBEAT_LIMIT_S, 1 << 16, on_switched, cap);
    mem_free(path);
}

static void on_answer(void *context, struct pull_result *r)
{
    struct capture *cap = context;
    struct collector *c = cap->collector;
    bool no_such = !r->code && (r->status == 404 || r->status == 405 || r->status == 501);
    cap->is_off |= !r->code && r->status == 501;
    if (no_such) { /* try the next path, beginning again at 0 after the last one */
        char *next = capture_path(cap->facts.type, cap->path + 1, cap->facts.seconds);
        size_t number = next ? cap->path + 1 : 0;
        mem_free(next);
        if (number != cap->first_path) {
            cap->path = number;
            request_profile(cap);
            return;
        }
        if (cap->facts.type == PROFILE_HEAP && cap->is_off && !cap->was_switched_on &&
            cluster_setting_int(c->cluster, CONF_BE_HEAP_ENABLE)) {
            cap->path = cap->first_path = 0;
            switch_on(cap);
            return;
        }
    }
    if (r->code) {
        cap->failed = r->code;
        snprintf(cap->error, sizeof cap->error, "%s", r->error);
    } else if (r->status != 200) {
        char line[120];
        text_first_line(r->body.data, r->body.len, line, sizeof line);
        cap->failed = no_such ? ERR_UNSUPPORTED : ERR_IO;
        snprintf(cap->error, sizeof cap->error, "HTTP status %ld%s%s", r->status, *line ? ": " : "", line);
    } else {
        cap->body = r->body;
        r->body = (struct bytes){0};
        snprintf(cap->content_type, sizeof cap->content_type, "%s", r->content_type);
    }
    capture_arrived(cap);
}

static void request_profile(struct capture *cap)
{
    char *path = capture_path(cap->facts.type, cap->path, cap->facts.seconds);
    double slack_s = cap->facts.seconds * 0.5;
    if (slack_s < 10) slack_s = 10;
    if (slack_s > 60) slack_s = 60;
    node_pull(cap->collector->pull, &cap->facts.node, path, NULL, cap->facts.seconds + slack_s,
              MAX_PROFILE_BYTES, on_answer, cap);
    mem_free(path);
}

/* With the lock. The caller starts the capture after it has released the lock. */
static struct capture *new_capture(struct collector *c, struct member *m, enum profile_type type,
                                   double seconds, int64_t job)
{
    struct capture *cap = mem_zalloc(sizeof *cap);
    cap->collector = c;
    cap->facts = (struct capture_facts){
        .node = m->node, .type = type, .begin_ms = wall_ms(), .seconds = type == PROFILE_HEAP ? 0 : seconds};
    cap->began_ms = monotonic_ms();
    cap->path = cap->first_path = m->tasks[type].path;
    cap->job = job;
    m->tasks[type].running = true;
    m->n_running++;
    c->n_captures++;
    c->n_started++;
    return cap;
}

static void begin_capture(struct capture *cap)
{
    if (cluster_node_is_jvm(&cap->facts.node))
        capture_jvm_begin(&cap, 1);
    else
        request_profile(cap);
}

bool collector_gives_up(struct collector *c, int32_t node)
{
    pthread_mutex_lock(&c->lock);
    struct member *m = member_of(c, node);
    bool gives_up = c->stopping || !m || m->give_up || m->is_gone;
    pthread_mutex_unlock(&c->lock);
    return gives_up || cluster_jvm_is_claimed(c->cluster, node);
}

void collector_jvm_crashed(struct collector *c, const struct cluster_node *node, const char *why)
{
    pthread_mutex_lock(&c->lock);
    struct member *m = member_of(c, node->id);
    if (m) m->rest_until_ms = monotonic_ms() + MAX_BACKOFF_MS;
    pthread_mutex_unlock(&c->lock);
    cluster_jvm_crashed(c->cluster, node->id);
    server_log(LOG_WARN_, "node %d (%s): %s; its next capture starts in %d minutes", node->id, node->name,
               why, MAX_BACKOFF_MS / 60000);
}

void capture_arrived(struct capture *cap)
{
    struct collector *c = cap->collector;
    pthread_mutex_lock(&c->lock);
    cap->next = NULL;
    *c->done_last = cap;
    c->done_last = &cap->next;
    pthread_cond_signal(&c->work);
    pthread_mutex_unlock(&c->lock);
}

static void end_job(struct collector *c, const struct capture *cap, int code, const struct store_profile *p,
                    const char *error)
{
    for (size_t i = 0; i < c->n_jobs; i++) {
        struct job *j = &c->jobs[i];
        if (j->about.id != cap->job) continue;
        j->ended_ms = monotonic_ms();
        j->about.state = code ? JOB_FAILED : JOB_DONE;
        j->about.profile_id = p ? p->id : 0;
        snprintf(j->about.error, sizeof j->about.error, "%s", code ? error : "");
    }
}

/* With the lock. The session that the job waited for has ended. */
static void start_waiting(struct collector *c, struct member *m, struct capture *cap)
{
    m->tasks[cap->facts.type].running = true;
    m->n_running++;
    c->n_captures++;
    c->n_started++;
    cap->began_ms = monotonic_ms();
    cap->facts.begin_ms = wall_ms();
    for (size_t i = 0; i < c->n_jobs; i++) {
        if (c->jobs[i].about.id != cap->job) continue;
        c->jobs[i].about.state = JOB_RUNNING;
        c->jobs[i].began_ms = cap->began_ms;
    }
}

/* With the lock. */
static void note_failure(struct collector *c, const struct capture *cap, const char *error)
{
    struct member *m = member_of(c, cap->facts.node.id);
    if (m) m->tasks[cap->facts.type].n_failed++;
    struct collector_failure *f = &c->failures[c->n_failed++ % COLLECTOR_MAX_FAILURES];
    *f = (struct collector_failure){
        .time_ms = wall_ms(), .node = cap->facts.node.id, .type = cap->facts.type, .is_job = cap->job != 0};
    snprintf(f->error, sizeof f->error, "%s", error);
}

size_t collector_failures(struct collector *c, struct collector_failure failures[COLLECTOR_MAX_FAILURES])
{
    pthread_mutex_lock(&c->lock);
    size_t n = c->n_failed < COLLECTOR_MAX_FAILURES ? (size_t)c->n_failed : COLLECTOR_MAX_FAILURES;
    for (size_t i = 0; i < n; i++) failures[i] = c->failures[(c->n_failed - 1 - i) % COLLECTOR_MAX_FAILURES];
    pthread_mutex_unlock(&c->lock);
    return n;
}

/* Workers, threads of JVM sessions and collector_stop call this once for each capture. It updates the
 * schedule and the job under the lock, then logs, notifies and frees the capture without it. When this was
 * the last capture of the node, it also starts the job that waited for it. code: 0, CAPTURE_EMPTY, or a
 * negative error code. */
void capture_ended(struct capture *cap, int code, const struct store_profile *p, const char *error)
{
    struct collector *c = cap->collector;
    int32_t node = cap->facts.node.id;
    enum profile_type type = cap->facts.type;
    pthread_mutex_lock(&c->lock);
    struct member *m = member_of(c, node);
    if (m) {
        struct task *k = &m->tasks[type];
        int64_t now_ms = monotonic_ms();
        k->running = false;
        m->n_running--;
        bool is_resting = m->rest_until_ms > now_ms;
        snprintf(k->error, sizeof k->error, "%s", code || is_resting ? error : "");
        bool is_busy = code == ERR_BUSY && !cap->job;
        k->n_busy = is_busy ? k->n_busy + (k->n_busy < 30) : 0;
        if (code >= 0) {
            k->path = cap->path;
            k->failures = 0;
            k->backoff_ms = 0;
            if (!code) k->last_ms = cap->facts.begin_ms;
            bool ended_early = (double)(now_ms - cap->began_ms) < cap->facts.seconds * 1000;
            if (m->node.role == CLUSTER_FE && (k->due_ms < now_ms || ended_early)) k->due_ms = now_ms;
        } else if (is_busy) {
            /* The node is well: another client profiles it and will end soon, or it is still starting. */
            int64_t wait_ms = MIN_BUSY_MS;
            for (unsigned i = 1; i < k->n_busy && wait_ms < MAX_BUSY_MS; i++) wait_ms *= 2;
            k->due_ms = now_ms + (wait_ms < MAX_BUSY_MS ? wait_ms : MAX_BUSY_MS);
        } else if (!cap->job) {
            if (k->failures < 30) k->failures++;
            double wait_ms = (double)(k->interval_ms > MIN_BACKOFF_MS ? k->interval_ms : MIN_BACKOFF_MS);
            for (unsigned i = 1; i < k->failures && wait_ms < MAX_BACKOFF_MS; i++) wait_ms *= 2;
            if (wait_ms > MAX_BACKOFF_MS) wait_ms = MAX_BACKOFF_MS;
            if (!cluster_node_is_jvm(&m->node)) wait_ms *= 0.9 + 0.2 * random_part(c);
            k->backoff_ms = k->due_ms = now_ms + (int64_t)wait_ms;
        }
        if (is_resting) k->backoff_ms = k->due_ms = m->rest_until_ms;
    }
    unsigned failures = m ? m->tasks[type].failures : 0, n_busy = m ? m->tasks[type].n_busy : 0;
    c->n_captures--;
    if (n_busy)
        c->n_missed++;
    else if (code < 0)
        note_failure(c, cap, error);
    else if (code)
        c->n_empty++;
    else
        c->n_published++;
    if (cap->job) end_job(c, cap, code, p, error);
    struct capture *next = NULL;
    if (m && !m->n_running && !c->stopping) {
        m->give_up = false;
        next = m->waiting;
        m->waiting = NULL;
        if (next) start_waiting(c, m, next);
    }
    check_counts(c);
    bool is_logged = n_busy <= 1 && !c->stopping, is_again = failures > 1 && !cap->job;
    pthread_cond_signal(&c->wake);
    pthread_mutex_unlock(&c->lock);
    /* The heartbeat reports a missing frontend of this server, and the first of several failures in a row has
     * been logged already. */
    bool is_quiet = is_again || (cap->facts.node.is_self && code == ERR_NOT_FOUND);
    enum log_level level = is_quiet ? LOG_DEBUG_ : LOG_WARN_;
    if (code < 0 && is_logged)
        server_log(level, "%s %s of node %d (%s) failed: %s", cap->job ? "requested" : "scheduled",
                   profile_type_name(type), node, cap->facts.node.name, error);
    notify(c, COLLECTOR_TYPE, node, type);
    if (cap->job) notify(c, COLLECTOR_JOB, cap->job, type);
    bytes_free(&cap->body);
    mem_free(cap);
    if (next) begin_capture(next);
}

/* Interactive requests run before scheduled captures: a capture can wait a minute, a user cannot. */
static void lower_priority(void)
{
    if (setpriority(PRIO_PROCESS, (id_t)gettid(), 10)) /* Linux applies it to this thread only */
        server_log(LOG_DEBUG_, "cannot lower the priority of a collector thread: %s", strerror(errno));
}

static void *worker_main(void *context)
{
    struct collector *c = context;
    lower_priority();
    for (;;) {
        pthread_mutex_lock(&c->lock);
        while (!c->done_first && !c->stopping) pthread_cond_wait(&c->work, &c->lock);
        struct capture *cap = take_done(c);
        bool stopping = c->stopping;
        pthread_mutex_unlock(&c->lock);
        if (!cap) return NULL; /* the collector is stopping and the queue is empty */
        struct store_profile p;
        struct err err = {0};
        int code = cap->failed;
        if (code)
            snprintf(err.text, sizeof err.text, "%s", cap->error);
        else if (stopping)
            code = err_set(&err, ERR_IO, "stopped");
        else
            code =
                capture_publish(c->cluster, c->store, &cap->facts, &cap->body, cap->content_type, &p, &err);
        char text[240];
        snprintf(text, sizeof text, "%.239s", err.text);
        capture_ended(cap, code, code ? NULL : &p, text);
    }
}

/* ---- the scheduler's thread ---- */

static void next_due(struct collector *c, struct task *k, int64_t now_ms)
{
    k->backoff_ms = 0;
    k->due_ms += k->interval_ms;
    if (k->due_ms <= now_ms) { /* late by more than one interval: skip the missed captures */
        int64_t behind = (now_ms - k->due_ms) / k->interval_ms + 1;
        c->n_missed += (uint64_t)behind;
        k->due_ms += behind * k->interval_ms;
    }
}

static void expire_jobs(struct collector *c, int64_t now_ms)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n_jobs; i++)
        if (!c->jobs[i].ended_ms || now_ms - c->jobs[i].ended_ms < JOB_KEPT_MS) c->jobs[n++] = c->jobs[i];
    c->n_jobs = n;
}

/* What a pass over all nodes found to start. It is filled under the lock and started after the lock is
 * released. */
struct due {
    struct capture **begun;
    struct cluster_node *beats;
    size_t n_begun, cap_begun, n_beats, cap_beats;
};

/* With the lock. A node has one scheduled capture at a time, the longest overdue first. A JVM has one session
 * for all its types. */
static void find_due_capture(struct collector *c, struct member *m, const struct settings *s, int64_t now_ms,
                             struct due *due)
{
    int best = -1;
    for (int t = 0; t < PROFILE_N_TYPES; t++)
        if (m->tasks[t].enabled && m->tasks[t].due_ms <= now_ms &&
            (best < 0 || m->tasks[t].due_ms < m->tasks[best].due_ms))
            best = t;
    if (best < 0 || m->n_running || (int64_t)c->n_captures >= s->max_captures || m->waiting ||
        m->rest_until_ms > now_ms)
        return;
    bool is_jvm = cluster_node_is_jvm(&m->node);
    if (is_jvm && cluster_jvm_is_claimed(c->cluster, m->id)) return;
    for (int t = 0; t < PROFILE_N_TYPES; t++) {
        struct task *k = &m->tasks[t];
        /* The captures of one JVM follow each other in the list; start_due relies on it. */
        if (t != best && !(is_jvm && k->enabled && k->backoff_ms <= now_ms + JOIN_MS)) continue;
        *VEC_PUSH(due->begun, due->n_begun, due->cap_begun) =
            new_capture(c, m, (enum profile_type)t, (double)k->duration_ms / 1000, 0);
        if (is_jvm) k->due_ms = now_ms;
        next_due(c, k, now_ms);
    }
}

/* With the lock. */
static void find_due(struct collector *c, size_t turn, const struct settings *s, int64_t now_ms,
                     struct due *due)
{
    due->n_begun = due->n_beats = 0;
    for (size_t i = 0; i < c->n_members; i++) {
        /* Each pass begins with another node, so that all nodes share the limit on captures. */
        struct member *m = c->members[(i + turn) % c->n_members];
        if (m->is_gone) {
            c->nodes_changed |= !m->n_running && !m->heartbeat_running && !m->is_followed;
            continue;
        }
        if (now_ms >= m->heartbeat_due_ms && !m->heartbeat_running) {
            m->heartbeat_running = true;
            m->heartbeat_due_ms =
                now_ms + (int64_t)((double)s->heartbeat_s * 1000 * (0.9 + 0.2 * random_part(c)));
            *VEC_PUSH(due->beats, due->n_beats, due->cap_beats) = m->node;
        }
        find_due_capture(c, m, s, now_ms, due);
    }
}

static void start_due(struct collector *c, const struct due *due)
{
    struct capture **begun = due->begun;
    for (size_t i = 0; i < due->n_begun; i++)
        notify(c, COLLECTOR_TYPE, begun[i]->facts.node.id, begun[i]->facts.type);
    for (size_t i = 0, n; i < due->n_begun; i += n) {
        int32_t node = begun[i]->facts.node.id;
        for (n = 1; i + n < due->n_begun && begun[i + n]->facts.node.id == node;) n++;
        if (cluster_node_is_jvm(&begun[i]->facts.node))
            capture_jvm_begin(&begun[i], n);
        else
            request_profile(begun[i]);
    }
    for (size_t i = 0; i < due->n_beats; i++) heartbeat_begin(c, &due->beats[i]);
}

static void *scheduler_main(void *context)
{
    struct collector *c = context;
    struct due due = {0};
    pthread_mutex_lock(&c->lock);
    c->nodes_changed = true;
    for (size_t turn = 0; !c->stopping; turn++) {
        int64_t now_ms = monotonic_ms();
        bool changed = c->nodes_changed;
        c->nodes_changed = false;
        pthread_mutex_unlock(&c->lock);
        struct settings s = read_settings(c->cluster);
        if (changed) read_nodes(c, &s, now_ms);
        pthread_mutex_lock(&c->lock);
        find_due(c, turn, &s, now_ms, &due);
        expire_jobs(c, now_ms);
        pthread_mutex_unlock(&c->lock);
        start_due(c, &due);
        pthread_mutex_lock(&c->lock);
        if (c->stopping || c->nodes_changed) continue;
        int64_t until_ns = clock_monotonic_ns() + TICK_MS * 1000000LL;
        struct timespec until = {.tv_sec = until_ns / 1000000000, .tv_nsec = until_ns % 1000000000};
        pthread_cond_timedwait(&c->wake, &c->lock, &until);
    }
    pthread_mutex_unlock(&c->lock);
    mem_free(due.begun);
    mem_free(due.beats);
    return NULL;
}

/* ---- requests of other threads ---- */

static void describe_task(const struct task *k, enum profile_type type, struct collector_type *out)
{
    int64_t shift_ms = wall_ms() - monotonic_ms();
    *out = (struct collector_type){.type = type,
                                   .enabled = k->enabled,
                                   .running = k->running,
                                   .interval_s = k->interval_ms / 1000,
                                   .duration_s = k->duration_ms / 1000,
                                   .next_ms = k->enabled ? k->due_ms + shift_ms : 0,
                                   .last_ms = k->last_ms,
                                   .backoff_until_ms = k->backoff_ms ? k->backoff_ms + shift_ms : 0,
                                   .failures = k->failures,
                                   .n_failed = k->n_failed};
    snprintf(out->error, sizeof out->error, "%s", k->error);
}

size_t collector_types(struct collector *c, int32_t node, struct collector_type types[PROFILE_N_TYPES])
{
    size_t n = 0;
    pthread_mutex_lock(&c->lock);
    struct member *m = member_of(c, node);
    for (int t = 0; m && t < PROFILE_N_TYPES; t++)
        if (m->tasks[t].possible) describe_task(&m->tasks[t], (enum profile_type)t, &types[n++]);
    pthread_mutex_unlock(&c->lock);
    return n;
}

int collector_switch(struct collector *c, int32_t node, enum profile_type type, bool enabled,
                     struct collector_type *ret_type, struct err *err)
{
    int bad = cluster_type_set_switch(c->cluster, node, profile_type_name(type), enabled, err);
    if (bad) return bad;
    struct settings s = read_settings(c->cluster);
    pthread_mutex_lock(&c->lock);
    struct member *m = member_of(c, node);
    if (m) {
        bool was_enabled = m->tasks[type].enabled;
        apply_settings(c, m, &s, monotonic_ms());
        if (m->tasks[type].enabled && !was_enabled) {
            m->tasks[type].due_ms = monotonic_ms();
            m->rest_until_ms = 0;
        }
        describe_task(&m->tasks[type], type, ret_type);
        if (!m->tasks[type].possible)
            bad = err_set(err, ERR_UNSUPPORTED, "%s cannot be collected from this node",
                          profile_type_name(type));
    } else {
        bad = err_set(err, ERR_NOT_FOUND, "no node has the id %d", node);
    }
    pthread_cond_signal(&c->wake);
    pthread_mutex_unlock(&c->lock);
    if (!bad) notify(c, COLLECTOR_TYPE, node, type);
    return bad;
}

/* With the lock. A session that a user requested is not cut short for another job. */
static bool is_job_running(const struct collector *c, const struct member *m)
{
    for (size_t i = 0; i < c->n_jobs; i++)
        if (c->jobs[i].about.node == m->id && !c->jobs[i].ended_ms) return true;
    return false;
}

int collector_collect(struct collector *c, int32_t node, enum profile_type type, double seconds,
                      int64_t *ret_job, struct err *err)
{
    int64_t max_s = cluster_setting_int(c->cluster, CONF_MAX_CAPTURE_SECONDS);
    if (!(seconds >= 1 && seconds <= (double)max_s))
        return err_set(err, ERR_INPUT, "seconds must be between 1 and %lld", (long long)max_s);
    struct capture *cap = NULL;
    int bad = 0;
    bool waits = false;
    pthread_mutex_lock(&c->lock);
    struct member *m = member_of(c, node);
    if (!m || m->is_gone)
        bad = err_set(err, ERR_NOT_FOUND, "no node has the id %d", node);
    else if (!m->tasks[type].possible)
        bad = err_set(err, ERR_UNSUPPORTED, "%s cannot be collected from this node", profile_type_name(type));
    else if (cluster_node_is_jvm(&m->node) ? m->waiting != NULL || is_job_running(c, m)
                                           : m->tasks[type].running)
        bad = err_set(err, ERR_BUSY, "a capture of this node is under way; try again when it has ended");
    else if (c->n_jobs >= MAX_JOBS)
        bad = err_set(err, ERR_BUSY, "too many jobs; try again later");
    if (!bad) {
        struct job *j = VEC_PUSH(c->jobs, c->n_jobs, c->cap_jobs);
        *j = (struct job){
            .began_ms = monotonic_ms(),
            .about = {
                .id = ++c->last_job, .node = node, .type = type, .state = JOB_RUNNING, .seconds = seconds}};
        *ret_job = j->about.id;
        cap = new_capture(c, m, type, seconds, j->about.id);
        if (cluster_node_is_jvm(&m->node) && m->n_running > 1) {
            /* The present session ends early, publishes what it has, and capture_ended then starts this job.
             */
            m->n_running--;
            m->tasks[type].running = m->n_running > 0;
            c->n_captures--;
            c->n_started--;
            j->about.state = JOB_WAITING;
            m->waiting = cap;
            m->give_up = true;
            waits = true;
        }
    }
    pthread_mutex_unlock(&c->lock);
    if (bad) return bad;
    int64_t job = *ret_job;
    if (!waits) begin_capture(cap);
    notify(c, COLLECTOR_JOB, job, type);
    notify(c, COLLECTOR_TYPE, node, type);
    return 0;
}

int collector_job(struct collector *c, int64_t id, struct collector_job *ret_job)
{
    bool found = false;
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < c->n_jobs && !found; i++) {
        struct job *j = &c->jobs[i];
        if (j->about.id != id) continue;
        found = true;
        *ret_job = j->about;
        int64_t elapsed_ms = (j->ended_ms ? j->ended_ms : monotonic_ms()) - j->began_ms;
        ret_job->elapsed_ms = elapsed_ms;
        double part = (double)elapsed_ms / (j->about.seconds * 1000);
        ret_job->progress = j->about.state == JOB_DONE ? 1 : part > 0.99 ? 0.99 : part;
    }
    pthread_mutex_unlock(&c->lock);
    return found ? 0 : ERR_NOT_FOUND;
}

void collector_metrics(struct collector *c, struct buf *out)
{
    pthread_mutex_lock(&c->lock);
    struct {
        const char *name, *type, *help;
        unsigned long long value;
    } all[] = {
        {"procprof_captures_started_total", "counter", "captures started", c->n_started},
        {"procprof_captures_published_total", "counter", "captures that were published as a profile",
         c->n_published},
        {"procprof_captures_empty_total", "counter", "captures without a sample", c->n_empty},
        {"procprof_captures_failed_total", "counter", "captures that failed", c->n_failed},
        {"procprof_captures_missed_total", "counter", "scheduled captures that could not start in time",
         c->n_missed},
        {"procprof_captures_running", "gauge", "captures under way", c->n_captures},
        {"procprof_heartbeats_total", "counter", "checks whether a node is alive", c->n_heartbeats},
        {"procprof_nodes", "gauge", "registered nodes", c->n_members},
    };
    pthread_mutex_unlock(&c->lock);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n%s %llu\n", all[i].name, all[i].help, all[i].name,
                   all[i].type, all[i].name, all[i].value);
}

/* ---- start and stop ---- */

int collector_start(struct cluster *cluster, struct store *store, collector_watcher *watcher, void *context,
                    struct collector **ret_collector, struct err *err)
{
    struct collector *c = mem_zalloc(sizeof *c);
    *c = (struct collector){
        .cluster = cluster, .store = store, .watcher = watcher, .watcher_context = context};
    c->random_state = (unsigned)clock_wall_ns();
    c->done_last = &c->done_first;
    lock_rank_init(&c->lock, LOCK_COLLECTOR, NULL);
    pthread_cond_init(&c->work, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&c->wake, &monotonic);
    int bad = pull_start(&c->pull, err);
    if (bad) {
        mem_free(c);
        return bad;
    }
    *ret_collector = c; /* before cluster_watch: from there on callbacks may use it */
    cluster_watch(cluster, on_cluster, c);
    while (c->n_workers < sizeof c->workers / sizeof *c->workers) {
        errno = pthread_create(&c->workers[c->n_workers], NULL, worker_main, c);
        if (errno) abort();
        c->n_workers++;
    }
    if (pthread_create(&c->scheduler, NULL, scheduler_main, c)) abort();
    return 0;
}

void collector_stop(struct collector *c)
{
    if (!c) return;
    pthread_mutex_lock(&c->lock);
    c->stopping = true;
    pthread_cond_broadcast(&c->wake);
    pthread_cond_broadcast(&c->work);
    pthread_mutex_unlock(&c->lock);
    pthread_join(c->scheduler, NULL);
    for (unsigned i = 0; i < c->n_workers; i++) pthread_join(c->workers[i], NULL);
    pull_stop(c->pull); /* ends the transfers under way; their captures go to the queue */
    pthread_mutex_lock(&c->lock);
    while (c->n_own_threads) pthread_cond_wait(&c->wake, &c->lock);
    pthread_mutex_unlock(&c->lock);
    c->watcher = NULL;
    for (struct capture *cap; (cap = take_done(c));) capture_ended(cap, ERR_IO, NULL, "stopped");
    for (size_t i = 0; i < c->n_members; i++) {
        mem_free(c->members[i]->waiting);
        mem_free(c->members[i]->followed);
        mem_free(c->members[i]);
    }
    mem_free(c->members);
    mem_free(c->jobs);
    pthread_cond_destroy(&c->wake);
    pthread_cond_destroy(&c->work);
    pthread_mutex_destroy(&c->lock);
    mem_free(c);
}
