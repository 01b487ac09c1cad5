/* listen.h - the address the server listens at. */
#ifndef AGENT_HTTP_LISTEN_H
#define AGENT_HTTP_LISTEN_H

#include <stdbool.h>
#include <sys/socket.h>

#include "agent/host/own_fd.h"
#include "base/err.h"

struct listener { /* all zero: none */
    struct own_fd fd;
    int port; /* 0 of a unix socket */
    struct sockaddr_storage address;
    socklen_t address_bytes;
    dev_t device; /* of a unix socket's name in the file system */
    ino_t inode;
};

/* A listening, non-blocking socket. Names are not looked up (that would load libraries into the host):
 * numbers, and "localhost". may_be_public: a token is set; without one, a unix socket is its owner's alone.
 * The name of a unix socket that is gone, of a process that has ended, is replaced; one that lives is not,
 * also when it does not listen. */
int listener_open(struct listener *ret, const char *address, bool may_be_public, struct err *err);
void listener_close(struct listener *l); /* none is fine. The name of a unix socket goes too, if it is ours */
void listener_forked(struct listener *l); /* in the child: the name is the parent's */

/* Connects to it and goes away again: wakes who polls it, also when its descriptor is closed by then. */
void listener_knock(const struct listener *l);

#endif
