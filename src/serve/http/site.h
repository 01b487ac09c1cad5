/* site.h - what the HTTP handlers use. server.c, or file_server.c in file mode, fills it; handlers only read
 * it and count atomically. */
#ifndef SERVE_HTTP_SITE_H
#define SERVE_HTTP_SITE_H

#include "serve/cluster/cluster.h"
#include "serve/collector/collector.h"
#include "serve/http/events.h"
#include "serve/http/http.h"
#include "serve/http/sessions.h"
#include "serve/view/views.h"
#include "store/store.h"

struct site {
    struct cluster *cluster; /* NULL in file mode */
    struct store *store;
    struct collector *collector; /* NULL in file mode */
    struct views *views;
    struct events *events;
    struct sessions *sessions;
    char *agent_token; /* lets another procprof in; NULL for none */
    bool is_tls;
    bool any_host; /* file mode: the user chose an address other than loopback */
    /* File mode: names of the files; the id of the first is 1 */
    char **file_names;
    size_t n_file_names;
    char *file_selection; /* file mode: "ids=1,2&base_ids=3"; NULL before the files are loaded */
    int64_t started_ms;
    uint64_t n_requests, n_client_errors, n_server_errors; /* 4xx, 5xx */
};

const struct http_route *site_route(struct site *site, struct http_request *q, int *ret_status);
void site_identify(struct site *site, struct http_request *q); /* sessions.c */

#endif
