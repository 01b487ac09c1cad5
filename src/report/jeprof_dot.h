/* jeprof_dot.h - writes the call graph in Graphviz's language as jeprof does: the same choice of nodes and
 * edges, and the same labels, fonts and widths. */
#ifndef REPORT_JEPROF_DOT_H
#define REPORT_JEPROF_DOT_H

#include "base/buf.h"
#include "base/err.h"
#include "report/jeprof_stacks.h"

struct jeprof_dot_options {
    const char *program; /* the title; NULL: "(unknown)" */
    enum jeprof_unit unit;
    double overall_total; /* of the profile before focus and ignore */
    long nodecount;       /* at most so many nodes */
    double nodefraction;  /* nodes below this part of the total are left out */
    double edgefraction;  /* edges likewise, unless they are the only way in */
    long maxdegree;       /* edges in and out of one node */
    bool page_size;       /* for --pdf */
    bool wide_lines;      /* for --svg: no line thinner than 1 */
    bool heapcheck;
};

#define JEPROF_DOT_DEFAULTS                                                                                  \
    (struct jeprof_dot_options)                                                                              \
    {                                                                                                        \
        .nodecount = 80, .nodefraction = 0.005, .edgefraction = 0.001, .maxdegree = 8                        \
    }

struct jeprof_dot_limits { /* the limits that were applied, for the message jeprof prints */
    double node, edge;
};

/* Fails with ERR_NOT_FOUND ("No nodes to print") when no node is left. ret_limits may be NULL. */
int jeprof_dot_write(const struct jeprof_stacks *stacks, const struct jeprof_dot_options *options,
                     struct buf *out, struct jeprof_dot_limits *ret_limits, struct err *err);

/* Does the same from a profile that has names. The unit and the total come from the profile; those of options
 * are ignored. */
int jeprof_dot_write_profile(const struct profile *p, size_t sample_index,
                             const struct jeprof_dot_options *options, struct buf *out, struct err *err);

#endif
