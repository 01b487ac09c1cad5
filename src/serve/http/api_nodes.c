/* api_nodes.c - nodes and their types, captures on request, settings. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "serve/http/api.h"
#include "serve/http/site.h"

static bool no_nodes(struct http_request *q, struct http_answer *a)
{
    if (q->site->cluster) return false;
    http_error(a, 404, "there are no nodes: this page shows files");
    return true;
}

static void audit(struct http_request *q, int bad, const struct err *err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static void audit(struct http_request *q, int bad, const struct err *err, const char *format, ...)
{
    char what[300];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    cluster_audit(q->site->cluster, q->user, q->peer, bad ? "failed" : "ok", bad ? err->text : NULL, "%s",
                  what);
}

/* ---- nodes ---- */

static void type_json(const struct collector_type *t, struct buf *out)
{
    buf_printf(out,
               "{\"type\":\"%s\",\"enabled\":%s,\"interval_s\":%lld,\"duration_s\":%lld,\"next_ms\":%lld,"
               "\"last_ms\":%lld,"
               "\"backoff_until_ms\":%lld,\"failures\":%u,\"running\":%s,\"error\":",
               profile_type_name(t->type), t->enabled ? "true" : "false", (long long)t->interval_s,
               (long long)t->duration_s, (long long)t->next_ms, (long long)t->last_ms,
               (long long)t->backoff_until_ms, t->failures, t->running ? "true" : "false");
    buf_json(out, t->error, strlen(t->error));
    buf_char(out, '}');
}

static void field(struct buf *out, const char *key, const char *value)
{
    buf_printf(out, ",\"%s\":", key);
    buf_json(out, value, strlen(value));
}

static void node_json(struct site *site, const struct cluster_node *n, struct buf *out)
{
    struct collector_type types[PROFILE_N_TYPES];
    buf_printf(out, "{\"id\":%d,\"role\":\"%s\"", n->id, cluster_role_name(n->role));
    field(out, "name", n->name);
    field(out, "host", n->host);
    buf_printf(
        out, ",\"port\":%u,\"http_port\":%u,\"brpc_port\":%u,\"alive\":%s,\"last_seen_ms\":%lld,\"self\":%s",
        n->port, n->http_port, n->brpc_port, n->alive ? "true" : "false", (long long)n->last_heartbeat_ms,
        n->is_self ? "true" : "false");
    field(out, "error", n->error);
    field(out, "version", n->version);
    buf_str(out, ",\"types\":[");
    size_t n_types = collector_types(site->collector, n->id, types);
    for (size_t i = 0; i < n_types; i++) {
        if (i) buf_char(out, ',');
        type_json(&types[i], out);
    }
    buf_str(out, "]}");
}

void api_nodes(struct http_request *q, struct http_answer *a)
{
    if (!q->site->cluster) {
        buf_str(&a->body, "{\"nodes\":[]}");
        return;
    }
    struct cluster_node *nodes;
    size_t n = cluster_nodes(q->site->cluster, ~0u, &nodes);
    buf_str(&a->body, "{\"nodes\":[");
    for (size_t i = 0; i < n; i++) {
        if (i) buf_char(&a->body, ',');
        node_json(q->site, &nodes[i], &a->body);
    }
    buf_str(&a->body, "]}");
    mem_free(nodes);
}

static bool take_text(const struct json_value *o, const char *key, char *into, size_t size)
{
    const char *text = json_text(o, key);
    if (!text) return !json_member(o, key);
    if (strlen(text) >= size) return false;
    snprintf(into, size, "%s", text);
    return true;
}

static bool take_port(const struct json_value *o, const char *key, uint16_t *into)
{
    double number;
    if (!json_number(o, key, &number)) return !json_member(o, key);
    if (!(number >= 1 && number <= 65535) || number != (double)(uint16_t)number) return false;
    *into = (uint16_t)number;
    return true;
}

void api_node_add(struct http_request *q, struct http_answer *a)
{
    if (no_nodes(q, a)) return;
    struct arena arena = {0};
    struct json_value *o = NULL;
    struct err err = {0};
    struct cluster_node n = {0};
    char role[8] = "";
    int32_t id = 0;
    int bad = api_body(q, &arena, &o, &err);
    bool good = !bad && take_text(o, "role", role, sizeof role) &&
                take_text(o, "host", n.host, sizeof n.host) && take_text(o, "name", n.name, sizeof n.name) &&
                take_text(o, "token", n.token, sizeof n.token) &&
                take_text(o, "jvm", n.jvm_match, sizeof n.jvm_match) && take_port(o, "port", &n.port) &&
                take_port(o, "http_port", &n.http_port) && take_port(o, "brpc_port", &n.brpc_port);
    arena_free(&arena);
    int r = 0;
    while (r < CLUSTER_N_ROLES && strcasecmp(role, cluster_role_name((enum cluster_role)r))) r++;
    if (bad) {
        http_error_err(a, bad, &err);
        return;
    }
    if (!good || r == CLUSTER_N_ROLES || !n.host[0]) {
        http_error(a, 400, "role (FE, BE, CN), host and port are needed; ports are 1 to 65535");
        return;
    }
    n.role = (enum cluster_role)r;
    bad = cluster_node_add(q->site->cluster, &n, &id, &err);
    audit(q, bad, &err, "add node %s %s:%u", role, n.host, n.port);
    if (bad)
        http_error_err(a, bad, &err);
    else
        buf_printf(&a->body, "{\"id\":%d}", id);
}

void api_node_drop(struct http_request *q, struct http_answer *a)
{
    if (no_nodes(q, a)) return;
    struct err err = {0};
    int bad = cluster_node_drop(q->site->cluster, (int32_t)q->number[0], &err);
    audit(q, bad, &err, "drop node %d", (int)q->number[0]);
    if (bad)
        http_error_err(a, bad, &err);
    else
        buf_str(&a->body, "{}");
}

void api_node_type(struct http_request *q, struct http_answer *a)
{
    if (no_nodes(q, a)) return;
    struct arena arena = {0};
    struct json_value *o = NULL;
    struct err err = {0};
    enum profile_type type;
    bool enabled = false;
    int bad = api_body(q, &arena, &o, &err);
    bool given = !bad && json_bool(o, "enabled", &enabled);
    arena_free(&arena);
    if (bad || !given) {
        http_error(a, 400, "{\"enabled\":true} or {\"enabled\":false} is needed");
        return;
    }
    if (!profile_type_parse(q->word, &type)) {
        http_error(a, 404, "no such type: cpu, mem, heap, contention or wall");
        return;
    }
    struct collector_type state;
    bad = collector_switch(q->site->collector, (int32_t)q->number[0], type, enabled, &state, &err);
    audit(q, bad, &err, "%s %s of node %d", enabled ? "enable" : "disable", q->word, (int)q->number[0]);
    if (bad)
        http_error_err(a, bad, &err);
    else
        type_json(&state, &a->body);
}

/* ---- captures on request ---- */

void api_collect(struct http_request *q, struct http_answer *a)
{
    if (no_nodes(q, a)) return;
    struct arena arena = {0};
    struct json_value *o = NULL;
    struct err err = {0};
    double node = 0, seconds = 10;
    enum profile_type type = PROFILE_CPU;
    int64_t job;
    int bad = api_body(q, &arena, &o, &err);
    const char *type_text = json_text(o, "type");
    bool good = !bad && json_number(o, "node", &node) && node >= 1 && node < 2147483647 &&
                (json_number(o, "seconds", &seconds) || !json_member(o, "seconds")) && type_text &&
                profile_type_parse(type_text, &type);
    arena_free(&arena);
    if (!good) {
        http_error(a, 400, "node (a number), type (cpu, mem, heap, contention, wall) and seconds are needed");
        return;
    }
    bad = collector_collect(q->site->collector, (int32_t)node, type, seconds, &job, &err);
    audit(q, bad, &err, "collect %s of node %d for %g s", profile_type_name(type), (int)node, seconds);
    if (bad)
        http_error_err(a, bad, &err);
    else
        buf_printf(&a->body, "{\"job\":%lld}", (long long)job);
}

void api_job_json(struct site *site, int64_t id, struct buf *out)
{
    static const char *const states[] = {"waiting", "running", "done", "failed"};
    struct collector_job j;
    if (collector_job(site->collector, id, &j)) return;
    buf_printf(
        out,
        "{\"id\":%lld,\"node\":%d,\"type\":\"%s\",\"state\":\"%s\",\"progress\":%.3f,\"elapsed_ms\":%lld,"
        "\"seconds\":%g,\"profile_id\":%lld,\"error\":",
        (long long)j.id, j.node, profile_type_name(j.type), states[j.state], j.progress,
        (long long)j.elapsed_ms, j.seconds, (long long)j.profile_id);
    buf_json(out, j.error, strlen(j.error));
    buf_char(out, '}');
}

void api_job(struct http_request *q, struct http_answer *a)
{
    if (no_nodes(q, a)) return;
    api_job_json(q->site, q->number[0], &a->body);
    if (!a->body.len) http_error(a, 404, "no such job; jobs are kept for an hour");
}

/* ---- settings ---- */

void api_settings(struct http_request *q, struct http_answer *a)
{
    if (no_nodes(q, a)) return;
    struct cluster_setting *all;
    size_t n = cluster_settings(q->site->cluster, &all);
    buf_str(&a->body, "{\"settings\":[");
    for (size_t i = 0; i < n; i++) {
        buf_printf(&a->body, "%s{\"mutable\":%s", i ? "," : "", all[i].is_mutable ? "true" : "false");
        field(&a->body, "key", all[i].key);
        field(&a->body, "value", all[i].value);
        field(&a->body, "type", all[i].type);
        field(&a->body, "comment", all[i].comment);
        buf_char(&a->body, '}');
    }
    buf_str(&a->body, "]}");
    cluster_settings_free(all, n);
}

void api_setting_set(struct http_request *q, struct http_answer *a)
{
    if (no_nodes(q, a)) return;
    struct arena arena = {0};
    struct json_value *o = NULL;
    struct err err = {0};
    int bad = api_body(q, &arena, &o, &err);
    const char *key = json_text(o, "key"), *value = json_text(o, "value");
    if (!key || !value) {
        http_error(a, 400, "key and value (both text) are needed");
    } else {
        bad = cluster_setting_set(q->site->cluster, key, value, true, &err);
        audit(q, bad, &err, "set %.60s = %.100s", key, value);
        if (bad)
            http_error_err(a, bad, &err);
        else
            buf_str(&a->body, "{}");
    }
    arena_free(&arena);
}

void api_failures(struct http_request *q, struct http_answer *a)
{
    struct collector_failure *list = mem_array(COLLECTOR_MAX_FAILURES, sizeof *list);
    size_t n = q->site->collector ? collector_failures(q->site->collector, list) : 0;
    buf_str(&a->body, "{\"failures\":[");
    for (size_t i = 0; i < n; i++) {
        buf_printf(&a->body, "%s{\"time_ms\":%lld,\"node\":%d,\"type\":\"%s\",\"requested\":%s,\"error\":",
                   i ? "," : "", (long long)list[i].time_ms, list[i].node, profile_type_name(list[i].type),
                   list[i].is_job ? "true" : "false");
        buf_json(&a->body, list[i].error, strlen(list[i].error));
        buf_char(&a->body, '}');
    }
    buf_str(&a->body, "]}");
    mem_free(list);
}
