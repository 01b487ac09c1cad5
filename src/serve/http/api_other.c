/* api_other.c - the files of the page, events, metrics, health; the body of a request. */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/mem.h"
#include "base/version.h"
#include "serve/http/api.h"
#include "serve/http/site.h"
#include "serve/http/web_files.h"

enum { MAX_BODY_FIELDS = 16, MAX_BODY_TEXT = 1024 };

static bool is_plain_object(const struct json_value *value)
{
    size_t n = 0;
    if (value->kind != JSON_OBJECT) return false;
    for (const struct json_value *item = value->items; item; item = item->next)
        if (item->kind == JSON_ARRAY || item->kind == JSON_OBJECT || ++n > MAX_BODY_FIELDS ||
            (item->text && strlen(item->text) > MAX_BODY_TEXT))
            return false;
    return true;
}

int api_body(struct http_request *q, struct arena *arena, struct json_value **ret_object, struct err *err)
{
    struct json_value *value;
    if (!json_read(q->body.data, q->body.len, arena, &value, err) && is_plain_object(value)) {
        *ret_object = value;
        return 0;
    }
    return err_set(err, ERR_INPUT, "the body must be a JSON object of plain values");
}

void api_page_file(struct http_request *q, struct http_answer *a)
{
    const struct web_file *f = web_file_find(q->path);
    if (!f) {
        http_error(a, 404, "there is no such page");
        return;
    }
    a->type = f->type;
    a->shared = f->gzip_data;
    a->shared_len = f->gzip_len;
    a->is_packed = true;
    a->may_keep = true;
    a->csp = WEB_CONTENT_SECURITY_POLICY;
    snprintf(a->etag, sizeof a->etag, "%s", f->etag);
}

void api_events(struct http_request *q, struct http_answer *a)
{
    events_listen(q->site->events, a);
}

static void family(struct buf *out, const char *name, const char *type, const char *help)
{
    buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void metric(struct buf *out, const char *name, const char *type, const char *help, double value)
{
    family(out, name, type, help);
    buf_printf(out, "%s %.17g\n", name, value);
}

static void label(struct buf *out, const char *name, const char *value)
{
    buf_printf(out, "%s=\"", name);
    for (; *value; value++) {
        if (*value == '\\' || *value == '"') buf_char(out, '\\');
        if (*value == '\n')
            buf_str(out, "\\n");
        else
            buf_char(out, *value);
    }
    buf_char(out, '"');
}

/* The state of each node and type, for alarms. */
static void node_metrics(struct site *site, struct buf *out)
{
    struct cluster_node *nodes;
    size_t n = cluster_nodes(site->cluster, ~0u, &nodes);
    family(out, "procprof_node_up", "gauge", "1: the node answers and can be profiled");
    for (size_t i = 0; i < n; i++) {
        buf_printf(out, "procprof_node_up{id=\"%d\",role=\"%s\",", nodes[i].id,
                   cluster_role_name(nodes[i].role));
        label(out, "host", nodes[i].host);
        buf_printf(out, "} %d\n", nodes[i].alive && !nodes[i].error[0]);
    }
    family(out, "procprof_capture_failures_total", "counter", "captures of a node and type that failed");
    for (size_t i = 0; i < n; i++) {
        struct collector_type types[PROFILE_N_TYPES];
        size_t n_types = collector_types(site->collector, nodes[i].id, types);
        for (size_t k = 0; k < n_types; k++)
            buf_printf(out, "procprof_capture_failures_total{id=\"%d\",type=\"%s\"} %llu\n", nodes[i].id,
                       profile_type_name(types[k].type), (unsigned long long)types[k].n_failed);
    }
    mem_free(nodes);
    family(out, "procprof_last_profile_timestamp_seconds", "gauge", "when the newest profile kept began");
    for (unsigned type = 0; type < PROFILE_N_TYPES; type++) {
        struct store_query newest = {.type_mask = 1u << type, .newest_of_each_node = true};
        struct store_profile *list;
        size_t n_list = store_list(site->store, &newest, &list, NULL);
        for (size_t i = 0; i < n_list; i++)
            buf_printf(out, "procprof_last_profile_timestamp_seconds{id=\"%d\",type=\"%s\"} %.3f\n",
                       list[i].node, profile_type_name(list[i].type), (double)list[i].time_ms / 1000);
        mem_free(list);
    }
}

void api_metrics(struct http_request *q, struct http_answer *a)
{
    struct site *site = q->site;
    struct store_state store;
    struct views_state views;
    struct rusage usage;
    store_state(site->store, &store);
    views_state(site->views, &views);
    getrusage(RUSAGE_SELF, &usage);
    struct buf *out = &a->body;
    a->type = "text/plain; version=0.0.4; charset=utf-8";
    buf_printf(out,
               "# HELP procprof_build_info version of the program\n# TYPE procprof_build_info "
               "gauge\nprocprof_build_info{version=\"%s\"} 1\n",
               PROCPROF_VERSION);
    metric(out, "procprof_profiles", "gauge", "profiles kept", (double)store.n_profiles);
    metric(out, "procprof_profile_bytes", "gauge", "bytes of all profiles and what was made from them",
           (double)store.bytes);
    metric(out, "procprof_profiles_published_total", "counter", "profiles written",
           (double)store.n_published);
    metric(out, "procprof_profiles_removed_total", "counter", "profiles removed by retention",
           (double)store.n_removed);
    metric(out, "procprof_profiles_remove_failed_total", "counter", "files that could not be deleted",
           (double)store.n_remove_failed);
    metric(out, "procprof_profiles_publish_failed_total", "counter", "profiles that could not be written",
           (double)store.n_publish_failed);
    metric(out, "procprof_view_cache_hits_total", "counter", "views found in memory", (double)views.n_hits);
    metric(out, "procprof_view_cache_misses_total", "counter", "views that were made",
           (double)views.n_misses);
    metric(out, "procprof_view_cache_bytes", "gauge", "bytes of views kept in memory", (double)views.bytes);
    metric(out, "procprof_http_requests_total", "counter", "HTTP requests",
           (double)__atomic_load_n(&site->n_requests, __ATOMIC_RELAXED));
    family(out, "procprof_http_errors_total", "counter", "HTTP answers of 400 and above");
    buf_printf(
        out, "procprof_http_errors_total{code=\"4xx\"} %llu\nprocprof_http_errors_total{code=\"5xx\"} %llu\n",
        (unsigned long long)__atomic_load_n(&site->n_client_errors, __ATOMIC_RELAXED),
        (unsigned long long)__atomic_load_n(&site->n_server_errors, __ATOMIC_RELAXED));
    metric(out, "process_cpu_seconds_total", "counter", "CPU time",
           (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
               (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
    metric(out, "process_max_resident_memory_bytes", "gauge", "largest resident size so far",
           (double)usage.ru_maxrss * 1024);
    metric(out, "process_start_time_seconds", "gauge", "when it started", (double)site->started_ms / 1000);
    if (!site->collector) return;
    collector_metrics(site->collector, out);
    node_metrics(site, out);
}

void api_healthz(struct http_request *q, struct http_answer *a)
{
    struct store_state store;
    store_state(q->site->store, &store);
    a->type = "text/plain; charset=utf-8";
    if (!store.problem[0]) {
        buf_str(&a->body, "ok\n");
        return;
    }
    a->status = 503;
    buf_printf(&a->body, "profiles cannot be written: %s\n", store.problem);
}
