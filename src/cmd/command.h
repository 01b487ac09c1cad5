/* command.h - registers the commands of the program. Each command is one file with one COMMAND at its end. */
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

/* A command of the group "personality" also runs when a link of its name (argv[0]) starts the program. */
#define COMMAND(ident, name_, group_, summary_, run_)                                                        \
    static struct command command_##ident = {name_, group_, summary_, run_, 0};                              \
    __attribute__((constructor)) static void register_##ident(void)                                          \
    {                                                                                                        \
        command_register(&command_##ident);                                                                  \
    }

/* Both print "procprof: text" on stderr and return 1, so that `return command_fail(&err)` ends a command. */
int command_fail(const struct err *err);
int command_failf(const char *format, ...) __attribute__((format(printf, 1, 2)));
void command_warnf(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
