/* node_url.h - calls to a registered node: the URL, and a request that runs on the thread of a pull. */
#ifndef SERVE_COLLECTOR_NODE_URL_H
#define SERVE_COLLECTOR_NODE_URL_H

#include "collect/fetch.h"
#include "collect/pull.h"
#include "serve/cluster/cluster.h"

/* http://host:port/path, with the port that serves the path (see node_request.h). The caller frees it with
 * mem_free. */
char *node_url(const struct cluster_node *node, const char *path);

/* What every request to this node has in common: its token, no proxy, no redirects. The result refers to
 * *node. */
struct fetch_options node_fetch_options(const struct cluster_node *node);

/* Hands a request to the thread of `pull`: GET, or POST when post_body is not NULL. The other arguments are
 * those of pull_add. */
void node_pull(struct pull *pull, const struct cluster_node *node, const char *path, const char *post_body,
               double timeout_s, size_t max_bytes, pull_done *done, void *context);

#endif
