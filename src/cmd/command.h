/* command.h - how a command joins the program: one file, one COMMAND at its end. */
#ifndef CMD_COMMAND_H
#define CMD_COMMAND_H

#include "base/err.h"

struct command {
    const char *name;
    const char *group;   /* "report", "collect", "serve", "personality", "other": how --help sorts them */
    const char *summary; /* one line, starts lower-case */
    int (*run)(int argc, char **argv); /* argv[0] is the command's name; returns the exit status */
    const struct command *next;
};

void command_register(struct command *command);

/* Also answers to a link of that name (argv[0]) when the group is "personality". */
#define COMMAND(ident, name_, group_, summary_, run_)                                                        \
    static struct command command_##ident = {name_, group_, summary_, run_, 0};                              \
    __attribute__((constructor)) static void register_##ident(void)                                          \
    {                                                                                                        \
        command_register(&command_##ident);                                                                  \
    }

/* "procprof: text" on stderr; returns 1, so that `return command_fail(&err)` ends a command. */
int command_fail(const struct err *err);
int command_failf(const char *format, ...) __attribute__((format(printf, 1, 2)));
void command_warnf(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
