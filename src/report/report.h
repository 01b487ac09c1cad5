/* report.h - a profile as text, tree, DOT, callgrind, tags, traces, raw text, source, CSV, JSON.
 *
 * report_write may change the profile (it aggregates, trims paths, drops labels): give it a copy to keep one.
 * The texts are google/pprof's to the letter where it has such a report.
 */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/regex.h"
#include "profile/profile.h"
#include "report/graph.h"
#include "symbol/symbol.h"

enum report_format {
    REPORT_TEXT,
    REPORT_TREE, /* with a symbol: peek */
    REPORT_DOT,
    REPORT_CALLGRIND,
    REPORT_TAGS,
    REPORT_TRACES,
    REPORT_RAW,
    REPORT_COMMENTS,
    REPORT_TOPPROTO, /* makes a profile: see report_top_profile */
    REPORT_LIST,
    REPORT_WEBLIST,
    REPORT_DISASM,
    REPORT_CSV,
    REPORT_JSON,
    REPORT_COLLAPSED,
};

enum report_granularity { BY_DEFAULT, BY_FUNCTION, BY_FILE_FUNCTION, BY_FILE, BY_LINE, BY_ADDRESS };

/* What is shown and how: the options of pprof, with its names. Zero is not a default: start from
 * report_options_default(). */
struct report_options {
    enum report_format format;
    const char *symbol; /* regular expression or address, for peek, list, weblist, disasm; NULL otherwise */

    bool cum_sort, call_tree, drop_negative, compact_labels, relative_percentages, mean, noinlines,
        showcolumns, trim, intel_syntax, normalize;
    const char *unit, *sample_index, *source_path, *trim_path, *tagroot,
        *tagleaf; /* never NULL; "" is none */
    double divide_by, nodefraction, edgefraction;
    int64_t nodecount; /* -1: the default of the format */
    const char *focus, *ignore, *prune_from, *hide, *show, *show_from, *tagfocus, *tagignore, *tagshow,
        *taghide; /* never NULL */
    enum report_granularity granularity;

    struct symbolizer *symbolizer; /* for source and disassembly; may be NULL */
    /* "Focus expression matched no samples" and the like; may be NULL */
    void (*warn)(void *context, const char *text);
    void *warn_context;
};

struct report_options report_options_default(enum report_format format);

/* Everything from filters to text. */
int report_write(struct profile *p, const struct report_options *options, struct buf *out, struct err *err);

/* Only what changes the profile: label frames, filters, aggregation. What proto output does before it is
 * written. */
int report_prepare(struct profile *p, const struct report_options *options, struct err *err);

/* The hottest places as a profile of its own (sample types cum and flat). */
int report_top_profile(struct profile *p, const struct report_options *options, struct profile **ret_profile,
                       struct err *err);

/* "File: x", "Type: cpu", "Duration: ...": what greets in the interactive shell. One line each, no final
 * newline. */
int report_profile_labels(struct profile *p, const struct report_options *options, struct buf *out,
                          int64_t *ret_total, struct err *err);

#endif
