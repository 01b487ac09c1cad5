/* heapprof_starrocks.h - the heap switches of a real StarRocks BE. It has no HTTP endpoint for them, but its
 * brpc port takes PInternalService.execute_command as HTTP with JSON, which runs a script on the BE. */
#ifndef SERVE_SQL_HEAPPROF_STARROCKS_H
#define SERVE_SQL_HEAPPROF_STARROCKS_H

#include "base/buf.h"
#include "serve/sql/sql_cluster.h"

/* Runs HeapProf.getInstance().METHOD() on the node and appends its output to `printed`. */
int starrocks_heap_call(struct cluster *cluster, int32_t node_id, const char *method, double timeout_s,
                        const struct sql_cancel *cancel, struct buf *printed, struct err *err);

#endif
