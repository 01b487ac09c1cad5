/* sql_script.c - ADMIN EXECUTE ON ...: runs a script on one or more nodes.
 *
 * The result for one node has a column `result` with a row for each line of output. The result for several
 * nodes has a row for each node, in ascending order; a node that failed has a row with the reason. The
 * script runs on all nodes at the same time, within the time limit of the statement.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "serve/sql/heapprof.h"
#include "serve/sql/sql_execute.h"

enum { LIMIT_S = 600, MAX_AT_ONCE = 16 };
static const char NOT_FOUND[] = "node not found";

struct job {
    struct sql_session *session;
    const char *script;
    uint64_t id;
    const struct cluster_node *node; /* NULL: no such node */
    int64_t deadline_ns;
    const struct sql_cancel *cancel;
    struct buf out;
};

struct jobs {
    struct job *items;
    size_t n_items, next;
    pthread_mutex_t lock;
};

/* The line of the output that reports the error. */
static void failure_of(const struct buf *out, char *text, size_t size)
{
    snprintf(text, size, "the script did not run to its end");
    for (const char *line = out->data, *end = out->data + out->len; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        size_t len = (size_t)((newline ? newline : end) - line);
        if (len > 15 && (!memcmp(line, "Runtime error: ", 15) || !memcmp(line, "Compile error: ", 15)))
            snprintf(text, size, "%.*s", (int)(len < size ? len : size - 1), line);
        line += len + 1;
    }
}

static void audit(const struct job *j, const char *failure)
{
    char target[32];
    snprintf(target, sizeof target, "%llu", (unsigned long long)j->id);
    sql_audit(j->session->cluster->cluster, j->session->user, j->session->peer, "execute", target, j->script,
              failure);
}

static void run_job(struct job *j)
{
    struct heapprof prof = {
        .cluster = j->session->cluster, .node = j->node, .deadline_ns = j->deadline_ns, .cancel = j->cancel};
    struct script_host host = heapprof_host(&prof);
    bool done = script_run(j->script, strlen(j->script), &host, &j->out);
    char failure[300];
    if (!done) failure_of(&j->out, failure, sizeof failure);
    audit(j, done ? NULL : failure);
}

static void *work(void *context)
{
    struct jobs *jobs = context;
    for (;;) {
        pthread_mutex_lock(&jobs->lock);
        size_t i = jobs->next < jobs->n_items ? jobs->next++ : SIZE_MAX;
        pthread_mutex_unlock(&jobs->lock);
        if (i == SIZE_MAX) return NULL;
        const struct sql_cancel *cancel = jobs->items[i].cancel;
        if (cancel && cancel->is_asked(cancel->context)) return NULL;
        if (jobs->items[i].node)
            run_job(&jobs->items[i]);
        else
            audit(&jobs->items[i], NOT_FOUND);
    }
}

static void run_jobs(struct job *items, size_t n)
{
    struct jobs jobs = {.items = items, .n_items = n, .lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_t threads[MAX_AT_ONCE];
    size_t n_threads = 0;
    while (n_threads + 1 < n && n_threads < MAX_AT_ONCE &&
           !pthread_create(&threads[n_threads], NULL, work, &jobs))
        n_threads++;
    work(&jobs); /* this thread works too, and does all the work when no other thread could start */
    while (n_threads) pthread_join(threads[--n_threads], NULL);
    pthread_mutex_destroy(&jobs.lock);
}

static int compare_ids(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static size_t add_id(uint64_t *ids, size_t n, uint64_t id)
{
    ids[n] = id;
    return n + 1;
}

/* The ids that the statement means, ascending, without repetition. */
static uint64_t *resolve(const struct sql_statement *st, const struct cluster_node *nodes, size_t n_nodes,
                         struct arena *arena, size_t *ret_n)
{
    uint64_t *ids = arena_array(arena, n_nodes + st->n_ids + 1, sizeof *ids);
    size_t n = 0;
    for (size_t i = 0; i < st->n_ids; i++) n = add_id(ids, n, st->ids[i]);
    for (size_t i = 0; i < n_nodes; i++) {
        bool leader = st->target == SQL_TARGET_FRONTEND && nodes[i].is_self;
        if (leader || (st->target == SQL_TARGET_ALL_BACKENDS && nodes[i].role == CLUSTER_BE) ||
            (st->target == SQL_TARGET_ALL_COMPUTE_NODES && nodes[i].role == CLUSTER_CN))
            n = add_id(ids, n, (uint64_t)nodes[i].id);
    }
    for (size_t i = 0; i < n_nodes && st->target == SQL_TARGET_FRONTEND && !n; i++)
        if (nodes[i].role == CLUSTER_FE) n = add_id(ids, n, (uint64_t)nodes[i].id);
    qsort(ids, n, sizeof *ids, compare_ids);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (!i || ids[i] != ids[i - 1]) ids[kept++] = ids[i];
    *ret_n = kept;
    return ids;
}

static void add_lines(struct sql_table *t, const char *text, size_t len)
{
    while (len && text[len - 1] == '\n') len--; /* trailing empty lines are dropped */
    for (size_t at = 0;;) {
        const char *end = memchr(text + at, '\n', len - at);
        size_t stop = end ? (size_t)(end - text) : len;
        sql_table_row(t)[0] = arena_strndup(t->arena, text + at, stop - at);
        if (!end) break;
        at = stop + 1;
    }
}

static void execute_on(struct sql_session *s, const struct sql_statement *st,
                       const struct cluster_node *nodes, size_t n_nodes, struct arena *arena,
                       struct sql_result *r)
{
    size_t n_ids;
    uint64_t *ids = resolve(st, nodes, n_nodes, arena, &n_ids);
    bool single = st->target == SQL_TARGET_FRONTEND || (st->target == SQL_TARGET_IDS && st->n_ids == 1);
    if (!n_ids) {
        sql_result_error(r, arena, SQL_ERROR_SYNTAX, "HY000", "no target nodes resolved for ADMIN EXECUTE");
        return;
    }
    struct job *jobs = arena_zalloc(arena, n_ids * sizeof *jobs);
    int64_t deadline_ns = clock_monotonic_ns() + LIMIT_S * 1000000000LL;
    for (size_t i = 0; i < n_ids; i++) {
        jobs[i] = (struct job){.session = s,
                               .script = st->script,
                               .id = ids[i],
                               .deadline_ns = deadline_ns,
                               .cancel = s->cancel.is_asked ? &s->cancel : NULL};
        for (size_t k = 0; k < n_nodes; k++)
            if ((uint64_t)nodes[k].id == ids[i]) jobs[i].node = &nodes[k];
    }
    if (single && !jobs[0].node) {
        audit(&jobs[0], NOT_FOUND);
        sql_result_error(r, arena, SQL_ERROR_SYNTAX, "HY000", "node not found: %llu",
                         (unsigned long long)ids[0]);
        return;
    }
    run_jobs(jobs, n_ids);
    r->kind = SQL_RESULT_TABLE;
    sql_table_init(&r->table, arena);
    sql_table_columns(&r->table, single ? "result" : "node_id,status,result");
    r->table.columns[r->table.n_columns - 1].is_long = true;
    for (size_t i = 0; i < n_ids; i++) {
        struct buf *out = &jobs[i].out;
        if (single) {
            add_lines(&r->table, out->data ? out->data : "", out->len);
        } else {
            const char **row = sql_table_row(&r->table);
            while (out->len && out->data[out->len - 1] == '\n') out->len--;
            row[0] = arena_printf(arena, "%llu", (unsigned long long)jobs[i].id);
            row[1] = jobs[i].node ? "OK" : "ERROR";
            row[2] = jobs[i].node ? arena_strndup(arena, out->data ? out->data : "", out->len) : NOT_FOUND;
        }
        buf_free(out);
    }
}

void sql_execute_script(struct sql_session *s, const struct sql_statement *st, struct arena *arena,
                        struct sql_result *r)
{
    struct cluster_node *nodes;
    size_t n_nodes = cluster_nodes(s->cluster->cluster, SQL_ALL_ROLES, &nodes);
    execute_on(s, st, nodes, n_nodes, arena, r);
    mem_free(nodes);
}
