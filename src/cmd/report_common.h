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
    struct report_options o;
};

enum { N_COMMON_OPTIONS = 28 };

/* Fills table with the common options; returns how many. The caller adds its own behind them and an entry
 * without a name. */
size_t report_common_options(struct report_arguments *a, struct option *table);

/* Loads the profiles named in argv[1..n], sets a->o from the options. On failure the message was printed;
 * returns the exit status. */
int report_load(struct report_arguments *a, int n, char **argv, struct profile **ret_profile,
                struct symbolizer **ret_symbolizer);

/* Writes to --output or standard output; binary never to a terminal (a name is suggested). Returns the exit
 * status. */
int report_deliver(const char *output, struct buf *text, bool binary, const char *suggested_name);

#endif
