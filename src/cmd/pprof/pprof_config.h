/* pprof_config.h - the options of `procprof pprof`, with google/pprof's names. They are flags on the command
 * line and variables in the shell. */
#ifndef CMD_PPROF_PPROF_CONFIG_H
#define CMD_PPROF_PPROF_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "report/report.h"

struct pprof_config {
    struct report_options report; /* format and symbol are set per command */
    const char *output;
    const char *sort;        /* "flat" or "cum" */
    const char *granularity; /* "", "functions", ... */
};

struct pprof_field {
    const char *name;
    enum { FIELD_BOOL, FIELD_INT, FIELD_NUMBER, FIELD_TEXT, FIELD_CHOICE } kind;
    size_t offset;
    const char *choices; /* blank-separated */
    const char *help;    /* first line: what it is; more lines: detail */
};

extern const struct pprof_field pprof_fields[]; /* ends with a NULL name */

struct pprof_command {
    const char *name;
    enum report_format format;
    bool has_parameter;
    bool is_proto;
    const char *graphviz;    /* dot's output format, or NULL */
    const char *file_ending; /* set for binary output, which never goes to a terminal */
    const char *viewer;      /* the program that shows the output, or NULL */
    const char *description;
    int help_kind; /* 0 none, 1 report, 2 report with -cum, 3 list, 4 peek, 5 tags */
};

extern const struct pprof_command pprof_commands[]; /* ends with a NULL name */

struct pprof_config pprof_config_default(void);
const struct pprof_field *pprof_find_field(const char *name,
                                           bool *ret_is_choice); /* also by the name of a choice */
const struct pprof_command *pprof_find_command(const char *name);

/* Sets name=value. name may also be a choice ("cum", "lines"); value must then be true. Keeps a reference to
 * value. */
int pprof_config_set(struct pprof_config *c, const char *name, const char *value, struct err *err);
void pprof_config_get(const struct pprof_config *c, const struct pprof_field *f, struct buf *out);
bool pprof_parse_bool(const char *text, bool *ret);

/* The report options of one command. */
struct report_options pprof_report_options(const struct pprof_config *c, const struct pprof_command *command,
                                           const char *symbol);

void pprof_print_usage(bool command_line, struct buf *out);
bool pprof_print_help(const char *topic,
                      struct buf *out); /* one command or option; false when there is no such */

#endif
