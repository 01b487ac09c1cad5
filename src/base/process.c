/* process.c - see process.h. */
#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Writes the input and reads the output at the same time, so that neither pipe can block the other. */
static int pump(int to_child, int from_child, const struct buf *input, struct buf *out)
{
    size_t sent = 0;
    bool feeding = true;
    fcntl(to_child, F_SETFL, O_NONBLOCK);
    for (;;) {
        struct pollfd fds[2] = {{.fd = from_child, .events = POLLIN},
                                {.fd = feeding ? to_child : -1, .events = POLLOUT}};
        if (poll(fds, 2, -1) < 0) {
            if (errno == EINTR) continue;
            return -1;
        }
        if (feeding && fds[1].revents) {
            ssize_t n = sent < input->len ? write(to_child, input->data + sent, input->len - sent) : 0;
            if (n > 0) sent += (size_t)n;
            if (sent == input->len || (n < 0 && errno != EAGAIN && errno != EINTR)) {
                close(to_child);
                feeding = false;
            }
        }
        if (fds[0].revents) {
            buf_reserve(out, 1 << 16);
            ssize_t n = read(from_child, out->data + out->len, out->cap - out->len - 1);
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) break;
            out->len += (size_t)n;
        }
    }
    if (feeding) close(to_child);
    return 0;
}

int process_filter(char *const argv[], const struct buf *input, struct buf *out, struct err *err)
{
    int in[2], back[2];
    if (pipe2(in, O_CLOEXEC) < 0) return err_errno(err, errno, "pipe");
    if (pipe2(back, O_CLOEXEC) < 0) {
        close(in[0]);
        close(in[1]);
        return err_errno(err, errno, "pipe");
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    posix_spawn_file_actions_adddup2(&actions, back[1], 1);
    pid_t child;
    int why = posix_spawnp(&child, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(back[1]);
    if (why) {
        close(in[1]);
        close(back[0]);
        return why == ENOENT ? err_set(err, ERR_NOT_FOUND, "%s: no such program", argv[0])
                             : err_errno(err, why, "%s", argv[0]);
    }
    pump(in[1], back[0], input, out);
    close(back[0]);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return 0;
    if (WIFEXITED(status))
        return err_set(err, ERR_IO, "%s ended with status %d", argv[0], WEXITSTATUS(status));
    return err_set(err, ERR_IO, "%s was ended by signal %d", argv[0], WTERMSIG(status));
}
