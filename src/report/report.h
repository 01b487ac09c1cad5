/* report.h - writes a profile as text, tree, DOT, callgrind, tags, traces, raw text, source, CSV or JSON.
 *
 * report_write may change the profile: it aggregates, trims paths and drops labels. A caller that needs the
 * profile afterwards passes a copy. Reports that google/pprof also has equal its output byte for byte.
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
    REPORT_TREE, /* with a symbol this is pprof's peek */
    REPORT_DOT,
    REPORT_CALLGRIND,
    REPORT_TAGS,
    REPORT_TRACES,
    REPORT_RAW,
    REPORT_COMMENTS,
    REPORT_TOPPROTO, /* the result is a profile, see report_top_profile */
    REPORT_LIST,
    REPORT_WEBLIST,
    REPORT_DISASM,
    REPORT_CSV,
    REPORT_JSON,
    REPORT_COLLAPSED,
};

enum report_granularity { BY_DEFAULT, BY_FUNCTION, BY_FILE_FUNCTION, BY_FILE, BY_LINE, BY_ADDRESS };

/* The options of pprof, by its names. All zero is not a default; start from report_options_default(). */
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
    /* Receives warnings such as "Focus expression matched no samples"; may be NULL */
    void (*warn)(void *context, const char *text);
    void *warn_context;
};

struct report_options report_options_default(enum report_format format);

/* Filters, aggregates and writes. */
int report_write(struct profile *p, const struct report_options *options, struct buf *out, struct err *err);

/* Does only the steps that change the profile: label frames, filters, aggregation. Proto output needs these
 * steps before it is written. */
int report_prepare(struct profile *p, const struct report_options *options, struct err *err);

/* Makes a profile of the hottest places, with the sample types cum and flat. */
int report_top_profile(struct profile *p, const struct report_options *options, struct profile **ret_profile,
                       struct err *err);

/* Writes the lines that the interactive shell prints first: "File: x", "Type: cpu", "Duration: ...". The last
 * line has no newline. */
int report_profile_labels(struct profile *p, const struct report_options *options, struct buf *out,
                          int64_t *ret_total, struct err *err);

#endif
