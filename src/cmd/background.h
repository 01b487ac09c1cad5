/* background.h - what the commands that keep running share: leaving the terminal, pid files, ending on a
 * signal.
 */
#ifndef CMD_BACKGROUND_H
#define CMD_BACKGROUND_H

#include <signal.h>
#include <sys/types.h>

#include "base/err.h"

/* Leaves the terminal's session: standard input becomes /dev/null, standard output and error become log_fd.
 * For the child of a fork. */
void background_detach(int log_fd);

int background_write_pid(const char *path, pid_t pid, struct err *err);

/* Blocks SIGTERM, SIGINT and SIGHUP, so that the caller can wait for them with sigwait. Call it before the
 * first thread starts: threads inherit the mask. */
sigset_t background_block_signals(void);

#endif
