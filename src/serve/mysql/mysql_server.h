/* mysql_server.h - the listener for MySQL clients. One thread accepts, and each client has a thread.
 * mysql_server_stop ends them all. */
#ifndef SERVE_MYSQL_MYSQL_SERVER_H
#define SERVE_MYSQL_MYSQL_SERVER_H

#include <stdbool.h>

#include "base/err.h"

struct cluster;
struct collector;
struct store;
struct mysql_server;

struct mysql_options {                /* all zero: defaults */
    struct store *store;              /* the profiles that SELECT reads; NULL: none */
    struct collector *collector;      /* the failed captures that SELECT reads; NULL: none */
    const char *host;                 /* NULL: 127.0.0.1 */
    int port;                         /* 0: any free port; see mysql_server_port */
    bool port_is_wish;                /* when the port is taken, use the next free one */
    const char *tls_cert, *tls_key;   /* PEM files; either both or none */
    unsigned max_clients;             /* 0: 512 */
    unsigned idle_limit_s;            /* a client that sends nothing is disconnected; 0: eight hours */
    const char *snapshot_dir;         /* where scripts keep snapshots; NULL: they cannot keep any */
    const char *const *symbol_search; /* folders of binaries and debug files; ends with NULL */
};

/* The cluster, and the store and the collector of the options, must outlive the server. */
int mysql_server_start(struct cluster *cluster, const struct mysql_options *options,
                       struct mysql_server **ret_server, struct err *err);

int mysql_server_port(const struct mysql_server *server);

/* Listens on another address from now on, because root's password was set or removed. Connected clients
 * stay. After a failure the server listens on the old address again. */
int mysql_server_rebind(struct mysql_server *server, const char *host, struct err *err);

void mysql_server_stop(
    struct mysql_server *server); /* closes all connections and waits for their threads; NULL is allowed */

#endif
