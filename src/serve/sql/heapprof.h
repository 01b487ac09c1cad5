/* heapprof.h - the profiling classes of ADMIN EXECUTE: HeapProf, CpuProf, ContentionProf, each bound to
 * one node. docs/sql.md lists the methods. */
#ifndef SERVE_SQL_HEAPPROF_H
#define SERVE_SQL_HEAPPROF_H

#include <stdint.h>

#include "serve/script/script.h"
#include "serve/sql/sql_cluster.h"

struct heapprof {
    const struct sql_cluster *cluster;
    const struct cluster_node *node;
    int64_t deadline_ns;             /* on the monotonic clock */
    const struct sql_cancel *cancel; /* may be NULL */
};

struct script_host heapprof_host(struct heapprof *prof); /* valid as long as *prof */

#endif
