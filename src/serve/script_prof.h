/* script_prof.h - the profiling classes of ADMIN EXECUTE: HeapProf, CpuProf, ContentionProf, each bound to
 * one node. docs/sql.md lists the methods. */
#ifndef SERVE_SCRIPT_PROF_H
#define SERVE_SCRIPT_PROF_H

#include <stdint.h>

#include "serve/script.h"
#include "serve/sql_backend.h"

struct script_prof {
    const struct sql_backend *backend;
    const struct sql_node *node;
    int64_t deadline_ns;             /* on the monotonic clock */
    const struct sql_cancel *cancel; /* may be NULL */
};

struct script_host script_prof_host(struct script_prof *prof); /* valid as long as *prof */

#endif
