/* node_request.h - one blocking HTTP request to a node. The collector hands its requests, many at a time, to
 * a pull (node_url.h). */
#ifndef SERVE_COLLECTOR_NODE_REQUEST_H
#define SERVE_COLLECTOR_NODE_REQUEST_H

#include "serve/cluster/cluster.h"

/* Calls the profiling endpoint of the node, with its token. path begins with '/' ("/pprof/heap?x=1"). The
 * path decides the port, as a StarRocks BE needs it: http_port for the heap and its switches, brpc_port for
 * CPU, contention and symbols. post_body NULL means GET. Redirects are not followed.
 *
 * Returns 0 when the node answered 200; the caller frees *ret_body with bytes_free. ERR_TIMEOUT after
 * timeout_s; ERR_UNSUPPORTED for a node without HTTP; ERR_IO with the status and the first line of the answer
 * for any other status. ret_status, which may be NULL, is 0 when no answer arrived.
 *
 * The request ends with ERR_TIMEOUT about a second after is_cancelled (may be NULL) first returns true. */
int node_request_until(struct cluster *c, int32_t id, const char *path, const char *post_body,
                       double timeout_s, bool (*is_cancelled)(void *context), void *context,
                       struct bytes *ret_body, int *ret_status, struct err *err);

static inline int node_request(struct cluster *c, int32_t id, const char *path, const char *post_body,
                               double timeout_s, struct bytes *ret_body, int *ret_status, struct err *err)
{
    return node_request_until(c, id, path, post_body, timeout_s, NULL, NULL, ret_body, ret_status, err);
}

#endif
