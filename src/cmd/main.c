/* main.c - finds the command and runs it. */
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "base/version.h"
#include "cmd/command.h"

static struct command *first_command;

void command_register(struct command *command)
{
    struct command **at =
        &first_command; /* sorted by name, so that --help does not depend on the link order */
    while (*at && strcmp((*at)->name, command->name) < 0) at = (struct command **)&(*at)->next;
    command->next = *at;
    *at = command;
}

__attribute__((format(printf, 2, 0))) static void say(const char *kind, const char *format, va_list args)
{
    fflush(stdout);
    fprintf(stderr, "procprof: %s", kind);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
}

int command_fail(const struct err *err)
{
    return command_failf("%s", err->text);
}

int command_failf(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say("", format, args);
    va_end(args);
    return 1;
}

void command_warnf(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say("warning: ", format, args);
    va_end(args);
}

static const struct command *find(const char *name, const char *group)
{
    for (const struct command *c = first_command; c; c = c->next)
        if (!strcmp(c->name, name) && (!group || !strcmp(c->group, group))) return c;
    return NULL;
}

/* How many letters must be changed, added, left out or swapped with the next one. */
static size_t typing_distance(const char *a, const char *b)
{
    enum { MAX_LEN = 31 };
    size_t n_a = strlen(a), n_b = strlen(b), d[MAX_LEN + 1][MAX_LEN + 1];
    if (n_a > MAX_LEN || n_b > MAX_LEN) return SIZE_MAX;
    for (size_t i = 0; i <= n_a; i++)
        for (size_t k = 0; k <= n_b; k++) {
            if (!i || !k) {
                d[i][k] = i + k;
                continue;
            }
            size_t least = d[i - 1][k - 1] + (a[i - 1] != b[k - 1]);
            if (d[i - 1][k] + 1 < least) least = d[i - 1][k] + 1;
            if (d[i][k - 1] + 1 < least) least = d[i][k - 1] + 1;
            bool is_swap = i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1];
            if (is_swap && d[i - 2][k - 2] + 1 < least) least = d[i - 2][k - 2] + 1;
            d[i][k] = least;
        }
    return d[n_a][n_b];
}

static const char *nearest_command(const char *name)
{
    size_t least = strlen(name) < 3 ? 2 : 3; /* further off is no typing mistake any more */
    const char *nearest = NULL;
    for (const struct command *c = first_command; c; c = c->next) {
        size_t distance = typing_distance(name, c->name);
        if (distance >= least || distance >= strlen(c->name)) continue;
        least = distance;
        nearest = c->name;
    }
    return nearest;
}

static void print_usage(FILE *to)
{
    static const char *const groups[][2] = {
        {"report", "show profiles"},
        {"collect", "get profiles"},
        {"serve", "run a server"},
        {"personality", "use the command line of another tool (a link of that name works too)"},
        {"other", "other"}};
    fprintf(to,
            "procprof %s: shows where the CPU time, memory and lock waits of processes go\n\nusage: procprof "
            "COMMAND [OPTIONS] ...\n",
            PROCPROF_VERSION);
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
        int n = 0;
        for (const struct command *c = first_command; c; c = c->next) {
            if (strcmp(c->group, groups[g][0])) continue;
            if (!n++) fprintf(to, "\n%s:\n", groups[g][1]);
            fprintf(to, "  %-12s %s\n", c->name, c->summary);
        }
    }
    fprintf(to, "\n'procprof COMMAND --help' explains a command. A PROFILE is a file, a URL, or - for "
                "standard input.\n");
}

static int no_such_command(const char *name)
{
    const char *nearest = nearest_command(name);
    fprintf(stderr, "procprof: there is no command '%s'; ", name);
    if (nearest) fprintf(stderr, "did you mean '%s'? ", nearest);
    fprintf(stderr, "'procprof --help' lists them\n");
    return 2;
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is an ordinary write error */
    const struct command *command = find(path_base_name(argv[0]), "personality");
    if (command) return command->run(argc, argv);
    if (argc < 2) {
        print_usage(stderr);
        return 2;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
        if (argc == 2) {
            print_usage(stdout);
            return 0;
        }
        command = find(argv[2], NULL);
        char *ask[] = {argv[2], (char *)"--help", NULL};
        return command ? command->run(2, ask) : no_such_command(argv[2]);
    }
    if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "version")) {
        printf("procprof %s\n", PROCPROF_VERSION);
        return 0;
    }
    command = find(argv[1], NULL);
    return command ? command->run(argc - 1, argv + 1) : no_such_command(argv[1]);
}
