/* api_profiles.c - lists of profiles and their views. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "serve/http/api.h"
#include "serve/http/site.h"

enum { MAX_IDS = 1000, MAX_MERGED = 2000, MAX_LIST = 10000, MAX_BUCKETS = 2000 };

bool api_parse_ids(const char *text, size_t max, int64_t **ret_ids, size_t *ret_n)
{
    int64_t *ids = NULL;
    size_t n = 0, cap = 0;
    for (const char *p = text;; p++) {
        char *end;
        errno = 0;
        long long id = *p >= '0' && *p <= '9' ? strtoll(p, &end, 10) : -1;
        if (id < 0 || errno || (*end && *end != ',') || n >= max) {
            mem_free(ids);
            return false;
        }
        *VEC_PUSH(ids, n, cap) = id;
        if (!*end) break;
        p = end;
    }
    *ret_ids = ids;
    *ret_n = n;
    return true;
}

static const char *prefixed(struct http_request *q, const char *prefix, const char *name,
                            const char *fallback_prefix)
{
    char key[40];
    snprintf(key, sizeof key, "%s%s", prefix, name);
    const char *value = http_query(q, key);
    return (!value || !*value) && fallback_prefix ? http_query(q, name) : value;
}

static bool parse_time(const char *text, int64_t *value)
{
    return !text || !*text || text_to_int(text, 0, INT64_MAX, value);
}

/* Reads nodes, type and times of a query. The caller frees *ret_nodes with mem_free. */
static bool parse_query(struct http_request *q, struct http_answer *a, const char *prefix,
                        struct store_query *query, int32_t **ret_nodes)
{
    const char *node = prefixed(q, prefix, "node", "x"), *type = prefixed(q, prefix, "type", "x");
    *ret_nodes = NULL;
    if (node && *node) {
        int64_t *ids;
        size_t n;
        if (!api_parse_ids(node, CLUSTER_MAX_NODES, &ids, &n)) {
            http_error(a, 400, "%snode must be numbers separated by commas", prefix);
            return false;
        }
        *ret_nodes = mem_array(n, sizeof **ret_nodes);
        for (size_t i = 0; i < n; i++) (*ret_nodes)[i] = (int32_t)ids[i];
        mem_free(ids);
        query->nodes = *ret_nodes;
        query->n_nodes = n;
    }
    enum profile_type t;
    if (type && *type) {
        if (!profile_type_parse(type, &t)) {
            http_error(a, 400, "%stype must be cpu, mem, heap, contention or wall", prefix);
            return false;
        }
        query->type_mask = 1u << t;
    }
    bool good = parse_time(prefixed(q, prefix, "from_ms", NULL), &query->from_ms) &&
                parse_time(prefixed(q, prefix, "to_ms", NULL), &query->to_ms);
    if (!good) http_error(a, 400, "%sfrom_ms and %sto_ms must be milliseconds since 1970", prefix, prefix);
    return good;
}

bool api_select(struct http_request *q, struct http_answer *a, const char *prefix,
                struct store_profile **ret_list, size_t *ret_n, size_t *ret_dropped)
{
    struct store *store = q->site->store;
    char key[24];
    *ret_list = NULL;
    *ret_n = *ret_dropped = 0;
    snprintf(key, sizeof key, "%sids", prefix);
    const char *ids_text = http_query(q, key);
    if (ids_text && *ids_text) {
        int64_t *ids;
        size_t n;
        if (!api_parse_ids(ids_text, MAX_IDS, &ids, &n)) {
            http_error(a, 400, "%s must be at most %d numbers separated by commas", key, MAX_IDS);
            return false;
        }
        *ret_n = store_get_many(store, ids, n, ret_list);
        mem_free(ids);
        if (*ret_n) return true;
        http_error(a, 404, "no such profile: it may have been removed by retention");
        return false;
    }
    const char *from = prefixed(q, prefix, "from_ms", NULL), *to = prefixed(q, prefix, "to_ms", NULL),
               *node = prefixed(q, prefix, "node", NULL), *type = prefixed(q, prefix, "type", NULL);
    bool any = (from && *from) || (to && *to) || (!*prefix && ((node && *node) || (type && *type)));
    if (!any) return true;
    struct store_query query = {.limit = MAX_MERGED};
    int32_t *nodes;
    bool good = parse_query(q, a, prefix, &query, &nodes);
    if (good && !query.type_mask) {
        http_error(a, 400, "a time range needs a type");
        good = false;
    }
    if (good) {
        size_t total;
        query.newest_of_each_node = query.type_mask == 1u << PROFILE_HEAP;
        *ret_n = store_list(store, &query, ret_list, &total);
        *ret_dropped = total - *ret_n;
        size_t n = 0; /* pages without data cannot be merged */
        for (size_t i = 0; i < *ret_n; i++)
            if ((*ret_list)[i].has_data) (*ret_list)[n++] = (*ret_list)[i];
        *ret_n = n;
    }
    mem_free(nodes);
    return good;
}

/* ---- lists ---- */

/* Writes nothing while the total is not known. */
static void total_json(const struct store_total *total, struct buf *out)
{
    if (!*total->type) return;
    buf_printf(out, "\"total\":%lld,\"total_type\":", (long long)total->value);
    buf_json(out, total->type, strlen(total->type));
    buf_char(out, ',');
}

static void profile_json(struct site *site, const struct store_profile *p, struct buf *out)
{
    const char *file = site->file_names && p->id >= 1 && (size_t)p->id <= site->n_file_names
                           ? site->file_names[p->id - 1]
                           : p->file;
    buf_printf(
        out,
        "{\"id\":%lld,\"node\":%d,\"type\":\"%s\",\"time_ms\":%lld,\"duration_ms\":%lld,\"size_bytes\":%lld,"
        "\"samples\":%lld,\"file\":",
        (long long)p->id, p->node, profile_type_name(p->type), (long long)p->time_ms,
        (long long)p->duration_ms, (long long)p->size_bytes, (long long)p->samples);
    buf_json(out, file, strlen(file));
    buf_str(out, ",\"sample_types\":[");
    const char *at = p->sample_types;
    while (*at) {
        size_t n = strcspn(at, ",");
        if (at != p->sample_types) buf_char(out, ',');
        buf_json(out, at, n);
        at += n + (at[n] == ',');
    }
    buf_str(out, "],");
    total_json(&p->total, out);
    buf_printf(out, "\"has_data\":%s}", p->has_data ? "true" : "false");
}

void api_profiles(struct http_request *q, struct http_answer *a)
{
    int64_t limit = 200, before = 0;
    struct store_query query = {0};
    int32_t *nodes = NULL;
    if (!http_query_int(q, a, "limit", 1, MAX_LIST, &limit) ||
        !http_query_int(q, a, "before", 0, INT64_MAX, &before))
        return;
    if (parse_query(q, a, "", &query, &nodes)) {
        query.limit = (size_t)limit + 1;
        query.before_id = before;
        struct store_profile *list;
        size_t total, n = store_list(q->site->store, &query, &list, &total);
        bool more = n > (size_t)limit;
        if (more) n = (size_t)limit;
        buf_str(&a->body, "{\"profiles\":[");
        for (size_t i = 0; i < n; i++) {
            if (i) buf_char(&a->body, ',');
            profile_json(q->site, &list[i], &a->body);
        }
        buf_printf(&a->body, "],\"total\":%zu,\"more\":%s}", total, more ? "true" : "false");
        mem_free(list);
    }
    mem_free(nodes);
}

void api_timeline(struct http_request *q, struct http_answer *a)
{
    struct store_query query = {0};
    int32_t *nodes = NULL;
    int64_t buckets = 120;
    if (!http_query_int(q, a, "buckets", 1, MAX_BUCKETS, &buckets)) return;
    if (!parse_query(q, a, "", &query, &nodes)) {
        mem_free(nodes);
        return;
    }
    if (!query.to_ms || !query.from_ms) { /* a missing bound means all profiles */
        int64_t first_ms = 0, last_ms = 0;
        store_span(q->site->store, &query, &first_ms, &last_ms);
        if (!query.to_ms) query.to_ms = last_ms + 1;
        if (!query.from_ms) query.from_ms = first_ms;
    }
    int64_t bucket_ms = (query.to_ms - query.from_ms + buckets - 1) / buckets;
    if (bucket_ms < 1) bucket_ms = 1;
    struct store_bucket *list;
    size_t n = store_timeline(q->site->store, &query, bucket_ms, &list);
    buf_printf(&a->body, "{\"from_ms\":%lld,\"to_ms\":%lld,\"bucket_ms\":%lld,\"series\":[",
               (long long)query.from_ms, (long long)query.to_ms, (long long)bucket_ms);
    for (size_t i = 0; i < n; i++) {
        bool is_new = !i || list[i].node != list[i - 1].node || list[i].type != list[i - 1].type;
        if (is_new)
            buf_printf(&a->body, "%s{\"node\":%d,\"type\":\"%s\",\"buckets\":[", i ? "]}," : "", list[i].node,
                       profile_type_name(list[i].type));
        buf_printf(&a->body, "%s{\"t_ms\":%lld,\"profiles\":%lld,\"samples\":%lld,", is_new ? "" : ",",
                   (long long)list[i].t_ms, (long long)list[i].profiles, (long long)list[i].samples);
        total_json(&list[i].total, &a->body);
        buf_printf(&a->body, "\"bytes\":%lld}", (long long)list[i].bytes);
    }
    buf_str(&a->body, n ? "]}]}" : "]}");
    mem_free(list);
    mem_free(nodes);
}

void api_raw(struct http_request *q, struct http_answer *a)
{
    struct store_profile p;
    if (store_get(q->site->store, q->number[0], &p)) {
        http_error(a, 404, "no such profile: it may have been removed by retention");
        return;
    }
    char *path = store_path(q->site->store, p.node, p.file);
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    mem_free(path);
    if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode)) {
        if (fd >= 0) close(fd);
        http_error(a, errno == ENOENT ? 404 : 500, "cannot read %s", p.file);
        return;
    }
    a->fd = fd;
    a->fd_len = (uint64_t)st.st_size;
    a->type = "application/octet-stream";
    a->may_keep = true;
    snprintf(a->etag, sizeof a->etag, "\"%llx-%llx\"", (unsigned long long)p.id,
             (unsigned long long)st.st_size);
    http_add_header(a, "Content-Disposition", "attachment; filename=\"%s\"", p.file);
}

/* ---- views ---- */

struct held {
    struct views *views;
    const struct view *view;
};

static void let_go(void *context)
{
    struct held *h = context;
    view_done(h->views, h->view);
    mem_free(h);
}

static void send_view(struct http_request *q, struct http_answer *a, enum view_kind kind,
                      const char *function, size_t n_rows, bool as_file)
{
    struct store_profile *list = NULL, *base = NULL;
    size_t n = 0, n_base = 0, dropped = 0, base_dropped = 0;
    if (!api_select(q, a, "", &list, &n, &dropped) ||
        !api_select(q, a, "base_", &base, &n_base, &base_dropped)) {
        mem_free(list);
        mem_free(base);
        return;
    }
    const char *sample = http_query(q, "sample");
    struct view_request r = {.kind = kind,
                             .profiles = list,
                             .n_profiles = n,
                             .base = base,
                             .n_base = n_base,
                             .sample = sample && *sample ? sample : NULL,
                             .function = function,
                             .n_rows = n_rows};
    bool base_named =
        http_query(q, "base_ids") || http_query(q, "base_from_ms") || http_query(q, "base_to_ms");
    if (!n) {
        http_error(a, 404, "the request selects no profile");
    } else if (base_named && !n_base) {
        http_error(a, 404, "the request selects no profile to compare with");
    } else {
        char tag[33];
        view_tag(&r, tag);
        snprintf(a->etag, sizeof a->etag, "\"%s\"", tag);
        a->may_keep = true;
        a->type = view_content_type(kind);
        http_add_header(a, "X-Procprof-Profiles", "%zu", n);
        http_add_header(a, "X-Procprof-Dropped", "%zu", dropped);
        if (as_file)
            http_add_header(a, "Content-Disposition", "attachment; filename=\"%s-%s%s.%s\"",
                            profile_type_name(list[0].type), list[0].stamp, n > 1 ? "-merged" : "",
                            view_file_ending(kind));
        const char *known = http_header(q, "If-None-Match");
        if (!known || !strstr(known, a->etag)) { /* otherwise http.c answers 304 and no view is needed */
            const struct view *view;
            struct err err = {0};
            int bad = views_get(q->site->views, &r, &view, &err);
            if (bad) {
                a->n_headers = 0;
                http_error_err(a, bad, &err);
            } else {
                struct held *h = mem_zalloc(sizeof *h);
                *h = (struct held){q->site->views, view};
                a->shared = view->data;
                a->shared_len = view->len;
                a->is_packed = view->is_packed;
                if (kind == VIEW_PPROF && view->is_packed) { /* the format .pb.gz is gzip itself */
                    a->is_packed = false;
                    a->packed_file = true;
                }
                a->release = let_go;
                a->release_context = h;
            }
        }
    }
    mem_free(list);
    mem_free(base);
}

void api_flame(struct http_request *q, struct http_answer *a)
{
    send_view(q, a, VIEW_FLAME, NULL, 0, false);
}

void api_top(struct http_request *q, struct http_answer *a)
{
    int64_t n = 100;
    if (http_query_int(q, a, "n", 1, 100000, &n)) send_view(q, a, VIEW_TOP, NULL, (size_t)n, false);
}

void api_dot(struct http_request *q, struct http_answer *a)
{
    send_view(q, a, VIEW_DOT, NULL, 0, false);
}

void api_source(struct http_request *q, struct http_answer *a)
{
    const char *function = http_query(q, "function");
    if (!function || !*function || strlen(function) > 4096)
        http_error(a, 400, "function must be a regular expression");
    else
        send_view(q, a, VIEW_SOURCE, function, 0, false);
}

void api_export(struct http_request *q, struct http_answer *a)
{
    const char *format = http_query(q, "format");
    enum view_kind kind;
    if (!format || !view_export_parse(format, &kind)) {
        http_error(a, 400, "format must be pprof, folded, svg, html, csv or speedscope");
        return;
    }
    send_view(q, a, kind, NULL, 0, true);
    if (!a->status &&
        kind ==
            VIEW_HTML) /* the browser may open the file instead of saving it, and its script must run then */
        a->csp = "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src "
                 "'unsafe-inline'; img-src data: blob:";
    if (!a->status && kind == VIEW_SVG)
        a->csp = "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src "
                 "'unsafe-inline'";
}

void api_open(struct http_request *q, struct http_answer *a)
{
    const char *name = http_query(q, "name"), *format = http_query(q, "format");
    struct err err = {0};
    enum view_kind kind = VIEW_FLAME;
    if (!q->body.len) {
        http_error(a, 400, "the body must be a profile");
        return;
    }
    if (format && strcmp(format, "flame") && !view_export_parse(format, &kind)) {
        http_error(a, 400, "format must be flame or a format of export");
        return;
    }
    int bad = views_open(q->site->views, q->body.data, q->body.len, name && *name ? name : "profile", kind,
                         &a->body, &err);
    if (bad)
        http_error_err(a, bad == ERR_INPUT ? ERR_UNSUPPORTED : bad, &err);
    else
        a->type = view_content_type(kind);
}
