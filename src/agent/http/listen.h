/* listen.h - the socket at which the library's server listens. */
#ifndef AGENT_HTTP_LISTEN_H
#define AGENT_HTTP_LISTEN_H

#include <stdbool.h>
#include <sys/socket.h>

#include "agent/host/own_fd.h"
#include "base/err.h"

struct listener { /* all zero: no listener */
    struct own_fd fd;
    int port; /* 0 for a unix socket */
    struct sockaddr_storage address;
    socklen_t address_bytes;
    dev_t device; /* of a unix socket's file */
    ino_t inode;
};

/* Opens a listening, non-blocking socket. The host part of an address is a number or "localhost"; other names
 * are not looked up, because that would load libraries into the host. may_be_public says that a token is set;
 * without one, the address must be a loopback address, and only the owner can connect to a unix socket. A
 * unix socket's file that an ended process left behind is replaced; the file of a socket that still exists is
 * not, even when that socket does not listen. */
int listener_open(struct listener *ret, const char *address, bool may_be_public, struct err *err);
/* Closes the listener, if there is one, and removes the file of a unix socket if it is still ours. */
void listener_close(struct listener *l);
void listener_forked(struct listener *l); /* in the child of a fork: the file belongs to the parent */

/* Wakes a thread that polls the listener, by a connection that is closed at once. Works even after the host
 * has closed the listener's descriptor. */
void listener_wake(const struct listener *l);

#endif
