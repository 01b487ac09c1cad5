/* own_fd.h - a file descriptor that belongs to the library.
 *
 * Threads of the host may close descriptors that they did not open (a daemon closes all but three) and then
 * open files of their own under the same numbers. The library shares the table of descriptors with them.
 * Without a check, the library would read from, write to or close a file of the host. So every descriptor
 * keeps the device and inode of the file it was opened for, and own_fd_number compares them before each use.
 * This works for files and sockets, which have an inode each; it does not work for an eventfd, because all
 * eventfds share one inode.
 *
 * The check and the use are two steps: a host that replaces the descriptor between them is not noticed.
 */
#ifndef AGENT_HOST_OWN_FD_H
#define AGENT_HOST_OWN_FD_H

#include <stdbool.h>
#include <sys/types.h>

struct own_fd { /* all zero: no descriptor */
    int number_plus_1;
    dev_t device;
    ino_t inode;
};

#define OWN_FD_LOWEST 512

/* Takes ownership of fd and moves it to a number of OWN_FD_LOWEST or more, where a host that closes or counts
 * descriptors is less likely to touch it. It keeps its number when the limit on descriptors is lower. On
 * failure, returns false and fd is closed. */
bool own_fd_take(struct own_fd *own, int fd);

static inline bool own_fd_is_taken(const struct own_fd *own)
{
    return own->number_plus_1 != 0;
}

/* The number while it still refers to our file, else -1, which every system call refuses. */
int own_fd_number(const struct own_fd *own);

/* Closes the descriptor if it is still ours, and clears own. */
void own_fd_close(struct own_fd *own);

#endif
