/* mysql_stmt.h - the prepared statements of one connection: PREPARE, EXECUTE, SEND_LONG_DATA, RESET, CLOSE.
 */
#ifndef SERVE_MYSQL_MYSQL_STMT_H
#define SERVE_MYSQL_MYSQL_STMT_H

#include "serve/mysql/mysql_packet.h"
#include "serve/sql/sql_execute.h"

struct mysql_stmt;

struct mysql_stmts { /* all zero: none */
    struct mysql_stmt **items;
    size_t n_items, cap_items;
    uint32_t last_id;
};

/* `data` is the packet after its command byte. Replies are written to the stream. */
void mysql_stmt_prepare(struct mysql_stmts *all, struct sql_session *session, const char *data, size_t n,
                        struct mysql_stream *s);
void mysql_stmt_execute(struct mysql_stmts *all, struct sql_session *session, const char *data, size_t n,
                        struct mysql_stream *s);
void mysql_stmt_long_data(struct mysql_stmts *all, const char *data, size_t n); /* it has no reply */
void mysql_stmt_reset(struct mysql_stmts *all, const char *data, size_t n, struct mysql_stream *s);
void mysql_stmt_close(struct mysql_stmts *all, const char *data, size_t n); /* no reply */
void mysql_stmts_free(struct mysql_stmts *all);

#endif
