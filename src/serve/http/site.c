/* site.c - the table of URLs. */
#include "serve/http/site.h"

#include <string.h>

#include "serve/http/api.h"

static const struct http_route routes[] = {
    {"GET", "/", CLUSTER_NONE, api_page_file, 0},
    {"GET", "/index.html", CLUSTER_NONE, api_page_file, 0},
    {"GET", "/app.js", CLUSTER_NONE, api_page_file, 0},
    {"GET", "/app.css", CLUSTER_NONE, api_page_file, 0},
    {"GET", "/icon.svg", CLUSTER_NONE, api_page_file, 0},
    {"GET", "/healthz", CLUSTER_NONE, api_healthz, 0},
    {"GET", "/metrics", CLUSTER_LOOK, api_metrics, 0},

    {"GET", "/api/v1/session", CLUSTER_NONE, api_session, 0},
    {"POST", "/api/v1/login", CLUSTER_NONE, api_login, 0},
    {"POST", "/api/v1/logout", CLUSTER_NONE, api_logout, 0},
    {"GET", "/api/v1/nodes", CLUSTER_LOOK, api_nodes, 0},
    {"POST", "/api/v1/nodes", CLUSTER_ADMIN, api_node_add, 0},
    {"DELETE", "/api/v1/nodes/#", CLUSTER_ADMIN, api_node_drop, 0},
    {"POST", "/api/v1/nodes/#/types/@", CLUSTER_ACT, api_node_type, 0},
    {"GET", "/api/v1/profiles", CLUSTER_LOOK, api_profiles, 0},
    {"GET", "/api/v1/profiles/#/raw", CLUSTER_LOOK, api_raw, 0},
    {"GET", "/api/v1/flame", CLUSTER_LOOK, api_flame, 0},
    {"GET", "/api/v1/top", CLUSTER_LOOK, api_top, 0},
    {"GET", "/api/v1/dot", CLUSTER_LOOK, api_dot, 0},
    {"GET", "/api/v1/source", CLUSTER_LOOK, api_source, 0},
    {"GET", "/api/v1/export", CLUSTER_LOOK, api_export, 0},
    {"POST", "/api/v1/open", CLUSTER_LOOK, api_open, (size_t)256 << 20},
    {"POST", "/api/v1/collect", CLUSTER_ACT, api_collect, 0},
    {"GET", "/api/v1/jobs/#", CLUSTER_LOOK, api_job, 0},
    {"GET", "/api/v1/failures", CLUSTER_LOOK, api_failures, 0},
    {"GET", "/api/v1/timeline", CLUSTER_LOOK, api_timeline, 0},
    {"GET", "/api/v1/events", CLUSTER_LOOK, api_events, 0},
    {"GET", "/api/v1/settings", CLUSTER_LOOK, api_settings, 0},
    {"POST", "/api/v1/settings", CLUSTER_ADMIN, api_setting_set, 0},

    {"GET", "/ui", CLUSTER_LOOK, pprof_page, 0},
    {"GET", "/ui/", CLUSTER_LOOK, pprof_page, 0},
    {"GET", "/ui/@", CLUSTER_LOOK, pprof_page, 0},

    {"GET", "/proc_profile", CLUSTER_LOOK, starrocks_page, 0},
    {"GET", "/proc_profile/file", CLUSTER_LOOK, starrocks_file, 0},
    {"GET", "/api/proc_profile/list", CLUSTER_LOOK, starrocks_list, 0},
    {"GET", "/api/proc_profile/raw", CLUSTER_LOOK, starrocks_raw, 0},
    {"GET", "/api/proc_profile/@", CLUSTER_LOOK, starrocks_other, 0},
};

/* Whether the path matches the pattern. The numbers and the word of the path go into *q. */
static bool matches(const char *pattern, const char *path, struct http_request *q)
{
    int n_numbers = 0;
    for (; *pattern; pattern++) {
        if (*pattern == '#') {
            int64_t value = 0;
            int n = 0;
            for (; *path >= '0' && *path <= '9' && n < 18; path++, n++) value = value * 10 + (*path - '0');
            if (!n) return false;
            q->number[n_numbers++] = value;
        } else if (*pattern == '@') {
            size_t n = strcspn(path, "/");
            if (!n || n >= sizeof q->word) return false;
            memcpy(q->word, path, n);
            q->word[n] = 0;
            path += n;
        } else if (*pattern != *path++) {
            return false;
        }
    }
    return !*path;
}

const struct http_route *site_route(struct site *site, struct http_request *q, int *ret_status)
{
    (void)site;
    bool known = false;
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
        if (!matches(routes[i].path, q->path, q)) continue;
        known = true;
        if (!strcmp(routes[i].method, q->method) ||
            (!strcmp(q->method, "HEAD") && !strcmp(routes[i].method, "GET")))
            return &routes[i];
    }
    *ret_status = known ? 405 : 404;
    return NULL;
}
