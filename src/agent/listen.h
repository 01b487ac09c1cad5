/* listen.h - the address the server listens at. */
#ifndef AGENT_LISTEN_H
#define AGENT_LISTEN_H

#include <stdbool.h>

#include "base/err.h"

/* A listening, non-blocking socket; *ret_port is 0 for a unix socket. Names are not looked up (that would
 * load libraries into the host): numbers, and "localhost". may_be_public: a token is set. */
int listen_open(const char *address, bool may_be_public, int *ret_port, struct err *err);

#endif
