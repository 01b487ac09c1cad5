/* heapprof_jvm.h - a profile of a JVM on this host, taken while a script waits for it. */
#ifndef SERVE_SQL_HEAPPROF_JVM_H
#define SERVE_SQL_HEAPPROF_JVM_H

#include "serve/sql/sql_cluster.h"

struct profile;

/* type is "cpu", "heap" (the live part of what the JVM allocates in these seconds) or "contention". ERR_BUSY
 * when another profiler still samples that JVM. */
int heapprof_jvm(struct cluster *cluster, int32_t node_id, const char *type, double seconds,
                 const struct sql_cancel *cancel, struct profile **ret_profile, struct err *err);

#endif
