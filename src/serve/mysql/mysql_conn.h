/* mysql_conn.h - the conversation with one client, from greeting to end. It runs in the caller's thread
 * until the client leaves. */
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
    bool (*start_tls)(void *io_context); /* after it the functions of `io` speak TLS */
    int idle_limit_s;                    /* 0: eight hours, MySQL's default */

    /* The rest may be NULL. */
    const struct sql_connections *connections;
    struct sql_cancel cancel;
    /* Sets a time limit: for everything from now on (until_done), else for each read. */
    void (*set_limit)(void *io_context, int seconds, bool until_done);
    void (*set_state)(void *io_context, const char *user, const char *statement,
                      size_t len); /* the current statement, for SHOW PROCESSLIST; len 0: idle */
};

void mysql_conn_run(const struct mysql_conn *conn);

#endif
