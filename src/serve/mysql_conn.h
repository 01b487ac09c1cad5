/* mysql_conn.h - one client from its greeting to its end. Runs in the caller's thread until the client
 * leaves. */
#ifndef SERVE_MYSQL_CONN_H
#define SERVE_MYSQL_CONN_H

#include "serve/mysql_packet.h"
#include "serve/sql_backend.h"

struct mysql_conn {
    struct mysql_io io;
    const struct sql_backend *backend;
    uint32_t id;
    char peer[64];
    bool offers_tls;
    bool (*start_tls)(void *io_context);                   /* after it the same io functions speak TLS */
    void (*set_idle_limit)(void *io_context, int seconds); /* may be NULL */
};

void mysql_conn_run(const struct mysql_conn *conn);

#endif
