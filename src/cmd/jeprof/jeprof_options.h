/* jeprof_options.h - the command line of `procprof jeprof`. It follows the rules of Perl's Getopt::Long:
 * options may stand anywhere between the files, with one dash or two, in upper or lower case, and may be cut
 * to any unique prefix. "--noNAME" switches an option off. A value follows "=" or is the next argument. "--"
 * ends the options. */
#ifndef CMD_JEPROF_JEPROF_OPTIONS_H
#define CMD_JEPROF_JEPROF_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct jeprof_options {
    /* the kind of report; at most one is set */
    bool text, callgrind, gv, evince, web, dot, ps, pdf, svg, gif, raw, collapsed, symbols, interactive;
    const char *list, *disasm; /* "" if not given */

    bool cum, show_bytes, drop_negative, heapcheck;
    bool addresses, lines, functions, files;
    bool inuse_space, inuse_objects, alloc_space, alloc_objects;
    bool total_delay, contentions, mean_delay;
    const char *base, *add_lib, *lib_prefix, *focus, *ignore, *thread, *retain,
        *exclude; /* "" if not given */
    int64_t nodecount, maxdegree, scale, seconds;
    double nodefraction, edgefraction;
    bool auto_signal_frm; /* not in jeprof: remove a second frame that all CPU samples share, as jeprof always
                             does */
    bool help, version;
    const char *tools, *test_stride; /* accepted and ignored */
    bool test, debug, debug_syms_by_id;
};

/* Parses the command line. Moves the arguments that are not options to the front of argv + 1 and returns
 * their number, or a negative code and the reason in *err. */
int jeprof_options_parse(int argc, char **argv, struct jeprof_options *ret_options, struct err *err);

#endif
