/* node_request.h - one blocking HTTP call to a node. The collector makes its own calls, many at a time
 * (collect/pull.h). */
#ifndef SERVE_COLLECTOR_NODE_REQUEST_H
#define SERVE_COLLECTOR_NODE_REQUEST_H

#include "serve/cluster/cluster.h"

/* One HTTP call to the node's profiling endpoint, with its token. path begins with '/' ("/pprof/heap?x=1");
 * which port answers is decided by the path as a real BE needs it (heap and its control: http_port; profile
 * and contention: brpc_port). post_body NULL: GET. Redirects are not followed. 0 when the node answered 200,
 * the body in *ret_body (bytes_free); ERR_TIMEOUT after timeout_s, ERR_IO with the status and the first line
 * of the answer otherwise, ERR_UNSUPPORTED for a node that has no HTTP. ret_status may be NULL. */
int node_request(struct cluster *c, int32_t id, const char *path, const char *post_body, double timeout_s,
                 struct bytes *ret_body, int *ret_status, struct err *err);
/* The same; gives up with ERR_TIMEOUT soon after is_cancelled (may be NULL; asked about every second) says
 * so. */
int node_request_until(struct cluster *c, int32_t id, const char *path, const char *post_body,
                       double timeout_s, bool (*is_cancelled)(void *context), void *context,
                       struct bytes *ret_body, int *ret_status, struct err *err);

#endif
