/* pprof_web.c - see pprof_web.h. It serves the same page as `procprof ui`. */
#include "cmd/pprof/pprof_web.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cmd/command.h"

int pprof_web(const char *host_and_port, bool open_browser, const struct load_options *o)
{
    const char **argv = NULL;
    size_t n = 0, cap = 0;
    char self[4096];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    if (len < 0) return command_failf("cannot read /proc/self/exe, which names the program to start");
    self[len] = '\0';
    *VEC_PUSH(argv, n, cap) = self;
    *VEC_PUSH(argv, n, cap) = "ui";
    *VEC_PUSH(argv, n, cap) = "--listen";
    *VEC_PUSH(argv, n, cap) = host_and_port;
    if (!open_browser) *VEC_PUSH(argv, n, cap) = "--no-browser";
    if (o->binary) {
        *VEC_PUSH(argv, n, cap) = "--binary";
        *VEC_PUSH(argv, n, cap) = o->binary;
    }
    for (size_t i = 0; i < o->n_bases; i++) {
        *VEC_PUSH(argv, n, cap) = "--base";
        *VEC_PUSH(argv, n, cap) = o->bases[i];
    }
    for (size_t i = 0; i < o->n_sources; i++) *VEC_PUSH(argv, n, cap) = o->sources[i];
    *VEC_PUSH(argv, n, cap) = NULL;
    execv(self, (char *const *)argv);
    return command_failf("cannot start %s", self);
}
