/* api.h - the handlers of the URLs in docs/api.md. */
#ifndef SERVE_HTTP_API_H
#define SERVE_HTTP_API_H

#include "base/json_read.h"
#include "serve/http/http.h"
#include "serve/view/views.h"

/* api_session.c */
http_handler api_session, api_login, api_logout;
/* api_nodes.c */
http_handler api_nodes, api_node_add, api_node_drop, api_node_type, api_collect, api_job, api_failures,
    api_settings, api_setting_set;
void api_job_json(struct site *site, int64_t id,
                  struct buf *out); /* appends nothing when there is no such job */
/* api_profiles.c */
http_handler api_profiles, api_raw, api_timeline, api_flame, api_top, api_dot, api_source, api_export,
    api_open;
/* api_other.c */
http_handler api_page_file, api_events, api_metrics, api_healthz;
/* pprof_pages.c */
http_handler pprof_page;
/* starrocks_pages.c */
http_handler starrocks_page, starrocks_file, starrocks_list, starrocks_raw, starrocks_other;

/* The profiles that a request selects (docs/api.md, selectors). prefix is "" or "base_". Returns false when
 * it has written an error into the answer. An empty list is not an error here. The caller frees the list with
 * mem_free. */
bool api_select(struct http_request *q, struct http_answer *a, const char *prefix,
                struct store_profile **ret_list, size_t *ret_n, size_t *ret_dropped);

/* The body of the request, which must be a JSON object of at most 16 plain values (no arrays, no objects,
 * texts of at most 1,024 bytes). The value lives in the arena. */
int api_body(struct http_request *q, struct arena *arena, struct json_value **ret_object, struct err *err);

/* Reads "10001,10002". Returns false for any other form. The caller frees *ret_ids with mem_free. */
bool api_parse_ids(const char *text, size_t max, int64_t **ret_ids, size_t *ret_n);

#endif
