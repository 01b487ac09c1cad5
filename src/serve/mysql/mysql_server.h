/* mysql_server.h - the listener: a thread that accepts, a thread for each client, all ended by
 * mysql_server_stop. */
#ifndef SERVE_MYSQL_MYSQL_SERVER_H
#define SERVE_MYSQL_MYSQL_SERVER_H

#include <stdbool.h>

#include "base/err.h"

struct cluster;
struct collector;
struct store;
struct mysql_server;

struct mysql_options {                /* all zero: the defaults */
    struct store *store;              /* of the profiles that SELECT can see; NULL: none */
    struct collector *collector;      /* of the failures; NULL: none */
    const char *host;                 /* NULL: 127.0.0.1 */
    int port;                         /* 0: any free one; see mysql_server_port */
    bool port_is_wish;                /* where another server has it, the next free one will do */
    const char *tls_cert, *tls_key;   /* PEM files; both or none */
    unsigned max_clients;             /* 0: 512 */
    unsigned idle_limit_s;            /* a client that sends nothing for so long is left; 0: eight hours */
    const char *snapshot_dir;         /* for scripts; NULL: they cannot keep snapshots */
    const char *const *symbol_search; /* folders with binaries and debug files, NULL-ended; may be NULL */
};

/* The cluster, and the store and the collector of the options, must outlive the server. */
int mysql_server_start(struct cluster *cluster, const struct mysql_options *options,
                       struct mysql_server **ret_server, struct err *err);

int mysql_server_port(const struct mysql_server *server);

/* Listens on another address from now on (a password was set or taken away); clients that are connected stay.
 * On failure the old one stays. */
int mysql_server_rebind(struct mysql_server *server, const char *host, struct err *err);

void mysql_server_stop(
    struct mysql_server *server); /* closes all connections and waits for their threads; NULL is fine */

#endif
