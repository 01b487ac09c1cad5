/* own_fd.h - a descriptor of the library in a process that is not its own.
 *
 * Hosts close descriptors they do not know (daemons close all but three) and get the same numbers back for
 * files of theirs. So a number is never used before it was seen to be what it was: every file and socket has
 * an inode of its own. (An eventfd has not: all of them share one.)
 */
#ifndef AGENT_HOST_OWN_FD_H
#define AGENT_HOST_OWN_FD_H

#include <stdbool.h>
#include <sys/types.h>

struct own_fd { /* all zero: none */
    int number_plus_1;
    dev_t device;
    ino_t inode;
};

#define OWN_FD_LOWEST 512 /* of the numbers we like */

/* Takes fd over, to a high number, where a host that closes or counts descriptors is less likely to meet it;
 * it stays where it is when the limit is low. False, and fd is closed: it is not to be had. */
bool own_fd_take(struct own_fd *own, int fd);

static inline bool own_fd_is_taken(const struct own_fd *own)
{
    return own->number_plus_1 != 0;
}

/* The number, when it is still ours; else -1, which every call refuses. */
int own_fd_number(const struct own_fd *own);

/* Closes it when it is still ours; none is there afterwards. */
void own_fd_close(struct own_fd *own);

#endif
