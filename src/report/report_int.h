/* report_int.h - shared by the report writers; not for use outside src/report. */
#ifndef REPORT_REPORT_INT_H
#define REPORT_REPORT_INT_H

#include "profile/unit.h"
#include "report/report.h"

struct report {
    struct profile *p;
    struct report_options o; /* after the format's own overrides */
    size_t sample_index;
    char *sample_type; /* "mean_..." when mean */
    const char *sample_unit;
    const char *output_unit; /* unit values are shown in */
    const char *title;
    double ratio;
    int64_t total;
    uint32_t bytes_unit;  /* string: unit of the label "bytes" */
    struct regex *symbol; /* may be NULL */
    struct buf filters;   /* "focus=x\n..." */
};

const char *report_value(const struct report *r, int64_t value, char into[UNIT_LABEL_BYTES]);

static inline const char *value_or_dot(const struct report *r, int64_t value, char into[UNIT_LABEL_BYTES])
{
    return value ? report_value(r, value, into) : ".";
}

const char *report_unit_of_key(struct report *r, uint32_t key); /* unit of a numeric label */

struct trimmed {
    struct graph *g;
    size_t n_before;
    int n_dropped_nodes, n_dropped_edges;
};
struct trimmed report_trimmed_graph(struct report *r);
struct graph *report_graph(struct report *r); /* all of it, not trimmed */
void report_select_unit(struct report *r, const struct graph *g);

void report_profile_lines(struct report *r, struct buf *out); /* each ends in \n */
void report_header_lines(struct report *r, const struct trimmed *t, bool full,
                         struct buf *out); /* each ends in \n */

int report_text(struct report *r, struct buf *out, struct err *err);
int report_csv(struct report *r, struct buf *out, struct err *err);
int report_json(struct report *r, struct buf *out, struct err *err);
int report_tree(struct report *r, struct buf *out, struct err *err);
int report_dot(struct report *r, struct buf *out, struct err *err);
int report_callgrind(struct report *r, struct buf *out, struct err *err);
int report_tags(struct report *r, struct buf *out, struct err *err);
int report_traces(struct report *r, struct buf *out, struct err *err);
int report_raw(struct report *r, struct buf *out, struct err *err);
int report_collapsed(struct report *r, struct buf *out, struct err *err);
int report_comments(struct report *r, struct buf *out, struct err *err);
int report_list(struct report *r, struct buf *out, struct err *err);
int report_weblist(struct report *r, struct buf *out, struct err *err);
int report_disasm(struct report *r, struct buf *out, struct err *err);

/* "name" without packages, namespaces and argument lists, as graphs show it. */
void report_short_name(const char *name, struct buf *out);

#endif
