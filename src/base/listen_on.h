/* listen_on.h - opens sockets that wait for clients, for HTTP and for MySQL. */
#ifndef BASE_LISTEN_ON_H
#define BASE_LISTEN_ON_H

#include "base/err.h"

struct listen_words {    /* parts of error messages */
    const char *whom;    /* "HTTP" */
    const char *instead; /* what the user can do if the port is taken: "choose another port" */
};

/* Binds to `host` (a name or an address, IPv4 or IPv6) and `port` (0: any free port) and listens. *ret_fd is
 * a socket on which accept does not block, *ret_port is its port. err may be NULL. */
int listen_on(const struct listen_words *words, const char *host, int port, int *ret_fd, int *ret_port,
              struct err *err);

/* Returns 0 if host is an address or a name that can be resolved, and an error otherwise. */
int listen_check(const struct listen_words *words, const char *host, struct err *err);

enum { LISTEN_NEAR_PORTS = 20 };
/* Does what listen_on does. If another server has the port, tries the next ports, LISTEN_NEAR_PORTS in all.
 */
int listen_near(const struct listen_words *words, const char *host, int port, int *ret_fd, int *ret_port,
                struct err *err);

#endif
