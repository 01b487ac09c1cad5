/* starrocks_pages.c - the URLs of StarRocks: /proc_profile, /proc_profile/file, /api/proc_profile/list.
 *
 * Parameters and answers are those of StarRocks. Unlike there, the node must be a registered one, every file
 * name is checked by one rule, and all output is escaped.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compress/pack.h"
#include "base/compress/tar.h"
#include "base/compress/unpack.h"
#include "base/mem.h"
#include "base/text.h"
#include "serve/collector/node_list.h"
#include "serve/collector/node_request.h"
#include "serve/http/api.h"
#include "serve/http/site.h"

enum { MAX_ROWS = 10000 };
#define REMOTE_LIST_S 5
#define REMOTE_FILE_S 60

#define ACTIVE_CSP                                                                                           \
    "sandbox allow-scripts allow-popups; default-src 'none'; script-src 'unsafe-inline'; style-src "         \
    "'unsafe-inline'; "                                                                                      \
    "img-src data: blob:; frame-ancestors 'none'"

/* ---- the node ---- */

/* Finds the node of the request: "FE", "FE:host:port", "BE:host:port", "CN:[::1]:port" or an id. No parameter
 * means the FE of this server. Returns false when it has written an error into the answer. */
static bool find_node(struct http_request *q, struct http_answer *a, struct cluster_node *ret_node)
{
    const char *text = http_query(q, "node");
    struct cluster *c = q->site->cluster;
    if (!text || !*text) text = "FE";
    if (!c) {
        http_error(a, 400, "there are no nodes: this page shows files");
        return false;
    }
    if (!strcmp(text, "FE")) {
        struct cluster_node *all;
        size_t n = cluster_nodes(c, 1 << CLUSTER_FE, &all);
        bool found = false;
        for (size_t i = 0; i < n && !found; i++)
            if (all[i].is_self) *ret_node = all[i], found = true;
        mem_free(all);
        if (!found) http_error(a, 400, "this server has no frontend");
        return found;
    }
    size_t n_digits = strspn(text, "0123456789");
    if (n_digits && n_digits < 10 && !text[n_digits] && !cluster_node_get(c, atoi(text), ret_node))
        return true;
    int role = 0;
    while (role < CLUSTER_N_ROLES && strncmp(text, cluster_role_name((enum cluster_role)role), 2)) role++;
    const char *place = role < CLUSTER_N_ROLES && text[2] == ':' ? text + 3 : NULL;
    const char *colon = place ? strrchr(place, ':') : NULL;
    char host[256] = "";
    uint16_t port;
    if (colon && text_to_port(colon + 1, &port) && (size_t)(colon - place) < sizeof host) {
        memcpy(host, place, (size_t)(colon - place));
        size_t n = strlen(host);
        if (host[0] == '[' && n > 1 && host[n - 1] == ']') {
            memmove(host, host + 1, n - 2);
            host[n - 2] = 0;
        }
        /* A backend may be named by any of its ports, but it must be a registered node, because the server
         * may call it. */
        unsigned mask = role == CLUSTER_FE ? 1 << CLUSTER_FE : 1 << CLUSTER_BE | 1 << CLUSTER_CN;
        if (!cluster_node_find(c, mask, host, port, ret_node)) return true;
    }
    http_error(a, 400, "Invalid node parameter: not a registered node");
    return false;
}

static bool has_own_list(const struct cluster_node *n)
{
    return n->alive && !n->is_self && (n->http_port || (n->role == CLUSTER_FE && n->port));
}

/* ---- lists ---- */

struct entry {
    int32_t node;
    struct node_list_entry of; /* of.file: the name in requests */
};

struct entries {
    struct entry *items;
    size_t n_items, cap_items;
};

static int by_name(const struct entry *x, const struct entry *y)
{
    int order = strcmp(y->of.name.stamp, x->of.name.stamp);
    if (!order) order = (int)x->of.name.type - (int)y->of.name.type;
    return order ? order : (int)x->of.name.form - (int)y->of.name.form;
}

static int newest_first(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = by_name(x, y);
    if (!order) order = (x->node > y->node) - (x->node < y->node);
    return order ? order : strcmp(x->of.file, y->of.file);
}

static void add_stored(struct site *site, int32_t node, bool say_node, struct entries *list)
{
    struct store_profile *found;
    struct store_query query = {.nodes = &node, .n_nodes = 1, .limit = MAX_ROWS};
    size_t n = store_list(site->store, &query, &found, NULL);
    for (size_t i = 0; i < n; i++) {
        struct entry *e = VEC_PUSH(list->items, list->n_items, list->cap_items);
        *e = (struct entry){.node = node, .of.size_bytes = found[i].size_bytes};
        profile_name_parse(found[i].file, &e->of.name);
        profile_name_print_listed(&e->of.name, say_node ? node : 0, e->of.file);
    }
    mem_free(found);
}

static void add_remote(struct site *site, const struct cluster_node *node, struct entries *list)
{
    struct bytes body = {0};
    if (node_request(site->cluster, node->id, "/api/proc_profile/list", NULL, REMOTE_LIST_S, &body, NULL,
                     NULL))
        return;
    struct node_list_entry *found;
    struct err err = {0};
    size_t n;
    if (node_list_parse(body.data, body.len, MAX_ROWS, &found, &n, &err))
        server_log(LOG_WARN_, "cannot read the list of profiles of node %d (%s): %s", node->id, node->name,
                   err.text);
    for (size_t i = 0; i < n; i++)
        *VEC_PUSH(list->items, list->n_items, list->cap_items) =
            (struct entry){.node = INT32_MAX, .of = found[i]}; /* sorts behind the profiles in our store */
    mem_free(found);
    bytes_free(&body);
}

static void list_node(struct site *site, const struct cluster_node *node, struct entries *list)
{
    add_stored(site, node->id, false, list);
    if (has_own_list(node)) add_remote(site, node, list);
    if (list->n_items) qsort(list->items, list->n_items, sizeof *list->items, newest_first);
    size_t n = 0; /* the same name in both lists is the same profile */
    for (size_t i = 0; i < list->n_items; i++)
        if (!n || by_name(&list->items[n - 1], &list->items[i])) list->items[n++] = list->items[i];
    list->n_items = n;
}

struct host_node {
    int32_t id;
    bool is_plain;
};

/* The nodes whose files a list without a node has: those that this server collects on its host, sorted by id.
 * The files of its own frontend and of the first backend have plain names, as on a host of StarRocks. The
 * names of other files contain the id of the node, because captures of two nodes may begin in the same
 * second. The caller frees the result with mem_free. */
static size_t host_nodes(struct site *site, struct host_node **ret_nodes)
{
    struct cluster_node *all;
    size_t n_all = cluster_nodes(site->cluster, ~0u, &all), n = 0, cap = 0;
    bool has_backend = false;
    *ret_nodes = NULL;
    for (size_t i = 0; i < n_all; i++) {
        if (!cluster_node_is_local(&all[i]) || cluster_node_is_followed(&all[i])) continue;
        bool is_first_backend = all[i].role != CLUSTER_FE && !has_backend;
        if (is_first_backend) has_backend = true;
        *VEC_PUSH(*ret_nodes, n, cap) =
            (struct host_node){.id = all[i].id, .is_plain = all[i].is_self || is_first_backend};
    }
    mem_free(all);
    return n;
}

static void list_host(struct site *site, struct entries *list)
{
    struct host_node *nodes;
    size_t n = host_nodes(site, &nodes);
    for (size_t i = 0; i < n; i++) add_stored(site, nodes[i].id, !nodes[i].is_plain, list);
    mem_free(nodes);
    if (list->n_items) qsort(list->items, list->n_items, sizeof *list->items, newest_first);
    if (list->n_items > MAX_ROWS) list->n_items = MAX_ROWS;
    for (size_t i = 1; i < list->n_items;
         i++) /* the script of the backend may write into the folder of the frontend */
        if (!strcmp(list->items[i - 1].of.file, list->items[i].of.file))
            profile_name_print_listed(&list->items[i].of.name, list->items[i].node, list->items[i].of.file);
}

/* Finds a file by its name in such a list. */
static bool find_on_host(struct site *site, const char *plain, int32_t node,
                         struct store_profile *ret_profile)
{
    struct host_node *nodes;
    size_t n = host_nodes(site, &nodes);
    bool found = false;
    for (size_t i = 0; i < n && !found; i++)
        if (node ? nodes[i].id == node : nodes[i].is_plain)
            found = !store_find(site->store, nodes[i].id, plain, ret_profile);
    mem_free(nodes);
    return found;
}

void starrocks_list(struct http_request *q, struct http_answer *a)
{
    struct entries list = {0};
    struct site *site = q->site;
    const char *wanted = http_query(q, "node");
    if (wanted && *wanted) {
        struct cluster_node node;
        if (!find_node(q, a, &node)) return;
        list_node(site, &node, &list);
    } else if (site->cluster) {
        list_host(site, &list);
    }
    struct buf *out = &a->body;
    buf_str(out, list.n_items ? "{\n    \"profiles\": [\n" : "{\n    \"profiles\": []");
    for (size_t i = 0; i < list.n_items; i++) {
        const struct entry *e = &list.items[i];
        buf_printf(out,
                   "        {\n            \"filename\": \"%s\",\n            \"type\": \"%s\",\n            "
                   "\"format\": "
                   "\"%s\",\n            \"timestamp\": \"%s\",\n            \"size\": %lld\n        }%s\n",
                   e->of.file, profile_type_title(e->of.name.type),
                   e->of.name.form == PROFILE_PPROF ? "Pprof" : "Html", e->of.name.stamp,
                   (long long)e->of.size_bytes, i + 1 < list.n_items ? "," : "");
    }
    buf_str(out, list.n_items ? "    ]\n}" : "\n}");
    mem_free(list.items);
}

void starrocks_other(struct http_request *q, struct http_answer *a)
{
    http_error(a, 500, "Not support action: '%s'", q->word); /* the wording of a StarRocks BE */
}

/* ---- the page ---- */

static void escaped(struct buf *out, const char *text)
{
    buf_xml(out, text, strlen(text));
}

/* "BE:host:port", escaped for a URL. */
static void node_parameter(struct buf *out, const struct cluster_node *n)
{
    if (n->is_self) {
        buf_str(out, "FE");
        return;
    }
    bool v6 = strchr(n->host, ':') != NULL;
    unsigned port = n->http_port ? n->http_port : n->port;
    buf_printf(out, "%s:%s", cluster_role_name(n->role), v6 ? "%5B" : "");
    escaped(out, n->host);
    buf_printf(out, "%s:%u", v6 ? "%5D" : "", port);
}

static void tab_label(struct buf *out, const struct cluster_node *n)
{
    if (n->is_self) {
        buf_str(out, "FE");
        return;
    }
    buf_printf(out, "%s: ", cluster_role_name(n->role));
    escaped(out, n->host);
    buf_printf(out, ":%u", n->http_port ? n->http_port : n->port);
}

/* 1024-based, three decimals, no blank, as StarRocks prints it. */
static void file_size(struct buf *out, long long bytes)
{
    static const char *const units[] = {"B", "KB", "MB", "GB", "TB"};
    double value = (double)bytes;
    int unit = 0;
    while (value >= 1024 && unit < 4) value /= 1024, unit++;
    buf_printf(out, "%.3f%s", value, units[unit]);
}

static const char page_head[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Process Profiles</title>\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<style>\n"
    ":root{color-scheme:light dark}body{font:14px/1.5 system-ui,sans-serif;margin:0 "
    "auto;max-width:70rem;padding:1rem}\n"
    ".nav-tabs{display:flex;flex-wrap:wrap;list-style:none;padding:0;margin:1rem 0;border-bottom:1px solid "
    "#8888}\n"
    ".nav-tabs a{display:block;padding:.4rem .9rem;text-decoration:none}.nav-tabs .active "
    "a{border-bottom:3px solid #1a73e8;font-weight:600}\n"
    "table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px "
    "solid #8884}\n"
    "td:nth-child(3),th:nth-child(3){text-align:right}\n</style></head><body>\n";

void starrocks_page(struct http_request *q, struct http_answer *a)
{
    struct cluster_node node, *all;
    if (!find_node(q, a, &node)) return;
    struct site *site = q->site;
    struct entries list = {0};
    list_node(site, &node, &list);
    struct buf *out = &a->body;
    a->type = "text/html; charset=utf-8";
    a->csp = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; "
             "form-action 'none'";
    buf_str(out, page_head);
    buf_str(out, "<p><a id=\"nav_proc_profile\" href=\"/proc_profile\">proc profiles</a> · <a "
                 "href=\"/\">procprof</a></p>\n<ul class=\"nav nav-tabs\">\n");
    size_t n = cluster_nodes(site->cluster, ~0u, &all);
    for (size_t i = 0; i < n; i++) {
        bool active = all[i].id == node.id;
        if (!active && !all[i].alive && !all[i].is_self)
            continue; /* only nodes that are alive, as in StarRocks */
        if (all[i].role == CLUSTER_FE && !all[i].is_self && !all[i].port) continue;
        buf_printf(out, "<li class=\"nav-item%s\"><a class=\"nav-link\" href=\"/proc_profile?node=",
                   active ? " active" : "");
        node_parameter(out, &all[i]);
        buf_str(out, "\">");
        tab_label(out, &all[i]);
        buf_str(out, "</a></li>\n");
    }
    mem_free(all);
    buf_str(out, "</ul>\n<h2>Process Profiles</h2>\n");
    if (!list.n_items) {
        buf_str(out, node.is_self ? "<p>No profile files found in directory: "
                                  : "<p>No profile files found or node unavailable");
        if (node.is_self) {
            char *dir = store_path(site->store, node.id, "");
            escaped(out, dir);
            mem_free(dir);
        }
        buf_str(out, "</p>\n");
    } else {
        buf_str(out, "<p>This table lists all available CPU and memory profile files</p>\n<table "
                     "id=\"table_id\">\n<thead><tr><th>Type</th><th>Timestamp</th><th>File "
                     "Size</th><th>View</th></tr></thead>\n<tbody>\n");
        for (size_t i = 0; i < list.n_items; i++) {
            const struct entry *e = &list.items[i];
            const char *s = e->of.name.stamp;
            buf_printf(out, "<tr><td>%s</td><td>%.4s-%.2s-%.2s %.2s:%.2s:%.2s</td><td>",
                       profile_type_title(e->of.name.type), s, s + 4, s + 6, s + 9, s + 11, s + 13);
            file_size(out, e->of.size_bytes);
            buf_printf(out, "</td><td><a href=\"/proc_profile/file?filename=%s", e->of.file);
            if (!node.is_self) {
                buf_str(out, "&amp;node=");
                node_parameter(out, &node);
            }
            buf_str(out, "\" target=\"_blank\" rel=\"noopener\">View</a></td></tr>\n");
        }
        buf_str(out, "</tbody></table>\n");
    }
    buf_str(out, "</body></html>\n");
    mem_free(list.items);
}

/* ---- one file ---- */

/* The flame graph of a stored profile, cached beside the profile as gzip. */
static int flame_svg(struct site *site, const struct store_profile *p, struct bytes *ret_packed,
                     struct err *err)
{
    if (!store_get_derived(site->store, p->id, ret_packed, NULL)) return 0;
    struct view_request r = {.kind = VIEW_SVG, .profiles = p, .n_profiles = 1};
    const struct view *view;
    int bad = views_get(site->views, &r, &view, err);
    if (bad) return bad;
    if (view->is_packed) {
        ret_packed->data = mem_alloc(view->len);
        memcpy(ret_packed->data, view->data, view->len);
        ret_packed->len = view->len;
        ret_packed->mapped_bytes = 0;
    } else {
        pack_gzip(view->data, view->len, 6, ret_packed);
    }
    view_done(site->views, view);
    store_put_derived(site->store, p->id, ret_packed->data, ret_packed->len, NULL);
    return 0;
}

static void release_bytes(void *context)
{
    struct bytes *b = context;
    bytes_free(b);
    mem_free(b);
}

static void send_bytes(struct http_answer *a, struct bytes bytes, bool is_packed)
{
    struct bytes *kept = mem_zalloc(sizeof *kept);
    *kept = bytes;
    a->shared = kept->data ? (const void *)kept->data : "";
    a->shared_len = kept->len;
    a->is_packed = is_packed;
    a->release = release_bytes;
    a->release_context = kept;
}

static void send_profile(struct http_request *q, struct http_answer *a, const struct store_profile *p)
{
    struct err err = {0};
    struct bytes bytes = {0}, page = {0};
    int bad;
    a->csp = ACTIVE_CSP;
    a->may_keep = true;
    snprintf(a->etag, sizeof a->etag, "\"f%llx-%llx\"", (unsigned long long)p->id,
             (unsigned long long)p->size_bytes);
    if (p->form == PROFILE_ARCHIVE) {
        bad = store_read(q->site->store, p->id, &bytes, &err);
        if (!bad) bad = tar_gz_entry(bytes.data, bytes.len, ".html", &page, &err);
        bytes_free(&bytes);
        a->type = "text/html; charset=utf-8";
        if (!bad) send_bytes(a, page, false);
    } else {
        bad = flame_svg(q->site, p, &bytes, &err);
        a->type = "image/svg+xml";
        if (!bad) send_bytes(a, bytes, true);
    }
    if (bad) {
        a->csp = NULL;
        http_error_err(a, bad, &err);
    }
}

/* Fetches the file from the node itself (a StarRocks BE with its script, another procprof). */
static void send_remote(struct http_request *q, struct http_answer *a, const struct cluster_node *node,
                        const char *file)
{
    struct bytes body = {0};
    struct err err = {0};
    int status = 0;
    char *path = mem_printf("/proc_profile/file?filename=%s", file);
    int bad = node_request(q->site->cluster, node->id, path, NULL, REMOTE_FILE_S, &body, &status, &err);
    mem_free(path);
    if (bad) {
        if (status == 404 || status == 403)
            http_error(a, 404, "Profile file not found");
        else
            http_error(a, 502, "%s", err.text);
        return;
    }
    bool is_packed = unpack_is_packed(body.data, body.len), is_html = strstr(file, ".html.tar.gz") != NULL;
    a->type = is_html ? "text/html; charset=utf-8" : "image/svg+xml";
    a->csp = ACTIVE_CSP;
    send_bytes(a, body, is_packed);
}

/* Finds the file of the request, by its node or by its name in a list without a node. */
static bool find_file(struct http_request *q, struct http_answer *a, struct store_profile *ret_profile,
                      struct cluster_node *ret_node, bool *ret_stored)
{
    const char *file = http_query(q, "filename"), *wanted = http_query(q, "node");
    struct profile_name name;
    int32_t listed_node;
    *ret_stored = false;
    if (!file || !profile_name_parse_listed(file, &name, &listed_node)) {
        http_error(a, 400, "Invalid filename");
        return false;
    }
    if (!find_node(q, a, ret_node)) return false;
    char plain[PROFILE_NAME_MAX];
    if (name.form == PROFILE_FLAME)
        name.form = PROFILE_PPROF; /* the flame graph is made from the profile of the same name */
    profile_name_print(&name, plain);
    if (!wanted || !*wanted)
        *ret_stored = find_on_host(q->site, plain, listed_node, ret_profile);
    else if (!listed_node)
        *ret_stored = !store_find(q->site->store, ret_node->id, plain, ret_profile);
    return true;
}

void starrocks_file(struct http_request *q, struct http_answer *a)
{
    struct store_profile p;
    struct cluster_node node;
    bool stored;
    if (!find_file(q, a, &p, &node, &stored)) return;
    if (stored)
        send_profile(q, a, &p);
    else if (has_own_list(&node))
        send_remote(q, a, &node, http_query(q, "filename"));
    else
        http_error(a, 404, "Profile file not found");
}

void starrocks_raw(struct http_request *q, struct http_answer *a)
{
    struct store_profile p;
    struct cluster_node node;
    bool stored;
    if (!find_file(q, a, &p, &node, &stored)) return;
    if (!stored) {
        http_error(a, 404, "Profile file not found");
        return;
    }
    q->number[0] = p.id;
    api_raw(q, a);
}
