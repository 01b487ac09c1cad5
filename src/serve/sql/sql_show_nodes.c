/* sql_show_nodes.c - SHOW BACKENDS, COMPUTE NODES and FRONTENDS. The columns, their order and the format of
 * values are StarRocks', so that scripts which read them by name or by position keep working. Values that
 * procprof cannot know (tablets, journals) are those of an empty StarRocks node. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "serve/sql/sql_schema.h"

const char *sql_time_text(struct arena *arena, int64_t time_s)
{
    char text[32];
    struct tm tm;
    time_t t = (time_t)time_s;
    if (!time_s || !localtime_r(&t, &tm)) return NULL;
    strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &tm);
    return arena_strdup(arena, text);
}

static const char *text_bool(bool b)
{
    return b ? "true" : "false";
}

static int compare_nodes(const void *a, const void *b)
{
    const struct cluster_node *x = a, *y = b;
    int order = strcmp(x->host, y->host);
    if (order) return order;
    char p[16], q[16]; /* compared as text, as StarRocks does */
    snprintf(p, sizeof p, "%d", x->be_port);
    snprintf(q, sizeof q, "%d", y->be_port);
    order = strcmp(p, q);
    return order ? order : (x->id > y->id) - (x->id < y->id);
}

static const char *status_code(const struct cluster_node *n)
{
    return n->alive ? "OK" : n->last_heartbeat_ms ? "DISCONNECTED" : "CONNECTING";
}

/* The first eleven columns are the same for backends and compute nodes. */
static size_t common_cells(struct arena *a, const struct cluster_node *n, const char **row)
{
    size_t i = 0;
    row[i++] = arena_printf(a, "%d", (int)n->id);
    row[i++] = arena_strdup(a, n->host);
    row[i++] = arena_printf(a, "%d", n->heartbeat_port ? n->heartbeat_port : n->port);
    row[i++] = arena_printf(a, "%d", n->be_port);
    row[i++] = arena_printf(a, "%d", n->http_port ? n->http_port : n->port);
    row[i++] = arena_printf(a, "%d", n->brpc_port ? n->brpc_port : n->port);
    row[i++] = sql_time_text(a, n->last_start_ms / 1000);
    row[i++] = sql_time_text(a, n->last_heartbeat_ms / 1000);
    row[i++] = text_bool(n->alive);
    row[i++] = "false";
    row[i++] = "false";
    return i;
}

static void backend_row(struct arena *a, const struct cluster_node *n, const char **row)
{
    size_t i = common_cells(a, n, row);
    const char *last_report = sql_time_text(a, n->last_heartbeat_ms / 1000);
    row[i++] = "0";
    row[i++] = "0.000 ";
    row[i++] = "0.000 ";
    row[i++] = "0.000 ";
    row[i++] = "0.00 %";
    row[i++] = "0.00 %";
    row[i++] = arena_strdup(a, n->error);
    row[i++] = arena_strdup(a, n->version);
    row[i++] =
        arena_printf(a, "{\"lastSuccessReportTabletsTime\":\"%s\"}", last_report ? last_report : "N/A");
    row[i++] = "0.000 ";
    row[i++] = "0.00 %";
    row[i++] = "0";
    row[i++] = "0.000";
    row[i++] = "0";
    row[i++] = "0.00 %";
    row[i++] = "0.0 %";
    row[i++] = "N/A";
    row[i++] = "";
    row[i++] = status_code(n);
}

static void compute_node_row(struct arena *a, const struct cluster_node *n, const char **row)
{
    size_t i = common_cells(a, n, row);
    row[i++] = arena_strdup(a, n->error);
    row[i++] = arena_strdup(a, n->version);
    row[i++] = "0";
    row[i++] = "0.000";
    row[i++] = "0";
    row[i++] = "0.00 %";
    row[i++] = "0.0 %";
    row[i++] = "N/A";
    row[i++] = "false";
    row[i++] = status_code(n);
}

static void frontend_row(struct arena *a, const struct cluster_node *n, const char **row)
{
    size_t i = 0;
    row[i++] = arena_printf(a, "%d", (int)n->id);
    row[i++] = arena_strdup(a, n->name);
    row[i++] = arena_strdup(a, n->host);
    row[i++] = arena_printf(a, "%d", n->edit_log_port);
    row[i++] = arena_printf(a, "%d", n->http_port ? n->http_port : n->port);
    row[i++] = arena_printf(a, "%d", n->query_port);
    row[i++] = arena_printf(a, "%d", n->rpc_port);
    row[i++] = n->is_self ? "LEADER" : "OBSERVER";
    row[i++] = "0";
    row[i++] = "true";
    row[i++] = text_bool(n->alive);
    row[i++] = "0";
    row[i++] = sql_time_text(a, n->last_heartbeat_ms / 1000);
    row[i++] = text_bool(n->is_self);
    row[i++] = arena_strdup(a, n->error);
    row[i++] = sql_time_text(a, n->last_start_ms / 1000);
    row[i++] = arena_strdup(a, n->version);
}

void sql_show_nodes(struct sql_session *s, const struct sql_statement *st, struct sql_table *t)
{
    static const struct {
        enum cluster_role role;
        const char *columns;
        void (*fill)(struct arena *a, const struct cluster_node *n, const char **row);
        size_t ip_column;
    } kinds[] = {[SQL_SHOW_BACKENDS] = {CLUSTER_BE, SQL_BACKEND_COLUMNS, backend_row, 1},
                 [SQL_SHOW_COMPUTE_NODES] = {CLUSTER_CN, SQL_COMPUTE_NODE_COLUMNS, compute_node_row, 1},
                 [SQL_SHOW_FRONTENDS] = {CLUSTER_FE, SQL_FRONTEND_COLUMNS, frontend_row, 2}};
    sql_table_columns(t, kinds[st->show].columns);
    t->like_column = kinds[st->show].ip_column;
    struct cluster_node *nodes;
    size_t n_nodes = cluster_nodes(s->cluster->cluster, 1u << kinds[st->show].role, &nodes);
    if (n_nodes) qsort(nodes, n_nodes, sizeof *nodes, compare_nodes);
    for (size_t i = 0; i < n_nodes; i++) kinds[st->show].fill(t->arena, &nodes[i], sql_table_row(t));
    mem_free(nodes);
}
