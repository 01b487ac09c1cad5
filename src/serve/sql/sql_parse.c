/* sql_parse.c - see sql_parse.h. A recursive descent parser with one function for each statement. */
#include "serve/sql/sql_parse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/text.h"
#include "serve/sql/sql_parser.h"

/* ---- steps ---- */

const struct sql_token *sql_peek(const struct sql_parser *p, size_t ahead)
{
    size_t i = p->at + ahead, last = p->tokens->n_items - 1;
    return &p->tokens->items[i < last ? i : last];
}

int sql_unexpected(struct sql_parser *p, const char *wanted)
{
    if (p->rc) return p->rc;
    const struct sql_token *t = sql_peek(p, 0);
    unsigned line, column;
    sql_place(p->tokens->source, t->at, &line, &column);
    int len = t->end - t->at > 64 ? 64 : (int)(t->end - t->at);
    if (t->kind == SQL_TOKEN_END)
        return p->rc = err_set(p->err, ERR_INPUT,
                               "Getting syntax error at line %u, column %u. Detail message: Unexpected end "
                               "of the statement, "
                               "expected %s.",
                               line, column, wanted);
    return p->rc = err_set(p->err, ERR_INPUT,
                           "Getting syntax error at line %u, column %u. Detail message: Unexpected input "
                           "'%.*s', expected %s.",
                           line, column, len, p->tokens->source + t->at, wanted);
}

bool sql_accept(struct sql_parser *p, const char *word)
{
    if (p->rc || !sql_token_is(sql_peek(p, 0), word)) return false;
    p->at++;
    return true;
}

void sql_expect(struct sql_parser *p, const char *word)
{
    char wanted[64];
    if (p->rc || sql_accept(p, word)) return;
    snprintf(wanted, sizeof wanted, "'%s'", word);
    sql_unexpected(p, wanted);
}

const char *sql_expect_string(struct sql_parser *p, const char *what)
{
    const struct sql_token *t = sql_peek(p, 0);
    if (!p->rc && t->kind != SQL_TOKEN_STRING) sql_unexpected(p, what);
    if (p->rc) return "";
    p->at++;
    return t->text;
}

const char *sql_expect_name(struct sql_parser *p, const char *what)
{
    const struct sql_token *t = sql_peek(p, 0);
    if (!p->rc && t->kind != SQL_TOKEN_STRING && t->kind != SQL_TOKEN_WORD && t->kind != SQL_TOKEN_QUOTED)
        sql_unexpected(p, what);
    if (p->rc) return "";
    p->at++;
    return t->text;
}

uint64_t sql_expect_number(struct sql_parser *p, const char *what)
{
    const struct sql_token *t = sql_peek(p, 0);
    char *end = NULL;
    errno = 0;
    uint64_t value = t->kind == SQL_TOKEN_NUMBER ? strtoull(t->text, &end, 10) : 0;
    if (!p->rc && (!end || *end || errno || *t->text == '-')) sql_unexpected(p, what);
    if (p->rc) return 0;
    p->at++;
    return value;
}

const char *sql_dotted_name(struct sql_parser *p, const char *what)
{
    const char *name = sql_expect_name(p, what);
    for (int i = 0;
         i < 3 && !p->rc && sql_token_is(sql_peek(p, 0), ".") && sql_peek(p, 1)->kind != SQL_TOKEN_PUNCT;
         i++) {
        p->at++;
        name = arena_printf(p->arena, "%s.%s", name, sql_expect_name(p, what));
    }
    return name;
}

/* ---- clauses ---- */

/* LIKE 'x' or WHERE ..., ORDER BY ..., LIMIT ...: all to the end of the statement. */
static void parse_clauses(struct sql_parser *p, struct sql_statement *s)
{
    static const char *const words[] = {"LIKE", "WHERE", "ORDER", "LIMIT"};
    for (size_t i = 0; !p->rc && !s->clauses && i < sizeof words / sizeof *words; i++)
        if (sql_token_is(sql_peek(p, 0), words[i])) s->clauses = sql_render_clauses(p);
}

/* ("k" = "v", ...) */
static void parse_properties(struct sql_parser *p, struct sql_statement *s)
{
    size_t cap = 0;
    struct sql_property *properties = NULL;
    sql_expect(p, "(");
    do {
        struct sql_property item = {.key = sql_expect_name(p, "a name in quotes")};
        sql_expect(p, "=");
        const struct sql_token *t = sql_peek(p, 0);
        if (t->kind == SQL_TOKEN_NUMBER && !p->rc) {
            item.value = t->text;
            p->at++;
        } else {
            item.value = sql_expect_name(p, "a value in quotes");
        }
        if (p->rc) break;
        *VEC_PUSH(properties, s->n_properties, cap) = item;
    } while (s->n_properties < SQL_MAX_LIST && sql_accept(p, ","));
    sql_expect(p, ")");
    s->properties = arena_array(p->arena, s->n_properties + 1, sizeof *properties);
    if (s->n_properties) memcpy(s->properties, properties, s->n_properties * sizeof *properties);
    mem_free(properties);
}

/* ---- statements ---- */

static void parse_show_proc(struct sql_parser *p, struct sql_statement *s)
{
    const struct sql_token *at = sql_peek(p, 0);
    const char *path = sql_expect_string(p, "a path in quotes");
    while (*path == '/') path++;
    if (!strcasecmp(path, "backends"))
        s->show = SQL_SHOW_BACKENDS;
    else if (!strcasecmp(path, "frontends"))
        s->show = SQL_SHOW_FRONTENDS;
    else if (!strcasecmp(path, "compute_nodes"))
        s->show = SQL_SHOW_COMPUTE_NODES;
    else if (!p->rc) {
        p->at = (size_t)(at - p->tokens->items);
        sql_unexpected(p, "'/backends', '/frontends' or '/compute_nodes'");
    }
}

static void parse_from(struct sql_parser *p, struct sql_statement *s)
{
    if (sql_accept(p, "FROM") || sql_accept(p, "IN")) s->database = sql_dotted_name(p, "a database");
}

static const char *parse_user(struct sql_parser *p)
{
    const char *name = sql_expect_name(p, "a user");
    const struct sql_token *t = sql_peek(p, 0);
    if (!p->rc && t->kind == SQL_TOKEN_VARIABLE && !t->is_system) { /* the host is ignored */
        p->at++;
        if (sql_accept(p, "%")) return name;
    }
    return name;
}

/* SHOW COLUMNS and INDEX: FROM a table, then optionally FROM its database. */
static void parse_of_table(struct sql_parser *p, struct sql_statement *s, enum sql_show show)
{
    s->show = show;
    if (!sql_accept(p, "IN")) sql_expect(p, "FROM");
    s->name = sql_dotted_name(p, "a table");
    parse_from(p, s);
}

static void parse_show(struct sql_parser *p, struct sql_statement *s)
{
    static const struct {
        const char *word;
        enum sql_show show;
    } plain[] = {
        {"BACKENDS", SQL_SHOW_BACKENDS},       {"FRONTENDS", SQL_SHOW_FRONTENDS},
        {"VARIABLES", SQL_SHOW_VARIABLES},     {"STATUS", SQL_SHOW_STATUS},
        {"DATABASES", SQL_SHOW_DATABASES},     {"SCHEMAS", SQL_SHOW_DATABASES},
        {"WARNINGS", SQL_SHOW_WARNINGS},       {"ERRORS", SQL_SHOW_WARNINGS},
        {"COLLATION", SQL_SHOW_COLLATION},     {"CHARSET", SQL_SHOW_CHARSET},
        {"ENGINES", SQL_SHOW_ENGINES},         {"PLUGINS", SQL_SHOW_PLUGINS},
        {"PROCESSLIST", SQL_SHOW_PROCESSLIST}, {"USERS", SQL_SHOW_USERS},
        {"PRIVILEGES", SQL_SHOW_PRIVILEGES},
    };
    s->kind = SQL_SHOW;
    if (!sql_accept(p, "GLOBAL") && !sql_accept(p, "SESSION")) {
        sql_accept(p, "EXTENDED");
        s->is_full = sql_accept(p, "FULL");
        if (!s->is_full) sql_accept(p, "STORAGE");
    }
    bool found = false;
    for (size_t i = 0; i < sizeof plain / sizeof *plain && !found; i++) {
        if (!sql_accept(p, plain[i].word)) continue;
        s->show = plain[i].show;
        found = true;
    }
    if (found) {
    } else if (sql_accept(p, "COMPUTE")) {
        sql_expect(p, "NODES");
        s->show = SQL_SHOW_COMPUTE_NODES;
    } else if (sql_accept(p, "CHARACTER")) {
        sql_expect(p, "SET");
        s->show = SQL_SHOW_CHARSET;
    } else if (sql_accept(p, "PROC")) {
        parse_show_proc(p, s);
    } else if (sql_accept(p, "TABLES")) {
        s->show = SQL_SHOW_TABLES;
        parse_from(p, s);
    } else if (sql_accept(p, "TABLE")) {
        sql_expect(p, "STATUS");
        s->show = SQL_SHOW_TABLE_STATUS;
        parse_from(p, s);
    } else if (sql_accept(p, "CREATE")) {
        if (!sql_accept(p, "VIEW")) sql_expect(p, "TABLE");
        s->show = SQL_SHOW_CREATE_TABLE;
        s->name = sql_dotted_name(p, "a table");
    } else if (sql_accept(p, "COLUMNS") || sql_accept(p, "FIELDS")) {
        parse_of_table(p, s, SQL_SHOW_COLUMNS);
    } else if (sql_accept(p, "INDEX") || sql_accept(p, "INDEXES") || sql_accept(p, "KEYS")) {
        parse_of_table(p, s, SQL_SHOW_INDEX);
    } else if (sql_accept(p, "EVENTS") || sql_accept(p, "TRIGGERS")) {
        bool is_events = !strcasecmp(p->tokens->items[p->at - 1].text, "EVENTS");
        s->show = is_events ? SQL_SHOW_EVENTS : SQL_SHOW_TRIGGERS;
        parse_from(p, s);
    } else if (sql_accept(p, "PROCEDURE") || sql_accept(p, "FUNCTION")) {
        sql_expect(p, "STATUS");
        s->show = SQL_SHOW_ROUTINES;
    } else if (sql_accept(p, "GRANTS")) {
        s->show = SQL_SHOW_GRANTS;
        if (sql_accept(p, "FOR") && !sql_accept(p, "CURRENT_USER")) s->name = parse_user(p);
    } else {
        sql_unexpected(p, "BACKENDS, COMPUTE NODES, FRONTENDS, VARIABLES or another object of SHOW");
    }
    parse_clauses(p, s);
}

static void parse_password(struct sql_parser *p, struct sql_statement *s)
{
    if (sql_accept(p, "PASSWORD")) {
        if (sql_accept(p, "(")) {
            s->password = sql_expect_string(p, "a password in quotes");
            sql_expect(p, ")");
            return;
        }
        s->password_is_hash = true; /* IDENTIFIED BY PASSWORD '*HEX' */
    }
    s->password = sql_expect_string(p, "a password in quotes");
}

static void parse_identified(struct sql_parser *p, struct sql_statement *s)
{
    if (!sql_accept(p, "IDENTIFIED")) return;
    if (sql_accept(p, "WITH")) {
        const struct sql_token *at = sql_peek(p, 0);
        const char *plugin = sql_expect_name(p, "an authentication plugin");
        if (!p->rc && strcasecmp(plugin, "mysql_native_password") &&
            strcasecmp(plugin, "caching_sha2_password")) {
            p->at = (size_t)(at - p->tokens->items);
            sql_unexpected(p, "mysql_native_password or caching_sha2_password");
        }
        if (sql_accept(p, "AS")) {
            s->password_is_hash = true;
            s->password = sql_expect_string(p, "a password hash in quotes");
            return;
        }
        if (!sql_token_is(sql_peek(p, 0), "BY")) return;
    }
    sql_expect(p, "BY");
    parse_password(p, s);
}

static void parse_set(struct sql_parser *p, struct sql_statement *s)
{
    if (sql_accept(p, "PASSWORD")) {
        s->kind = SQL_SET_PASSWORD;
        if (sql_accept(p, "FOR")) s->name = parse_user(p);
        sql_expect(p, "=");
        parse_password(p, s);
        /* A value such as *2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19 is the hash of the password, as in
         * MySQL. */
        if (!p->rc && s->password[0] == '*' && strlen(s->password) == 41 &&
            strspn(s->password + 1, "0123456789ABCDEFabcdef") == 40)
            s->password_is_hash = true;
        return;
    }
    s->kind = SQL_ACCEPT; /* clients set many session variables; no statement depends on them */
    if (sql_peek(p, 0)->kind == SQL_TOKEN_END) sql_unexpected(p, "a variable");
    while (sql_peek(p, 0)->kind != SQL_TOKEN_END && !sql_token_is(sql_peek(p, 0), ";")) p->at++;
}

static unsigned parse_privilege(struct sql_parser *p, bool *ret_is_role);

/* CREATE USER, ALTER USER and DROP USER, from the word USER on. */
static void parse_user_statement(struct sql_parser *p, struct sql_statement *s, enum sql_statement_kind kind)
{
    s->kind = kind;
    sql_expect(p, "USER");
    if (sql_accept(p, "IF")) {
        if (kind == SQL_CREATE_USER) sql_expect(p, "NOT");
        sql_expect(p, "EXISTS");
        s->if_exists = true;
    }
    s->name = parse_user(p);
    if (kind == SQL_DROP_USER) return;
    parse_identified(p, s);
    if (kind == SQL_CREATE_USER && sql_accept(p, "DEFAULT")) {
        bool is_role;
        sql_expect(p, "ROLE");
        do s->grants |= parse_privilege(p, &is_role);
        while (sql_accept(p, ","));
    }
    if (kind == SQL_ALTER_USER && !p->rc && !s->password) sql_unexpected(p, "IDENTIFIED BY");
}

static unsigned parse_privilege(struct sql_parser *p, bool *ret_is_role)
{
    static const struct {
        const char *word;
        unsigned grants;
        bool is_role;
    } known[] = {
        {"NODE", CLUSTER_LOOK, false},        {"OPERATE", CLUSTER_ACT, false},
        {"ALL", CLUSTER_ALL, false},          {"ROOT", CLUSTER_ALL, true},
        {"CLUSTER_ADMIN", CLUSTER_ACT, true}, {"USER_ADMIN", CLUSTER_ADMIN, true},
        {"DB_ADMIN", CLUSTER_LOOK, true},
    };
    const struct sql_token *t = sql_peek(p, 0);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (p->rc ||
            (t->kind != SQL_TOKEN_WORD && t->kind != SQL_TOKEN_STRING && t->kind != SQL_TOKEN_QUOTED))
            break;
        if (strcasecmp(t->text, known[i].word)) continue;
        p->at++;
        if (!strcmp(known[i].word, "ALL")) sql_accept(p, "PRIVILEGES");
        *ret_is_role = known[i].is_role;
        return known[i].grants;
    }
    sql_unexpected(p, "NODE, OPERATE or ALL (ON SYSTEM), or the role root, cluster_admin or user_admin");
    return 0;
}

static void parse_grant(struct sql_parser *p, struct sql_statement *s, bool revoke)
{
    s->kind = revoke ? SQL_REVOKE : SQL_GRANT;
    bool is_role = false;
    do s->grants |= parse_privilege(p, &is_role);
    while (sql_accept(p, ","));
    if (sql_accept(p, "ON"))
        sql_expect(p, "SYSTEM");
    else if (!is_role)
        sql_expect(p, "ON");
    sql_expect(p, revoke ? "FROM" : "TO");
    if (sql_token_is(sql_peek(p, 0), "USER") && sql_peek(p, 1)->kind != SQL_TOKEN_END) p->at++;
    s->name = parse_user(p);
}

static void parse_addresses(struct sql_parser *p, struct sql_statement *s)
{
    size_t cap = 0;
    struct sql_address *addresses = NULL;
    do {
        size_t before = p->at;
        const char *text = sql_expect_string(p, "'host:port'");
        const char *colon = strrchr(text, ':');
        uint16_t port = 0;
        bool bracketed = *text == '[' && colon && colon > text + 1 && colon[-1] == ']';
        if (!p->rc && (!colon || colon == text || !text_to_port(colon + 1, &port) ||
                       (!bracketed && memchr(text, ':', (size_t)(colon - text))))) {
            p->at = before;
            sql_unexpected(p, "'host:port' (an IPv6 address in brackets)");
        }
        if (p->rc) break;
        const char *host = bracketed ? arena_strndup(p->arena, text + 1, (size_t)(colon - text) - 2)
                                     : arena_strndup(p->arena, text, (size_t)(colon - text));
        *VEC_PUSH(addresses, s->n_addresses, cap) = (struct sql_address){.host = host, .port = port};
    } while (s->n_addresses < SQL_MAX_LIST && sql_accept(p, ","));
    s->addresses = arena_array(p->arena, s->n_addresses + 1, sizeof *addresses);
    if (s->n_addresses) memcpy(s->addresses, addresses, s->n_addresses * sizeof *addresses);
    mem_free(addresses);
}

static void parse_alter(struct sql_parser *p, struct sql_statement *s)
{
    if (sql_token_is(sql_peek(p, 0), "USER")) {
        parse_user_statement(p, s, SQL_ALTER_USER);
        return;
    }
    sql_expect(p, "SYSTEM");
    if (sql_accept(p, "ADD"))
        s->kind = SQL_ADD_NODE;
    else if (sql_accept(p, "DROP"))
        s->kind = SQL_DROP_NODE;
    else
        sql_unexpected(p, "ADD or DROP");
    if (sql_accept(p, "BACKEND")) {
        s->role = CLUSTER_BE;
    } else if (sql_accept(p, "COMPUTE")) {
        sql_expect(p, "NODE");
        s->role = CLUSTER_CN;
    } else if (sql_accept(p, "FRONTEND") || sql_accept(p, "FOLLOWER") || sql_accept(p, "OBSERVER")) {
        s->role = CLUSTER_FE;
    } else {
        sql_unexpected(p, "BACKEND, COMPUTE NODE or FRONTEND");
    }
    parse_addresses(p, s);
    if (sql_accept(p, "PROPERTIES")) parse_properties(p, s);
    sql_accept(p, "FORCE");
}

static void parse_execute(struct sql_parser *p, struct sql_statement *s)
{
    s->kind = SQL_EXECUTE_SCRIPT;
    sql_expect(p, "ON");
    if (sql_accept(p, "FRONTEND")) {
        s->target = SQL_TARGET_FRONTEND;
    } else if (sql_accept(p, "ALL")) {
        if (sql_accept(p, "BACKENDS")) {
            s->target = SQL_TARGET_ALL_BACKENDS;
        } else if (sql_accept(p, "COMPUTE")) {
            sql_expect(p, "NODES");
            s->target = SQL_TARGET_ALL_COMPUTE_NODES;
        } else {
            sql_unexpected(p, "BACKENDS or COMPUTE NODES");
        }
    } else {
        s->target = SQL_TARGET_IDS;
        size_t cap = 0;
        uint64_t *ids = NULL;
        do
            *VEC_PUSH(ids, s->n_ids, cap) =
                sql_expect_number(p, "FRONTEND, ALL BACKENDS, ALL COMPUTE NODES or the id of a node");
        while (!p->rc && s->n_ids < SQL_MAX_LIST && sql_accept(p, ","));
        s->ids = arena_array(p->arena, s->n_ids, sizeof *ids);
        memcpy(s->ids, ids, s->n_ids * sizeof *ids);
        mem_free(ids);
    }
    s->script = sql_expect_string(p, "a script in quotes");
}

static void parse_admin(struct sql_parser *p, struct sql_statement *s)
{
    if (sql_accept(p, "EXECUTE")) {
        parse_execute(p, s);
    } else if (sql_accept(p, "SET")) {
        s->kind = SQL_SET_CONFIG;
        sql_expect(p, "FRONTEND");
        sql_expect(p, "CONFIG");
        parse_properties(p, s);
        if (sql_accept(p, "WITH")) sql_expect(p, "PERSISTENT"); /* the server keeps every change */
    } else if (sql_accept(p, "SHOW")) {
        s->kind = SQL_SHOW;
        s->show = SQL_SHOW_CONFIG;
        sql_expect(p, "FRONTEND");
        sql_expect(p, "CONFIG");
        parse_clauses(p, s);
    } else {
        sql_unexpected(p, "EXECUTE, SET or SHOW");
    }
}

int sql_parse(const struct sql_tokens *tokens, struct arena *arena, struct sql_statement *s, struct err *err)
{
    struct sql_parser p = {.tokens = tokens, .arena = arena, .err = err};
    *s = (struct sql_statement){.kind = SQL_NOTHING};
    while (sql_accept(&p, ";")) {
    }
    if (sql_peek(&p, 0)->kind == SQL_TOKEN_END) return 0;
    if (sql_accept(&p, "SELECT")) {
        s->kind = SQL_SELECT;
        sql_render_select(&p, &s->select);
    } else if (sql_accept(&p, "SHOW"))
        parse_show(&p, s);
    else if (sql_accept(&p, "ADMIN"))
        parse_admin(&p, s);
    else if (sql_accept(&p, "ALTER"))
        parse_alter(&p, s);
    else if (sql_accept(&p, "SET"))
        parse_set(&p, s);
    else if (sql_accept(&p, "CREATE"))
        parse_user_statement(&p, s, SQL_CREATE_USER);
    else if (sql_accept(&p, "DROP"))
        parse_user_statement(&p, s, SQL_DROP_USER);
    else if (sql_accept(&p, "GRANT"))
        parse_grant(&p, s, false);
    else if (sql_accept(&p, "REVOKE"))
        parse_grant(&p, s, true);
    else if (sql_accept(&p, "USE")) {
        s->kind = SQL_USE;
        s->name = sql_dotted_name(&p, "a database");
    } else if (sql_accept(&p, "DESC") || sql_accept(&p, "DESCRIBE") || sql_accept(&p, "EXPLAIN")) {
        s->kind = SQL_SHOW;
        s->show = SQL_SHOW_COLUMNS;
        s->name = sql_dotted_name(&p, "a table");
    } else if (sql_accept(&p, "BEGIN") || sql_accept(&p, "COMMIT") || sql_accept(&p, "ROLLBACK")) {
        s->kind = SQL_ACCEPT;
    } else if (sql_accept(&p, "KILL")) {
        s->kind = SQL_KILL;
        s->statement_only = sql_accept(&p, "QUERY");
        if (!s->statement_only) sql_accept(&p, "CONNECTION");
        s->connection_id = sql_expect_number(&p, "the id of a connection");
    } else if (sql_accept(&p, "START")) {
        sql_expect(&p, "TRANSACTION");
        s->kind = SQL_ACCEPT;
    } else {
        sql_unexpected(&p, "SHOW, ADMIN, ALTER SYSTEM, SELECT, SET, CREATE USER, GRANT or USE");
    }
    while (sql_accept(&p, ";")) {
    }
    if (!p.rc && sql_peek(&p, 0)->kind != SQL_TOKEN_END) sql_unexpected(&p, "the end of the statement");
    return p.rc;
}
