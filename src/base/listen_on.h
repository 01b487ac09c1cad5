/* listen_on.h - a socket that waits for clients, for HTTP and for MySQL alike. */
#ifndef BASE_LISTEN_ON_H
#define BASE_LISTEN_ON_H

#include "base/err.h"

struct listen_words {    /* for the sentence of an error */
    const char *whom;    /* "HTTP" */
    const char *instead; /* what to do when the port is taken: "choose another port" */
};

/* Binds to `host` (a name or an address, IPv4 or IPv6) and `port` (0: any free one) and listens; accept does
 * not block. err may be NULL. */
int listen_on(const struct listen_words *words, const char *host, int port, int *ret_fd, int *ret_port,
              struct err *err);

/* Is it an address, or the name of one? */
int listen_check(const struct listen_words *words, const char *host, struct err *err);

enum { LISTEN_NEAR_PORTS = 20 };
/* The same, on the next free port of so many where another server has this one. */
int listen_near(const struct listen_words *words, const char *host, int port, int *ret_fd, int *ret_port,
                struct err *err);

#endif
