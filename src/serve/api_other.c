/* api_other.c - the page's own files, events, metrics, health. */
#include <stdio.h>
#include <sys/resource.h>

#include "serve/api.h"
#include "serve/site.h"
#include "serve/web_files.h"

void api_page_file(struct http_request *q, struct http_answer *a)
{
    const struct web_file *f = web_file_find(q->path);
    if (!f) {
        http_error(a, 404, "there is no such address");
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

static void metric(struct buf *out, const char *name, const char *type, const char *help, double value)
{
    buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n%s %.17g\n", name, help, name, type, name, value);
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
               site->version);
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
    metric(out, "procprof_http_errors_total", "counter", "HTTP answers of 500 and above",
           (double)__atomic_load_n(&site->n_errors, __ATOMIC_RELAXED));
    metric(out, "process_cpu_seconds_total", "counter", "CPU time",
           (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
               (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
    metric(out, "process_max_resident_memory_bytes", "gauge", "largest resident size so far",
           (double)usage.ru_maxrss * 1024);
    metric(out, "process_start_time_seconds", "gauge", "when it started", (double)site->started_ms / 1000);
    if (site->collector) collector_metrics(site->collector, out);
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
