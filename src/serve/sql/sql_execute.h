/* sql_execute.h - executes a statement for a session and returns its result. It knows nothing of packets.
 *
 * A result is a table, a count of changed things, or an error with MySQL's number and state. The error of a
 * script is not an SQL error: its text is in the result, as in StarRocks.
 */
#ifndef SERVE_SQL_SQL_EXECUTE_H
#define SERVE_SQL_SQL_EXECUTE_H

#include "serve/sql/sql_cluster.h"
#include "serve/sql/sql_memory.h"
#include "serve/sql/sql_parse.h"
#include "serve/sql/sql_table.h"

#define SQL_SERVER_VERSION "8.0.33"

/* All connections of the server, for SHOW PROCESSLIST and KILL. */
struct sql_connection {
    uint32_t id;
    const char *user, *peer, *statement; /* "": idle */
    int64_t connected_s, since_s;        /* seconds since 1970; since_s: of its statement or idle time */
};

struct sql_connections {
    void *context;
    size_t (*list)(void *context, struct arena *arena, struct sql_connection **ret_connections);
    /* Ends the connection, or only its statement. With an owner, only a connection of that user. False:
     * there is no such connection. */
    bool (*kill)(void *context, uint32_t id, bool statement_only, const char *owner);
};

struct sql_session {
    const struct sql_cluster *cluster;
    uint32_t connection_id;
    char user[64];
    char peer[64]; /* IP address, for the audit log */
    char database[128];
    unsigned grants; /* enum cluster_grant; read again before each statement, so a change counts at once */
    bool offers_tls;
    const struct sql_connections *connections; /* NULL: this session is the only one */
    struct sql_cancel cancel;                  /* is_asked NULL: never */
    struct sql_held held;                      /* the memory of the last result */
};

enum {
    SQL_ERROR_SYNTAX = 1064, /* StarRocks' number for nearly everything */
    SQL_ERROR_ACCESS = 1045,
    SQL_ERROR_BAD_DB = 1049,
    SQL_ERROR_UNKNOWN_COMMAND = 1047,
    SQL_ERROR_TOO_BIG = 1153,
    SQL_ERROR_NO_SUCH_THREAD = 1094,
    SQL_ERROR_INTERRUPTED = 1317,
    SQL_ERROR_PRIVILEGE = 5203,
};

struct sql_result {
    enum { SQL_RESULT_OK, SQL_RESULT_TABLE, SQL_RESULT_ERROR } kind;
    struct sql_table table;
    uint64_t n_affected;
    int error;
    const char *state; /* five characters */
    const char *text;  /* of the error */
};

/* All text of *ret_result lives in the arena. A caller that frees the arena must also release session->held;
 * otherwise the next statement releases it. */
void sql_execute(struct sql_session *session, const struct sql_statement *statement, struct arena *arena,
                 struct sql_result *ret_result);

/* Lexes, parses and executes the text. A '?' in it is an error. */
void sql_run(struct sql_session *session, const char *text, size_t len, struct arena *arena,
             struct sql_result *ret_result);

/* The columns that a statement will have, for COM_STMT_PREPARE. There are none when it returns no table, or
 * when its columns are known only after it ran. */
void sql_describe(struct sql_session *session, const struct sql_statement *statement, struct arena *arena,
                  struct sql_table *ret_table);

/* Sets the database of the session. False: there is no database of that name. */
bool sql_use(struct sql_session *session, const char *name);

void sql_result_error(struct sql_result *r, struct arena *arena, int error, const char *state,
                      const char *format, ...) __attribute__((format(printf, 5, 6)));

/* ---- shared by the files of this room ---- */

void sql_show_nodes(struct sql_session *s, const struct sql_statement *st,
                    struct sql_table *t); /* sql_show_nodes.c */
int sql_show(struct sql_session *s, const struct sql_statement *st, struct sql_table *t,
             struct err *err); /* sql_show.c */
/* Runs a SELECT in SQLite, over the tables of sql_schema.h and `shown` (NULL: none), which it sees as
 * main.shown. *ret_needs is not 0 when it failed because the user has none of those grants. */
int sql_query(struct sql_session *s, const struct sql_select *select, const struct sql_table *shown,
              bool describe_only, struct sql_table *t, unsigned *ret_needs,
              struct err *err); /* sql_query.c */
/* MySQL's LIKE: % and _ are wildcards unless a backslash stands before them; case is ignored. The time is at
 * most proportional to the product of both lengths. */
bool sql_like(const char *s, const char *pattern);              /* sql_functions.c */
const char *sql_time_text(struct arena *arena, int64_t time_s); /* 2026-01-31 23:59:59, local; NULL for 0 */
const char *sql_variable(const struct sql_session *s, const char *name); /* NULL: no such variable */
void sql_execute_script(struct sql_session *s, const struct sql_statement *st, struct arena *arena,
                        struct sql_result *r); /* sql_script.c */

#endif
