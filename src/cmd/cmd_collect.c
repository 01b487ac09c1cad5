/* cmd_collect.c - `procprof collect`: one profile, now. What is collected decides who does it: a JVM (--jvm)
 * or an endpoint. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cmd/collect.h"
#include "cmd/command.h"

static int run_collect(int argc, char **argv)
{
    bool is_help = argc < 2;
    for (int i = 1; i < argc && strcmp(argv[i], "--"); i++) {
        if (!strcmp(argv[i], "--jvm") || !strncmp(argv[i], "--jvm=", 6)) return collect_jvm_run(argc, argv);
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) is_help = true;
    }
    if (!is_help && collect_be_run) return collect_be_run(argc, argv);
    char *ask[] = {argv[0], (char *)"--help", NULL};
    if (!is_help) return command_failf("collect needs a target: --jvm PID, a main class or :PORT"), 2;
    collect_jvm_run(2, ask);
    if (collect_be_run) {
        printf("\n");
        collect_be_run(2, ask);
    }
    return argc < 2 ? 2 : 0;
}

COMMAND(collect, "collect", "collect", "profile a running JVM or server now", run_collect)
