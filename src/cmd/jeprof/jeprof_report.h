/* jeprof_report.h - writes one report of `procprof jeprof`, for its command line or its shell. */
#ifndef CMD_JEPROF_JEPROF_REPORT_H
#define CMD_JEPROF_JEPROF_REPORT_H

#include "base/buf.h"
#include "cmd/jeprof/jeprof_names.h"
#include "cmd/jeprof/jeprof_options.h"
#include "cmd/jeprof/jeprof_profile.h"

struct jeprof_view {
    const struct jeprof_profile *profile;
    const struct jeprof_names *names;
    const struct jeprof_options *options;
    const char *program; /* shown as the title */
};

/* Copies the sums without allocator frames and without what --retain, --exclude, --focus and --ignore remove.
 * The caller releases *ret_left with jeprof_sums_release. Returns ERR_INPUT for an invalid expression. */
int jeprof_filter(const struct jeprof_view *view, const struct jeprof_sums *sums,
                  struct jeprof_sums *ret_left, struct err *err);
void jeprof_sums_release(struct jeprof_sums *sums);

double jeprof_sums_total(const struct jeprof_sums *sums);

/* Converts the sums to stacks of names, at the granularity that the options select. */
void jeprof_name_stacks(const struct jeprof_view *view, const struct jeprof_sums *sums,
                        struct jeprof_stacks *ret_stacks);

/* Appends the report that the options select to out. thread is the number of the thread that the sums belong
 * to, or -1 for all threads. */
int jeprof_report(const struct jeprof_view *view, const struct jeprof_sums *sums, int64_t thread,
                  struct buf *out, struct err *err);

void jeprof_write_callgrind(const struct jeprof_view *view, const struct jeprof_sums *left, struct buf *out);
void jeprof_write_collapsed(const struct jeprof_view *view, const struct jeprof_sums *left, struct buf *out);

/* Writes the functions whose name matches `routines`: with their instructions if as_code is true, with their
 * source lines otherwise. */
int jeprof_write_routines(const struct jeprof_view *view, const struct jeprof_sums *left,
                          const char *routines, bool as_code, struct buf *out, struct err *err);

/* Opens the graph in a viewer: "gv", "evince" or "web". */
int jeprof_show(const struct jeprof_view *view, const struct jeprof_sums *sums, const char *viewer,
                struct err *err);

/* Reads commands until the end of the input and returns the exit status. */
int jeprof_shell(const struct jeprof_view *view);

#endif
