/* report_common.h - the options all report commands share: which profiles, which values, which part of them.
 */
#ifndef CMD_REPORT_COMMON_H
#define CMD_REPORT_COMMON_H

#include "cmd/load.h"
#include "cmd/options.h"
#include "report/report.h"

struct report_arguments {
    struct option_list base, diff_base, path;
    const char *binary, *symbolize, *names, *output, *granularity, *sample, *unit;
    double seconds;
    bool cum, all, no_names;
    bool shows_one_value; /* only the chosen value of each sample; the reader may skip the others */
    bool name_places;     /* as in load.h */
    struct report_options o;
};

enum { N_COMMON_OPTIONS = 28 };

/* The groups of common options that a report uses. Every report also has the options that choose its
 * profiles. */
enum report_uses {
    USES_SAMPLE = 1,   /* one of the values of each sample */
    USES_MEAN = 2,     /* and its average */
    USES_UNIT = 4,     /* writes values for people */
    USES_BY = 8,       /* sums up by function, file ... */
    USES_ORDER = 16,   /* sorts */
    USES_COUNT = 32,   /* leaves small ones out */
    USES_FILTERS = 64, /* takes a part of the samples or of their frames */
    USES_NAMES = 128,  /* has names of functions in it */
    USES_ALL = 255
};

/* Fills table with the common options for these uses and returns their number. The caller appends its own
 * options and an entry without a name. */
size_t report_common_options(struct report_arguments *a, unsigned uses, struct option *table);

/* For a command that knows its report only after it has parsed the options. Returns the name of a given
 * option that has no effect with these uses, or NULL. */
const char *report_useless_option(const struct report_arguments *a, unsigned uses);

/* Loads the profiles named in argv[1..n] and sets a->o from the options. Returns the exit status; on failure
 * it has printed the message. */
int report_load(struct report_arguments *a, int n, char **argv, struct profile **ret_profile,
                struct symbolizer **ret_symbolizer);

/* Writes to --output or standard output and returns the exit status. Refuses to write binary output to a
 * terminal and suggests a file name instead. */
int report_deliver(const char *output, struct buf *text, bool binary, const char *suggested_name);

#endif
