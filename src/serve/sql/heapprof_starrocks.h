/* heapprof_starrocks.h - heap switches of a real StarRocks BE, which has no HTTP endpoint for them but runs
 * scripts: its brpc port takes PInternalService.execute_command as HTTP with JSON, and that runs the same
 * one-liner there. */
#ifndef SERVE_SQL_HEAPPROF_STARROCKS_H
#define SERVE_SQL_HEAPPROF_STARROCKS_H

#include "base/buf.h"
#include "serve/sql/sql_cluster.h"

/* Runs HeapProf.getInstance().METHOD() on the node; what it printed is appended to printed. */
int starrocks_heap_call(struct cluster *cluster, int32_t node_id, const char *method, double timeout_s,
                        const struct sql_cancel *cancel, struct buf *printed, struct err *err);

#endif
