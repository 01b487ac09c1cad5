/* cmd_demo.c - a demo cluster of real processes: the script procprof-demo, found beside the program. */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/command.h"

/* In a source tree build/procprof has ../bin; installed, PREFIX/bin/procprof has ../lib/procprof/bin. */
static const char *const places[] = {"../bin/procprof-demo", "../lib/procprof/bin/procprof-demo", NULL};

static int run(int argc, char **argv)
{
    (void)argc;
    char self[PATH_MAX], path[PATH_MAX + 64];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0) {
        fprintf(stderr, "procprof demo: cannot read /proc/self/exe: %s\n", strerror(errno));
        return 1;
    }
    self[n] = 0;
    setenv("PROCPROF_PROGRAM", self, 1);
    char *folder = dirname(self);
    for (size_t i = 0; places[i]; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, places[i]);
        if (access(path, X_OK)) continue;
        argv[0] = path;
        execv(path, argv);
        fprintf(stderr, "procprof demo: %s: %s\n", path, strerror(errno));
        return 1;
    }
    fprintf(stderr,
            "procprof demo: the script procprof-demo is neither in %s/../bin nor in %s/../lib/procprof/bin; "
            "'make install' puts it there\n",
            folder, folder);
    return 1;
}

COMMAND(demo, "demo", "serve", "start a demo cluster of real processes", run)
