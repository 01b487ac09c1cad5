/* jeprof_options.h - the command line of `procprof jeprof`, by the rules of Perl's Getopt::Long: options
 * anywhere between the files, any unique beginning of a name, upper or lower case, one dash or two,
 * "--noNAME" for switches that can be off, a value after "=" or as the next argument; "--" ends them. */
#ifndef CMD_JEPROF_JEPROF_OPTIONS_H
#define CMD_JEPROF_JEPROF_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct jeprof_options {
    /* what to do; at most one of these */
    bool text, callgrind, gv, evince, web, dot, ps, pdf, svg, gif, raw, collapsed, symbols, interactive;
    const char *list, *disasm; /* "": not asked for */

    bool cum, show_bytes, drop_negative, heapcheck;
    bool addresses, lines, functions, files;
    bool inuse_space, inuse_objects, alloc_space, alloc_objects;
    bool total_delay, contentions, mean_delay;
    const char *base, *add_lib, *lib_prefix, *focus, *ignore, *thread, *retain, *exclude; /* "": not given */
    int64_t nodecount, maxdegree, scale, seconds;
    double nodefraction, edgefraction;
    bool auto_signal_frm; /* ours: remove a second frame that all CPU samples share, as jeprof always does */
    bool help, version;
    const char *tools, *test_stride; /* taken, and of no use here */
    bool test, debug, debug_syms_by_id;
};

/* Moves the arguments that are no options to the front of argv + 1 and returns how many, or a negative code
 * with the reason. */
int jeprof_options_parse(int argc, char **argv, struct jeprof_options *ret_options, struct err *err);

#endif
