/* sql_parse.h - parses tokens into one statement. sql_execute.h says what statements do. */
#ifndef SERVE_SQL_SQL_PARSE_H
#define SERVE_SQL_SQL_PARSE_H

#include "serve/sql/sql_cluster.h"
#include "serve/sql/sql_lex.h"

enum sql_statement_kind {
    SQL_NOTHING, /* an empty text */
    SQL_ACCEPT,  /* accepted without effect: SET NAMES, BEGIN, COMMIT ... */
    SQL_SELECT,
    SQL_SHOW,
    SQL_USE,
    SQL_SET_PASSWORD,
    SQL_CREATE_USER,
    SQL_ALTER_USER,
    SQL_DROP_USER,
    SQL_GRANT,
    SQL_REVOKE,
    SQL_ADD_NODE,
    SQL_DROP_NODE,
    SQL_SET_CONFIG,
    SQL_EXECUTE_SCRIPT,
    SQL_KILL,
};

enum sql_show {
    SQL_SHOW_BACKENDS,
    SQL_SHOW_COMPUTE_NODES,
    SQL_SHOW_FRONTENDS,
    SQL_SHOW_CONFIG,
    SQL_SHOW_VARIABLES,
    SQL_SHOW_STATUS,
    SQL_SHOW_DATABASES,
    SQL_SHOW_TABLES,
    SQL_SHOW_TABLE_STATUS,
    SQL_SHOW_COLUMNS,
    SQL_SHOW_INDEX,
    SQL_SHOW_CREATE_TABLE,
    SQL_SHOW_WARNINGS,
    SQL_SHOW_COLLATION,
    SQL_SHOW_CHARSET,
    SQL_SHOW_ENGINES,
    SQL_SHOW_PLUGINS,
    SQL_SHOW_PRIVILEGES,
    SQL_SHOW_EVENTS, /* the server has none of these three, but tools that browse a server ask for them */
    SQL_SHOW_TRIGGERS,
    SQL_SHOW_ROUTINES,
    SQL_SHOW_PROCESSLIST,
    SQL_SHOW_GRANTS,
    SQL_SHOW_USERS,
};

enum sql_target {
    SQL_TARGET_FRONTEND,
    SQL_TARGET_IDS,
    SQL_TARGET_ALL_BACKENDS,
    SQL_TARGET_ALL_COMPUTE_NODES
};

/* A SELECT in SQLite's words. */
struct sql_select {
    const char *text;
    bool reads_tables;
    /* The items of the outermost SELECT, as they stand in `text` and as the client wrote them. */
    struct sql_select_item {
        const char *rendered, *written;
    } * items;
    size_t n_items;
};

struct sql_address {
    const char *host;
    int port;
};

struct sql_statement {
    enum sql_statement_kind kind;
    enum sql_show show;
    bool is_full;         /* SHOW FULL ... */
    const char *database; /* SHOW ... FROM database; NULL: none */

    const char *clauses; /* of a SHOW, in SQLite's words, from LIKE, WHERE, ORDER or LIMIT on; NULL: none */

    struct sql_select select;

    const char *name;     /* database, table, user, setting */
    const char *password; /* NULL: the statement has none */
    bool password_is_hash, if_exists;
    unsigned grants;

    enum cluster_role role;
    struct sql_address *addresses;
    size_t n_addresses;
    struct sql_property *properties; /* PROPERTIES(...), or the settings of ADMIN SET */
    size_t n_properties;

    enum sql_target target;
    uint64_t *ids;
    size_t n_ids;
    const char *script;

    uint64_t connection_id; /* KILL */
    bool statement_only;
};

/* The tokens must hold no parameters. ERR_INPUT with a sentence in the style of StarRocks. */
int sql_parse(const struct sql_tokens *tokens, struct arena *arena, struct sql_statement *ret_statement,
              struct err *err);

#endif
