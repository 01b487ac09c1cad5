/* preload.c - starts the library in a program that was not built with it: LD_PRELOAD=libprocprof.so
 * PROCPROF="listen=127.0.0.1:8060,..." program.
 *
 * Without PROCPROF in the environment nothing happens. A failure is one line on standard error, and the
 * program runs on: a profiler must never keep a server from starting.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/host/config.h"
#include "agent/host/threads.h"
#include "agent/http/agent_server.h"

static void report_failure(const struct err *err)
{
    char line[600];
    int n = snprintf(line, sizeof line, "procprof: %s (the program runs without the profiler)\n", err->text);
    if (n > 0 && !config_flag("quiet", false) && write(2, line, (size_t)n) < 0) return;
}

/* portfile=PATH: writes the port to a file, for scripts that use listen=...:0. "%p" stands for the process
 * id. */
static void write_port_file(void)
{
    const char *pattern = config_text("portfile", "");
    char path[512], text[16];
    size_t n = 0;
    if (!*pattern) return;
    for (; *pattern && n + 12 < sizeof path; pattern++) {
        if (pattern[0] == '%' && pattern[1] == 'p') {
            n += (size_t)snprintf(path + n, sizeof path - n, "%d", (int)getpid());
            pattern++;
        } else {
            path[n++] = *pattern;
        }
    }
    path[n] = 0;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0) return;
    int length = snprintf(text, sizeof text, "%d\n", server_port());
    if (write(fd, text, (size_t)length) < 0) unlink(path);
    close(fd);
}

/* exe=NAME: the library starts only in programs of that name, and not in a script that starts the server. */
static bool is_wanted_program(void)
{
    const char *wanted = config_text("exe", "");
    char path[512];
    if (!*wanted) return true;
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0) return false;
    path[n] = 0;
    const char *base = strrchr(path, '/');
    return !strcmp(base ? base + 1 : path, wanted) || !strcmp(path, wanted);
}

static void *start_when_free(void *argument)
{
    (void)argument;
    struct err err;
    int status;
    while ((status = agent_start_again(&err)) && status != ERR_BUSY)
        nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
    if (!status) write_port_file();
    return NULL;
}

void agent_follow_fork(void)
{
    (void)threads_start_own(start_when_free, NULL, "procprof");
}

__attribute__((constructor)) static void preloaded(void)
{
    const char *settings = getenv("PROCPROF");
    struct err err = {0};
    if (!settings) return;
    if (config_load(settings, &err)) {
        report_failure(&err);
        return;
    }
    if (!is_wanted_program()) return;
    if (agent_start(settings, &err))
        report_failure(&err);
    else
        write_port_file();
}
