/* collector_heartbeat.c - whether a node is alive.
 *
 * The scheduler starts heartbeats; on_heartbeat runs on pull's thread. */
#include "base/clock.h"
#include "base/mem.h"
#include "serve/collector/collector_int.h"
#include "serve/collector/node_url.h"

struct heartbeat {
    struct collector *collector;
    struct cluster_node node;
};

/* With the lock. A node that was down is alive again. Types that are in back-off are due at once, because the
 * minutes after a start are the interesting ones. */
static void end_backoffs(struct member *m)
{
    int64_t now_ms = clock_monotonic_ns() / 1000000;
    if (m->rest_until_ms > now_ms) return; /* the JVM crashed under the profiler; the pause still applies */
    for (int t = 0; t < PROFILE_N_TYPES; t++) {
        struct task *k = &m->tasks[t];
        if (!k->backoff_ms) continue;
        k->failures = 0;
        k->backoff_ms = 0;
        k->due_ms = now_ms;
    }
}

/* alive and can_be_profiled differ for the entry of this server: the server is alive while the frontend JVM
 * on its host may be missing. */
static void heartbeat_ended(struct collector *c, int32_t node, bool alive, bool can_be_profiled,
                            const char *version, const char *error)
{
    pthread_mutex_lock(&c->lock);
    struct member *m = member_of(c, node);
    if (m) {
        m->heartbeat_running = false;
        if (can_be_profiled && m->was_dead) end_backoffs(m);
        m->was_dead = !can_be_profiled;
    }
    c->n_heartbeats++;
    pthread_cond_signal(&c->wake);
    pthread_mutex_unlock(&c->lock);
    cluster_node_state(c->cluster, node, alive, 0, version, error);
}

static void on_heartbeat(void *context, struct pull_result *r)
{
    struct heartbeat *h = context;
    /* An answer of any status proves that the node is alive. */
    heartbeat_ended(h->collector, h->node.id, !r->code, !r->code, r->server, r->code ? r->error : "");
    if (!r->code && cluster_node_is_followed(&h->node)) node_follow(h->collector, &h->node);
    mem_free(h);
}

/* The entry of this server: a missing frontend JVM is an error of the node, logged once. No error is shown
 * when no frontend is configured. Always returns true, because the server itself is alive. */
static bool report_frontend(struct collector *c, const struct cluster_node *node, char *error)
{
    struct cluster_node known; /* the present state; *node is an older copy without the last error */
    if (cluster_node_get(c->cluster, node->id, &known)) return true;
    if (!node->jvm_pid && !node->jvm_match[0]) error[0] = 0;
    if (error[0] && !known.error[0])
        server_log(LOG_WARN_,
                   "no frontend to profile: %s; name it with the setting fe_jvm, or empty the setting if "
                   "there is none",
                   error);
    if (!error[0] && known.error[0]) server_log(LOG_INFO_, "the frontend is running again");
    return true;
}

void heartbeat_begin(struct collector *c, const struct cluster_node *node)
{
    if (!node->port || node->is_self) {
        char error[200] = "";
        bool alive = jvm_is_alive(node, error, sizeof error);
        bool can_be_profiled = alive;
        if (node->is_self) alive = report_frontend(c, node, error);
        heartbeat_ended(c, node->id, alive, can_be_profiled, "", error);
        return;
    }
    struct heartbeat *h = mem_zalloc(sizeof *h);
    h->collector = c;
    h->node = *node;
    node_pull(c->pull, node, cluster_node_is_followed(node) ? "/healthz" : "/pprof/cmdline", NULL,
              HEARTBEAT_LIMIT_S, 1 << 20, on_heartbeat, h);
}
