/* sql_execute.c - see sql_execute.h. */
#include "serve/sql/sql_execute.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "serve/sql/sql_schema.h"

void sql_result_error(struct sql_result *r, struct arena *arena, int error, const char *state,
                      const char *format, ...)
{
    char text[600];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    *r = (struct sql_result){
        .kind = SQL_RESULT_ERROR, .error = error, .state = state, .text = arena_strdup(arena, text)};
}

static void fail(struct sql_result *r, struct arena *arena, const struct err *err)
{
    sql_result_error(r, arena, SQL_ERROR_SYNTAX, "HY000", "%s", err->text);
}

static const char *grant_names(unsigned any_of)
{
    return any_of & CLUSTER_LOOK ? "OPERATE, NODE" : any_of & CLUSTER_ACT ? "OPERATE" : "GRANT";
}

static unsigned needs(const struct sql_statement *st, const char **ret_privilege)
{
    switch (st->kind) {
    case SQL_EXECUTE_SCRIPT:
        *ret_privilege = "OPERATE";
        return CLUSTER_ACT;
    case SQL_SHOW:
        if (st->show > SQL_SHOW_CONFIG && st->show != SQL_SHOW_USERS &&
            !(st->show == SQL_SHOW_GRANTS && st->name))
            return 0;
        unsigned any_of = st->show == SQL_SHOW_CONFIG   ? CLUSTER_ACT
                          : st->show >= SQL_SHOW_GRANTS ? CLUSTER_ADMIN
                                                        : CLUSTER_LOOK | CLUSTER_ACT;
        *ret_privilege = grant_names(any_of);
        return any_of;
    case SQL_ADD_NODE:
    case SQL_DROP_NODE:
        *ret_privilege = "NODE (with administration)";
        return CLUSTER_ADMIN;
    case SQL_SET_CONFIG:
        *ret_privilege = "OPERATE (with administration)";
        return CLUSTER_ADMIN;
    case SQL_CREATE_USER:
    case SQL_DROP_USER:
    case SQL_GRANT:
    case SQL_REVOKE:
        *ret_privilege = "GRANT";
        return CLUSTER_ADMIN;
    default:
        return 0;
    }
}

/* The name of the statement for the audit log. The statement itself is not logged: it may hold a password. */
static const char *statement_name(const struct sql_statement *st)
{
    switch (st->kind) {
    case SQL_SHOW:
        return "show";
    case SQL_SELECT:
        return "select";
    case SQL_SET_PASSWORD:
        return "set password";
    case SQL_CREATE_USER:
        return "create user";
    case SQL_ALTER_USER:
        return "alter user";
    case SQL_DROP_USER:
        return "drop user";
    case SQL_GRANT:
        return "grant";
    case SQL_REVOKE:
        return "revoke";
    case SQL_ADD_NODE:
        return "add node";
    case SQL_DROP_NODE:
        return "drop node";
    case SQL_SET_CONFIG:
        return "set config";
    case SQL_EXECUTE_SCRIPT:
        return "execute";
    default:
        return "statement";
    }
}

static void deny(struct sql_session *s, const struct sql_statement *st, const char *privilege,
                 struct arena *arena, struct sql_result *r)
{
    sql_result_error(r, arena, SQL_ERROR_PRIVILEGE, "42000",
                     "Access denied; you need (at least one of) the %s privilege(s) on SYSTEM for this "
                     "operation. Please ask the admin "
                     "to grant permission(s).",
                     privilege);
    sql_audit(s->cluster->cluster, s->user, s->peer, "denied", statement_name(st), "", r->text);
}

/* ---- users ---- */

static bool parse_hash(const char *text, uint8_t hash[20])
{
    if (text[0] != '*' || strlen(text) != 41) return false;
    for (size_t i = 0; i < 20; i++) {
        unsigned byte;
        if (!isxdigit((unsigned char)text[1 + 2 * i]) || sscanf(text + 1 + 2 * i, "%2x", &byte) != 1)
            return false;
        hash[i] = (uint8_t)byte;
    }
    return true;
}

static int put_password(struct sql_session *s, const struct sql_statement *st, const char *name,
                        struct err *err)
{
    struct cluster *cluster = s->cluster->cluster;
    uint8_t hash[20];
    if (!st->password_is_hash) return cluster_user_set_password(cluster, name, st->password, err);
    if (!parse_hash(st->password, hash))
        return err_set(err, ERR_INPUT,
                       "Getting analyzing error. Detail message: Password hash should be '*' and 40 "
                       "hexadecimal digits.");
    return cluster_user_set_password_hash(cluster, name, hash, err);
}

static int user_statement(struct sql_session *s, const struct sql_statement *st, struct err *err)
{
    struct cluster *cluster = s->cluster->cluster;
    const char *name = st->name ? st->name : s->user;
    struct cluster_user user;
    bool exists = !cluster_user_get(cluster, name, &user);
    if (st->kind == SQL_CREATE_USER) {
        if (exists && st->if_exists) return 0;
        if (exists)
            return err_set(err, ERR_BUSY,
                           "Getting analyzing error. Detail message: Operation CREATE USER failed for "
                           "'%s'@'%%' : user already exists.",
                           name);
        int rc = cluster_user_create(cluster, name, "", st->grants, err);
        if (rc) return rc;
        if (st->password) rc = put_password(s, st, name, err);
        if (rc) { /* a user must not exist without the password that the statement gives */
            struct err ignored;
            cluster_user_drop(cluster, name, &ignored);
        }
        return rc;
    }
    if (!exists && st->kind == SQL_DROP_USER && st->if_exists) return 0;
    if (!exists)
        return err_set(err, ERR_NOT_FOUND,
                       "Getting analyzing error. Detail message: cannot find user '%s'@'%%'!", name);
    switch (st->kind) {
    case SQL_DROP_USER:
        return cluster_user_drop(cluster, name, err);
    case SQL_GRANT:
        return cluster_user_set_grants(cluster, name, user.grants | st->grants, err);
    case SQL_REVOKE:
        return cluster_user_set_grants(cluster, name, user.grants & ~st->grants, err);
    default:
        return put_password(s, st, name, err);
    }
}

/* ---- nodes and settings ---- */

static int change_nodes(struct sql_session *s, const struct sql_statement *st, struct sql_result *r,
                        struct err *err)
{
    struct cluster *cluster = s->cluster->cluster;
    for (size_t i = 0; i < st->n_addresses; i++) {
        const struct sql_address *a = &st->addresses[i];
        char target[300];
        snprintf(target, sizeof target, "%s:%d", a->host, a->port);
        int rc = st->kind == SQL_ADD_NODE ? sql_node_add(cluster, st->role, a->host, a->port, st->properties,
                                                         st->n_properties, err)
                                          : sql_node_drop(cluster, st->role, a->host, a->port, err);
        sql_audit(s->cluster->cluster, s->user, s->peer, statement_name(st), target, "",
                  rc ? err->text : NULL);
        if (rc) return rc;
        r->n_affected++;
    }
    return 0;
}

static int change_settings(struct sql_session *s, const struct sql_statement *st, struct err *err)
{
    struct cluster *cluster = s->cluster->cluster;
    for (size_t i = 0; i < st->n_properties; i++) {
        int rc = cluster_setting_set(cluster, st->properties[i].key, st->properties[i].value, true, err);
        sql_audit(s->cluster->cluster, s->user, s->peer, statement_name(st), st->properties[i].key,
                  st->properties[i].value, rc ? err->text : NULL);
        if (rc) return rc;
    }
    return 0;
}

/* Users may kill their own connections; killing those of others needs OPERATE. */
static void kill_connection(struct sql_session *s, const struct sql_statement *st, struct arena *arena,
                            struct sql_result *r)
{
    bool may_others = s->grants & (CLUSTER_ACT | CLUSTER_ADMIN);
    const struct sql_connections *all = s->connections;
    bool done =
        all && st->connection_id <= UINT32_MAX &&
        all->kill(all->context, (uint32_t)st->connection_id, st->statement_only, may_others ? NULL : s->user);
    char target[40];
    snprintf(target, sizeof target, "connection %llu", (unsigned long long)st->connection_id);
    if (!done)
        sql_result_error(r, arena, SQL_ERROR_NO_SUCH_THREAD, "HY000", "Unknown thread id: %llu",
                         (unsigned long long)st->connection_id);
    sql_audit(s->cluster->cluster, s->user, s->peer, "kill", target, "", done ? NULL : r->text);
}

bool sql_use(struct sql_session *s, const char *name)
{
    const char *database = sql_schema_database(name);
    if (database) snprintf(s->database, sizeof s->database, "%s", database);
    return database;
}

static bool is_interrupted(const struct sql_session *s)
{
    return s->cancel.is_asked && s->cancel.is_asked(s->cancel.context);
}

static void fail_interrupted(struct sql_result *r, struct arena *arena)
{
    sql_result_error(r, arena, SQL_ERROR_INTERRUPTED, "70100", "Query execution was interrupted");
}

/* SHOW with its clauses: SQLite selects from the rows of the plain SHOW. Clients get every column as text. */
static int show(struct sql_session *s, const struct sql_statement *st, struct sql_table *t,
                unsigned *ret_needs, struct err *err)
{
    int rc = sql_show(s, st, t, err);
    if (!rc && st->clauses) {
        struct sql_table all = *t, kept;
        bool is_like = !strncasecmp(st->clauses + strspn(st->clauses, " "), "LIKE", 4);
        const char *text =
            arena_printf(t->arena, "SELECT * FROM main.shown%s%s%s%s", is_like ? " WHERE \"" : "",
                         is_like ? all.columns[all.like_column].name : "", is_like ? "\"" : "", st->clauses);
        sql_table_init(&kept, t->arena);
        rc = sql_query(s, &(struct sql_select){.text = text, .reads_tables = true}, &all, false, &kept,
                       ret_needs, err);
        t->rows = kept.rows;
        t->n_rows = kept.n_rows;
    }
    for (size_t i = 0; i < t->n_columns; i++) t->columns[i].type = SQL_COLUMN_TEXT;
    return rc;
}

/* ---- all ---- */

static void execute(struct sql_session *s, const struct sql_statement *st, struct arena *arena,
                    struct sql_result *r)
{
    *r = (struct sql_result){.kind = SQL_RESULT_OK, .state = "00000", .text = ""};
    const char *privilege = "";
    struct err err = {0};
    unsigned missing = 0;
    int rc = 0;
    bool own_password = (st->kind == SQL_SET_PASSWORD || st->kind == SQL_ALTER_USER) &&
                        (!st->name || !strcmp(st->name, s->user));
    unsigned any_of = needs(st, &privilege);
    if ((st->kind == SQL_SET_PASSWORD || st->kind == SQL_ALTER_USER) && !own_password) {
        any_of = CLUSTER_ADMIN;
        privilege = "GRANT";
    }
    if (any_of && !(s->grants & (any_of | CLUSTER_ADMIN))) {
        deny(s, st, privilege, arena, r);
        return;
    }
    switch (st->kind) {
    case SQL_NOTHING:
        sql_result_error(r, arena, 1065, "42000", "Query was empty");
        return;
    case SQL_ACCEPT:
        return;
    case SQL_USE:
        if (!sql_use(s, st->name))
            sql_result_error(r, arena, SQL_ERROR_BAD_DB, "42000", "Unknown database '%s'", st->name);
        return;
    case SQL_SELECT:
    case SQL_SHOW:
        sql_table_init(&r->table, arena);
        r->kind = SQL_RESULT_TABLE;
        rc = st->kind == SQL_SHOW ? show(s, st, &r->table, &missing, &err)
                                  : sql_query(s, &st->select, NULL, false, &r->table, &missing, &err);
        if (missing) {
            deny(s, st, grant_names(missing), arena, r);
            return;
        }
        if (rc && is_interrupted(s)) {
            fail_interrupted(r, arena);
            return;
        }
        break;
    case SQL_EXECUTE_SCRIPT:
        sql_execute_script(s, st, arena, r);
        if (is_interrupted(s)) fail_interrupted(r, arena);
        return;
    case SQL_KILL:
        kill_connection(s, st, arena, r);
        return;
    case SQL_ADD_NODE:
    case SQL_DROP_NODE:
        rc = change_nodes(s, st, r, &err);
        break;
    case SQL_SET_CONFIG:
        rc = change_settings(s, st, &err);
        break;
    default:
        rc = user_statement(s, st, &err);
        sql_audit(s->cluster->cluster, s->user, s->peer, statement_name(st), st->name ? st->name : s->user,
                  "", rc ? err.text : NULL);
    }
    if (rc) fail(r, arena, &err);
}

void sql_execute(struct sql_session *s, const struct sql_statement *st, struct arena *arena,
                 struct sql_result *r)
{
    size_t n_before = arena->total_bytes;
    sql_release(&s->held);
    execute(s, st, arena, r);
    if (!sql_hold(&s->held, arena->total_bytes - n_before)) /* SELECT already checked it while it ran */
        sql_result_error(r, arena, SQL_ERROR_SYNTAX, "HY000", "%s", SQL_TOO_MUCH_IS_HELD);
}

void sql_run(struct sql_session *s, const char *text, size_t len, struct arena *arena, struct sql_result *r)
{
    struct sql_tokens tokens;
    struct sql_statement statement;
    struct err err = {0};
    int rc = sql_lex(text, len, arena, &tokens, &err);
    if (!rc && tokens.n_params)
        rc = err_set(&err, ERR_INPUT,
                     "Getting syntax error. Detail message: a '?' needs a prepared statement.");
    if (!rc) rc = sql_parse(&tokens, arena, &statement, &err);
    if (rc)
        fail(r, arena, &err);
    else
        sql_execute(s, &statement, arena, r);
}

void sql_describe(struct sql_session *s, const struct sql_statement *st, struct arena *arena,
                  struct sql_table *t)
{
    struct err err;
    sql_table_init(t, arena);
    int rc = 0;
    unsigned missing;
    if (st->kind == SQL_SELECT) /* a SELECT without tables runs, because only its values tell the types */
        rc = sql_query(s, &st->select, NULL, st->select.reads_tables, t, &missing, &err);
    else if (st->kind == SQL_SHOW && (s->grants || st->show > SQL_SHOW_CONFIG))
        rc = sql_show(s, st, t, &err);
    else if (st->kind == SQL_EXECUTE_SCRIPT)
        sql_table_columns(t, st->target == SQL_TARGET_FRONTEND ||
                                     (st->target == SQL_TARGET_IDS && st->n_ids == 1)
                                 ? "result"
                                 : "node_id,status,result");
    if (st->kind == SQL_SHOW)
        for (size_t i = 0; i < t->n_columns; i++) t->columns[i].type = SQL_COLUMN_TEXT;
    t->n_rows = 0;
    if (rc) t->n_columns = 0;
}
