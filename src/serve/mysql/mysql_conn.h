/* mysql_conn.h - one client from its greeting to its end. Runs in the caller's thread until the client
 * leaves. */
#ifndef SERVE_MYSQL_MYSQL_CONN_H
#define SERVE_MYSQL_MYSQL_CONN_H

#include "serve/mysql/mysql_packet.h"
#include "serve/sql/sql_execute.h"

struct mysql_conn {
    struct mysql_io io;
    const struct sql_cluster *cluster;
    uint32_t id;
    char peer[64];
    bool offers_tls;
    bool (*start_tls)(void *io_context); /* after it the same io functions speak TLS */
    int idle_limit_s;                    /* 0: eight hours, MySQL's own */

    /* What follows may be NULL. */
    const struct sql_connections *connections;
    struct sql_cancel cancel;
    /* How long the client may take: until_done, for everything from now on; else for each read. */
    void (*set_limit)(void *io_context, int seconds, bool until_done);
    void (*set_state)(void *io_context, const char *user, const char *statement,
                      size_t len); /* for SHOW PROCESSLIST; len 0: idle */
};

void mysql_conn_run(const struct mysql_conn *conn);

#endif
