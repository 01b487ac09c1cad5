/* node_url.h - where a node is asked for what: the one place that turns a registered node into a URL and a
 * curl handle. */
#ifndef SERVE_COLLECTOR_NODE_URL_H
#define SERVE_COLLECTOR_NODE_URL_H

#include <curl/curl.h>

#include "serve/cluster/cluster.h"

/* http://host:port/path; the port as the path needs it (see node_request). mem_free. */
char *node_url(const struct cluster_node *node, const char *path);

/* What every call to a node has in common: http only, no redirects, no proxy, the token, a connect limit.
 * *headers is to be freed after. */
void node_url_prepare(CURL *easy, const struct cluster_node *node, const char *url,
                      struct curl_slist **headers);

#endif
