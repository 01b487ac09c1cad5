/* mysql_conn.c - see mysql_conn.h. The protocol has one command at a time, so commands are answered in
 * order. */
#include "serve/mysql/mysql_conn.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "serve/mysql/mysql_auth.h"
#include "serve/mysql/mysql_result.h"
#include "serve/mysql/mysql_stmt.h"
#include "serve/sql/sql_schema.h"

enum {
    COM_QUIT = 1,
    COM_INIT_DB = 2,
    COM_QUERY = 3,
    COM_FIELD_LIST = 4,
    COM_STATISTICS = 9,
    COM_PING = 14,
    COM_CHANGE_USER = 17,
    COM_STMT_PREPARE = 22,
    COM_STMT_EXECUTE = 23,
    COM_STMT_SEND_LONG_DATA = 24,
    COM_STMT_CLOSE = 25,
    COM_STMT_RESET = 26,
    COM_SET_OPTION = 27,
    COM_RESET_CONNECTION = 31,
};

enum {
    MAX_LOGIN_BYTES = 1 << 16,
    MAX_COMMAND_BYTES = (1 << 20) + (1 << 16),
    LOGIN_LIMIT_S = 10,
    IDLE_LIMIT_S = 28800,
    MAX_REFUSED_BYTES = 64 << 20,
    REFUSE_LIMIT_S = 5,
};

struct conn {
    const struct mysql_conn *options;
    struct mysql_stream stream;
    struct sql_session session;
    struct mysql_stmts stmts;
    uint8_t salt[MYSQL_SALT_BYTES];
    bool is_tls;
    struct buf packet;
};

static void use_database(struct conn *c, const char *name, bool say_ok)
{
    if (sql_use(&c->session, name)) {
        if (say_ok) mysql_write_ok(&c->stream, 0);
        return;
    }
    char text[200];
    snprintf(text, sizeof text, "Unknown database '%s'", name);
    mysql_write_error(&c->stream, SQL_ERROR_BAD_DB, "42000", text);
}

/* Greeting, TLS and login. False: the client was refused or left. */
static bool greet(struct conn *c)
{
    struct mysql_login login;
    const struct mysql_conn *o = c->options;
    mysql_make_salt(c->salt);
    mysql_write_greeting(&c->stream, o->id, c->salt, o->offers_tls);
    if (!mysql_flush(&c->stream) || !mysql_read(&c->stream, MAX_LOGIN_BYTES, &c->packet, NULL)) return false;
    if (!mysql_parse_login(c->packet.data, c->packet.len, &login)) goto bad;
    if (login.wants_tls) {
        if (!o->offers_tls || !o->start_tls(o->io.context)) return false;
        c->is_tls = true;
        if (!mysql_read(&c->stream, MAX_LOGIN_BYTES, &c->packet, NULL)) return false;
        if (!mysql_parse_login(c->packet.data, c->packet.len, &login) || login.wants_tls) goto bad;
    }
    if (!mysql_authenticate(&c->stream, &login, c->salt, c->is_tls, false, &c->session)) return false;
    if (*login.database && !sql_use(&c->session, login.database)) {
        use_database(c, login.database, false); /* sends the error */
        mysql_flush(&c->stream);
        return false;
    }
    mysql_write_ok(&c->stream, 0);
    return mysql_flush(&c->stream);
bad:
    mysql_write_error(&c->stream, 1043, "08S01", "Bad handshake");
    mysql_flush(&c->stream);
    return false;
}

static bool change_user(struct conn *c)
{
    struct mysql_login login;
    if (!mysql_parse_change_user(c->packet.data + 1, c->packet.len - 1, &login)) return false;
    mysql_stmts_free(&c->stmts);
    c->session.database[0] = '\0';
    mysql_make_salt(c->salt);
    if (!mysql_authenticate(&c->stream, &login, c->salt, c->is_tls, true, &c->session)) return false;
    if (*login.database)
        use_database(c, login.database, true);
    else
        mysql_write_ok(&c->stream, 0);
    return true;
}

/* Reads the grants again, so that a change counts from the next command on. False: the user was dropped. */
static bool refresh_grants(struct conn *c)
{
    struct cluster_user user;
    bool there = !cluster_user_get(c->session.cluster->cluster, c->session.user, &user);
    if (there) c->session.grants = user.grants;
    return there;
}

static void query(struct conn *c)
{
    struct arena arena = {0};
    struct sql_result result;
    const struct mysql_conn *o = c->options;
    if (o->set_state) o->set_state(o->io.context, c->session.user, c->packet.data + 1, c->packet.len - 1);
    sql_run(&c->session, c->packet.data + 1, c->packet.len - 1, &arena, &result);
    mysql_write_result(&c->stream, &result, false);
    arena_free(&arena);
    sql_release(&c->session.held);
}

/* COM_FIELD_LIST: a table's name, a zero byte, a pattern. The mysql client sends it to complete names. */
static void field_list(struct conn *c)
{
    struct arena arena = {0};
    struct sql_table columns;
    const struct sql_schema_table *table;
    struct err err;
    const char *rest = c->packet.data + 1;
    size_t len = c->packet.len - 1, name_len = strnlen(rest, len);
    const char *name = arena_strndup(&arena, rest, name_len),
               *pattern =
                   name_len < len ? arena_strndup(&arena, rest + name_len + 1, len - name_len - 1) : "";
    sql_table_init(&columns, &arena);
    int rc = sql_schema_find_dotted(&c->session, name, NULL, &table, &err);
    if (!rc) rc = sql_schema_fill(&c->session, table, true, &columns, &err);
    if (rc)
        mysql_write_error(&c->stream, SQL_ERROR_SYNTAX, "HY000", err.text);
    else
        mysql_write_fields(&c->stream, &columns, pattern);
    arena_free(&arena);
}

/* False: the connection has to end. */
static bool command(struct conn *c)
{
    uint8_t code = (uint8_t)c->packet.data[0];
    if (code != COM_QUIT && code != COM_PING && !refresh_grants(c)) {
        mysql_write_error(&c->stream, SQL_ERROR_ACCESS, "28000", "Access denied: this user was dropped");
        return false;
    }
    switch (code) {
    case COM_QUIT:
        return false;
    case COM_INIT_DB: {
        char name[128];
        snprintf(name, sizeof name, "%.*s", (int)(c->packet.len - 1 < 127 ? c->packet.len - 1 : 127),
                 c->packet.data + 1);
        use_database(c, name, true);
        return true;
    }
    case COM_QUERY:
        query(c);
        return true;
    case COM_FIELD_LIST:
        field_list(c);
        return true;
    case COM_STATISTICS:
        mysql_write(&c->stream, "procprof", 8);
        return true;
    case COM_PING:
        mysql_write_ok(&c->stream, 0);
        return true;
    case COM_CHANGE_USER:
        return change_user(c);
    case COM_SET_OPTION:
        mysql_write_eof(&c->stream);
        return true;
    case COM_RESET_CONNECTION:
        mysql_stmts_free(&c->stmts);
        mysql_write_ok(&c->stream, 0);
        return true;
    case COM_STMT_PREPARE:
        mysql_stmt_prepare(&c->stmts, &c->session, c->packet.data + 1, c->packet.len - 1, &c->stream);
        return true;
    case COM_STMT_EXECUTE:
        mysql_stmt_execute(&c->stmts, &c->session, c->packet.data + 1, c->packet.len - 1, &c->stream);
        return true;
    case COM_STMT_SEND_LONG_DATA:
        mysql_stmt_long_data(&c->stmts, c->packet.data + 1, c->packet.len - 1);
        return true;
    case COM_STMT_CLOSE:
        mysql_stmt_close(&c->stmts, c->packet.data + 1, c->packet.len - 1);
        return true;
    case COM_STMT_RESET:
        mysql_stmt_reset(&c->stmts, c->packet.data + 1, c->packet.len - 1, &c->stream);
        return true;
    default:
        mysql_write_error(&c->stream, SQL_ERROR_UNKNOWN_COMMAND, "08S01", "Unknown command");
        return true;
    }
}

/* A client that is still sending would not see the error if the server closed the connection now. So the
 * server first discards what it receives, up to a limit. */
static void refuse_length(struct conn *c)
{
    char bytes[1 << 14];
    const struct mysql_conn *o = c->options;
    mysql_write_error(&c->stream, SQL_ERROR_TOO_BIG, "08S01",
                      "Got a packet bigger than 'max_allowed_packet' bytes");
    if (!mysql_flush(&c->stream)) return;
    if (o->set_limit) o->set_limit(o->io.context, REFUSE_LIMIT_S, true);
    for (size_t n = 0; n < MAX_REFUSED_BYTES;) {
        ssize_t got = o->io.read(o->io.context, bytes, sizeof bytes);
        if (got <= 0) return;
        n += (size_t)got;
    }
}

void mysql_conn_run(const struct mysql_conn *options)
{
    struct conn c = {.options = options,
                     .stream.io = options->io,
                     .session = {.cluster = options->cluster,
                                 .connection_id = options->id,
                                 .offers_tls = options->offers_tls,
                                 .connections = options->connections,
                                 .cancel = options->cancel}};
    snprintf(c.session.peer, sizeof c.session.peer, "%s", options->peer);
    void *io = options->io.context;
    if (options->set_limit) options->set_limit(io, LOGIN_LIMIT_S, true);
    bool on = greet(&c);
    if (options->set_limit)
        options->set_limit(io, options->idle_limit_s ? options->idle_limit_s : IDLE_LIMIT_S, false);
    while (on) {
        bool too_long;
        c.stream.sequence = 0;
        if (options->set_state) options->set_state(io, c.session.user, "", 0);
        if (!mysql_read(&c.stream, MAX_COMMAND_BYTES, &c.packet, &too_long)) {
            if (too_long) refuse_length(&c);
            break;
        }
        if (!c.packet.len) break;
        on = command(&c) && mysql_flush(&c.stream);
    }
    mysql_flush(&c.stream);
    mysql_stmts_free(&c.stmts);
    buf_free(&c.packet);
    buf_free(&c.stream.out);
}
