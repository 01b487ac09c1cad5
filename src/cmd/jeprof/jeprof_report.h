/* jeprof_report.h - one report of `procprof jeprof`, from its command line or its shell. */
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
    const char *program; /* the title */
};

/* What is left of the sums after allocator frames, --retain, --exclude, --focus and --ignore. Release with
 * jeprof_sums_release. A bad expression is ERR_INPUT. */
int jeprof_filter(const struct jeprof_view *view, const struct jeprof_sums *sums,
                  struct jeprof_sums *ret_left, struct err *err);
void jeprof_sums_release(struct jeprof_sums *sums);

double jeprof_sums_total(const struct jeprof_sums *sums);

/* Stacks of names at the granularity asked for. */
void jeprof_name_stacks(const struct jeprof_view *view, const struct jeprof_sums *sums,
                        struct jeprof_stacks *ret_stacks);

/* Writes the report that the options name, of all threads or of the one given (-1: all). ret_binary tells
 * that the output is no text. */
int jeprof_report(const struct jeprof_view *view, const struct jeprof_sums *sums, int64_t thread,
                  struct buf *out, struct err *err);

void jeprof_write_callgrind(const struct jeprof_view *view, const struct jeprof_sums *left, struct buf *out);
void jeprof_write_collapsed(const struct jeprof_view *view, const struct jeprof_sums *left, struct buf *out);

/* jeprof_source.c: functions whose name matches, with their source lines or instructions. */
int jeprof_write_list(const struct jeprof_view *view, const struct jeprof_sums *left, const char *routines,
                      struct buf *out, struct err *err);
int jeprof_write_disasm(const struct jeprof_view *view, const struct jeprof_sums *left, const char *routines,
                        struct buf *out, struct err *err);

/* The picture in a viewer of its own: "gv", "evince" or "web". */
int jeprof_show(const struct jeprof_view *view, const struct jeprof_sums *sums, const char *viewer,
                struct err *err);

/* jeprof_shell.c: reads commands until the end; returns the exit status. */
int jeprof_shell(const struct jeprof_view *view);

#endif
