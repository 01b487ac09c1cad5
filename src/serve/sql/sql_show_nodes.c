/* sql_show_nodes.c - SHOW BACKENDS, COMPUTE NODES, FRONTENDS: the columns, their order and the look of each
 * value are StarRocks', so that scripts that cut them out by name or by number go on working. What procprof
 * cannot know (tablets, journals) is shown as StarRocks shows an empty node. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

/* 25.122 GB: three decimals, 1024-based; without the space for MemLimit. Nothing at all has no unit. */
static const char *text_bytes(struct arena *arena, int64_t bytes, const char *space)
{
    static const char *const units[] = {"B", "KB", "MB", "GB", "TB", "PB"};
    double value = (double)bytes;
    size_t unit = 0;
    while (value > 1024 && unit < 5) {
        value /= 1024;
        unit++;
    }
    return arena_printf(arena, "%.3f%s%s", value, space, bytes ? units[unit] : "");
}

static const char *text_pct(struct arena *arena, double pct, int decimals)
{
    return arena_printf(arena, "%.*f %%", decimals, pct < 0 ? 0 : pct);
}

static const char *text_bool(bool b)
{
    return b ? "true" : "false";
}

static int compare_nodes(const void *a, const void *b, void *context)
{
    (void)context;
    const struct sql_node *x = a, *y = b;
    int order = strcmp(x->host, y->host);
    if (order) return order;
    char p[16], q[16]; /* by the text of the port, as StarRocks does */
    snprintf(p, sizeof p, "%d", x->be_port);
    snprintf(q, sizeof q, "%d", y->be_port);
    order = strcmp(p, q);
    return order ? order : (x->id > y->id) - (x->id < y->id);
}

static const char *status_code(const struct sql_node *n)
{
    return n->alive ? "OK" : n->heartbeat_time_s ? "DISCONNECTED" : "CONNECTING";
}

/* The first eleven columns are the same for backends and compute nodes. */
static size_t common_cells(struct arena *a, const struct sql_node *n, const char **row)
{
    size_t i = 0;
    row[i++] = arena_printf(a, "%llu", (unsigned long long)n->id);
    row[i++] = n->host;
    row[i++] = arena_printf(a, "%d", n->heartbeat_port);
    row[i++] = arena_printf(a, "%d", n->be_port);
    row[i++] = arena_printf(a, "%d", n->http_port);
    row[i++] = arena_printf(a, "%d", n->brpc_port);
    row[i++] = sql_time_text(a, n->start_time_s);
    row[i++] = sql_time_text(a, n->heartbeat_time_s);
    row[i++] = text_bool(n->alive);
    row[i++] = "false";
    row[i++] = "false";
    return i;
}

static void backend_row(struct arena *a, const struct sql_node *n, const char **row)
{
    size_t i = common_cells(a, n, row);
    double used_pct =
        n->total_bytes ? 100.0 * (double)(n->total_bytes - n->avail_bytes) / (double)n->total_bytes : 0;
    const char *last_report = sql_time_text(a, n->heartbeat_time_s);
    row[i++] = "0";
    row[i++] = text_bytes(a, n->data_used_bytes, " ");
    row[i++] = text_bytes(a, n->avail_bytes, " ");
    row[i++] = text_bytes(a, n->total_bytes, " ");
    row[i++] = text_pct(a, used_pct, 2);
    row[i++] = text_pct(a, used_pct, 2);
    row[i++] = n->error;
    row[i++] = n->version;
    row[i++] =
        arena_printf(a, "{\"lastSuccessReportTabletsTime\":\"%s\"}", last_report ? last_report : "N/A");
    row[i++] = text_bytes(a, n->data_used_bytes + n->avail_bytes, " ");
    row[i++] =
        text_pct(a,
                 n->data_used_bytes + n->avail_bytes
                     ? 100.0 * (double)n->data_used_bytes / (double)(n->data_used_bytes + n->avail_bytes)
                     : 0,
                 2);
    row[i++] = arena_printf(a, "%d", n->n_cores);
    row[i++] = text_bytes(a, n->mem_limit_bytes, "");
    row[i++] = "0";
    row[i++] = text_pct(a, n->mem_used_pct, 2);
    row[i++] = text_pct(a, n->cpu_used_pct, 1);
    row[i++] = "N/A";
    row[i++] = "";
    row[i++] = status_code(n);
}

static void compute_node_row(struct arena *a, const struct sql_node *n, const char **row)
{
    size_t i = common_cells(a, n, row);
    row[i++] = n->error;
    row[i++] = n->version;
    row[i++] = arena_printf(a, "%d", n->n_cores);
    row[i++] = text_bytes(a, n->mem_limit_bytes, "");
    row[i++] = "0";
    row[i++] = text_pct(a, n->mem_used_pct, 2);
    row[i++] = text_pct(a, n->cpu_used_pct, 1);
    row[i++] = "N/A";
    row[i++] = "false";
    row[i++] = status_code(n);
}

static void frontend_row(struct arena *a, const struct sql_node *n, const char **row)
{
    size_t i = 0;
    row[i++] = arena_printf(a, "%llu", (unsigned long long)n->id);
    row[i++] = n->name;
    row[i++] = n->host;
    row[i++] = arena_printf(a, "%d", n->edit_log_port);
    row[i++] = arena_printf(a, "%d", n->http_port);
    row[i++] = arena_printf(a, "%d", n->query_port);
    row[i++] = arena_printf(a, "%d", n->rpc_port);
    row[i++] = n->is_leader ? "LEADER" : "OBSERVER";
    row[i++] = "0";
    row[i++] = "true";
    row[i++] = text_bool(n->alive);
    row[i++] = "0";
    row[i++] = sql_time_text(a, n->heartbeat_time_s);
    row[i++] = text_bool(n->is_leader);
    row[i++] = n->error;
    row[i++] = sql_time_text(a, n->start_time_s);
    row[i++] = n->version;
}

int sql_show_nodes(struct sql_session *s, const struct sql_statement *st, struct sql_table *t,
                   struct err *err)
{
    enum sql_node_kind kind = st->show == SQL_SHOW_BACKENDS        ? SQL_BACKEND
                              : st->show == SQL_SHOW_COMPUTE_NODES ? SQL_COMPUTE_NODE
                                                                   : SQL_FRONTEND;
    sql_table_columns(t, kind == SQL_BACKEND        ? SQL_BACKEND_COLUMNS
                         : kind == SQL_COMPUTE_NODE ? SQL_COMPUTE_NODE_COLUMNS
                                                    : SQL_FRONTEND_COLUMNS);
    t->like_column = kind == SQL_FRONTEND ? 2 : 1; /* IP */
    struct sql_node *nodes;
    size_t n_nodes;
    int rc = s->backend->nodes(s->backend->context, t->arena, &nodes, &n_nodes, err);
    if (rc) return rc;
    qsort_r(nodes, n_nodes, sizeof *nodes, compare_nodes, NULL);
    for (size_t i = 0; i < n_nodes; i++) {
        if (nodes[i].kind != kind) continue;
        const char **row = sql_table_row(t);
        if (kind == SQL_BACKEND)
            backend_row(t->arena, &nodes[i], row);
        else if (kind == SQL_COMPUTE_NODE)
            compute_node_row(t->arena, &nodes[i], row);
        else
            frontend_row(t->arena, &nodes[i], row);
    }
    return 0;
}
