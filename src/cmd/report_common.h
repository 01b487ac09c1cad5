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
    bool shows_one_value; /* of each sample: the chosen one; the others need not be read */
    bool name_places;     /* as in load.h */
    struct report_options o;
};

enum { N_COMMON_OPTIONS = 28 };

/* What a report makes use of, besides where its profiles come from. */
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

/* Fills table with the common options that a report with these uses has; returns how many. The caller adds
 * its own behind them and an entry without a name. */
size_t report_common_options(struct report_arguments *a, unsigned uses, struct option *table);

/* For a command whose report is known only after its options: the name of one that was given and has no
 * effect with these uses, or NULL. */
const char *report_useless_option(const struct report_arguments *a, unsigned uses);

/* Loads the profiles named in argv[1..n], sets a->o from the options. On failure the message was printed;
 * returns the exit status. */
int report_load(struct report_arguments *a, int n, char **argv, struct profile **ret_profile,
                struct symbolizer **ret_symbolizer);

/* Writes to --output or standard output; binary never to a terminal (a name is suggested). Returns the exit
 * status. */
int report_deliver(const char *output, struct buf *text, bool binary, const char *suggested_name);

#endif
