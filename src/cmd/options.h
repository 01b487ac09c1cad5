/* options.h - the options of our own commands: one table serves parsing, checking and --help.
 *
 * Long options have the form "--name value" or "--name=value" and may stand anywhere; "--" ends them. The
 * pprof, jeprof and addr2line personalities do not use this file: they parse as the tools they stand in for.
 */
#ifndef CMD_OPTIONS_H
#define CMD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum option_kind {
    OPTION_FLAG,     /* bool *: set to true; --no-NAME sets false */
    OPTION_TEXT,     /* const char ** */
    OPTION_LIST,     /* struct option_list *: may be given several times */
    OPTION_INT,      /* int64_t * */
    OPTION_NUMBER,   /* double * */
    OPTION_DURATION, /* double *, seconds: "10", "10s", "500ms", "5m", "1h", "2d" */
    OPTION_SIZE,     /* uint64_t *, bytes: "512", "64k", "2GB", "1GiB" (1024-based) */
};

struct option_list {    /* all zero is empty; its memory lasts until the program ends, as argv's does */
    const char **items; /* a NULL follows the last, once one was added or options_parse has seen the list */
    size_t n_items, cap_items;
};

struct option {
    char letter; /* 0: none */
    const char *name;
    enum option_kind kind;
    void *value;
    const char *argument; /* what --help calls it; NULL for flags */
    const char *help;
};

struct options_help {
    const char *usage;    /* "procprof top [OPTIONS] FILE..." */
    const char *text;     /* a paragraph; may be NULL */
    const char *examples; /* lines, each indented by two blanks; may be NULL */
};

enum { OPTIONS_DONE = -1, OPTIONS_BAD = -2 }; /* help was printed (exit 0); message was printed (exit 2) */

/* Parses argv[1..], moves the arguments that are not options to the front of argv + 1 and returns their
 * number, or returns OPTIONS_DONE or OPTIONS_BAD. The table ends with an entry without a name. */
int options_parse(int argc, char **argv, const struct option *table, const struct options_help *help);

void option_list_add(struct option_list *list, const char *text);

bool options_parse_duration(const char *text, double *ret_seconds);
bool options_parse_size(const char *text, uint64_t *ret_bytes);

#endif
