/* background.c - see background.h. */
#include "cmd/background.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"

void background_detach(int log_fd)
{
    setsid();
    int null = open("/dev/null", O_RDWR);
    dup2(null, 0);
    dup2(log_fd, 1);
    dup2(log_fd, 2);
    if (null > 2) close(null);
}

int background_write_pid(const char *path, pid_t pid, struct err *err)
{
    char text[24];
    int n = snprintf(text, sizeof text, "%d\n", (int)pid);
    return file_write_atomic(path, text, (size_t)n, 0644, err);
}

sigset_t background_block_signals(void)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    return signals;
}
