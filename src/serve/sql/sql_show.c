/* sql_show.c - SHOW, except for nodes: settings, users, and what clients ask a server for when they connect.
 */
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/mem.h"
#include "serve/sql/sql_schema.h"

static const struct {
    const char *name, *value;
} variables[] = {
    {"auto_increment_increment", "1"},
    {"autocommit", "ON"},
    {"character_set_client", "utf8mb4"},
    {"character_set_connection", "utf8mb4"},
    {"character_set_database", "utf8mb4"},
    {"character_set_results", "utf8mb4"},
    {"character_set_server", "utf8mb4"},
    {"character_set_system", "utf8mb4"},
    {"collation_connection", "utf8mb4_general_ci"},
    {"collation_database", "utf8mb4_general_ci"},
    {"collation_server", "utf8mb4_general_ci"},
    {"default_storage_engine", "procprof"},
    {"have_ssl", "DISABLED"},
    {"init_connect", ""},
    {"interactive_timeout", "28800"},
    {"license", "Apache License 2.0"},
    {"lower_case_table_names", "0"},
    {"max_allowed_packet", "1048576"},
    {"net_buffer_length", "16384"},
    {"net_read_timeout", "60"},
    {"net_write_timeout", "60"},
    {"performance_schema", "OFF"},
    {"query_cache_size", "0"},
    {"query_cache_type", "OFF"},
    {"read_only", "OFF"},
    {"sql_auto_is_null", "OFF"},
    {"sql_mode", "ONLY_FULL_GROUP_BY"},
    {"sql_safe_updates", "OFF"},
    {"sql_select_limit", "18446744073709551615"},
    {"super_read_only", "OFF"},
    {"system_time_zone", "UTC"},
    {"time_zone", "SYSTEM"},
    {"transaction_isolation", "REPEATABLE-READ"},
    {"transaction_read_only", "OFF"},
    {"tx_isolation", "REPEATABLE-READ"},
    {"tx_read_only", "OFF"},
    {"version", SQL_SERVER_VERSION},
    {"version_comment", "procprof"},
    {"version_compile_machine", "x86_64"},
    {"version_compile_os", "Linux"},
    {"wait_timeout", "28800"},
};

static const char *variable_value(const struct sql_session *s, size_t i)
{
    if (!strcmp(variables[i].name, "have_ssl") && s->offers_tls) return "YES";
    return variables[i].value;
}

const char *sql_variable(const struct sql_session *s, const char *name)
{
    static const char *const scopes[] = {"session.", "global.", "local."};
    for (size_t i = 0; i < sizeof scopes / sizeof *scopes; i++)
        if (!strncasecmp(name, scopes[i], strlen(scopes[i]))) {
            name += strlen(scopes[i]);
            break;
        }
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        if (!strcasecmp(variables[i].name, name)) return variable_value(s, i);
    return NULL;
}

static void show_config(struct sql_session *s, struct sql_table *t)
{
    struct cluster_setting *settings;
    sql_table_columns(t, "Key,AliasNames,Value,Type,IsMutable:b,Comment");
    size_t n = cluster_settings(s->cluster->cluster, &settings);
    for (size_t i = 0; i < n; i++)
        sql_table_add(
            t, (const char *const[]){
                   settings[i].key, "[]", arena_strdup(t->arena, settings[i].value ? settings[i].value : ""),
                   settings[i].type, settings[i].is_mutable ? "true" : "false", settings[i].comment});
    cluster_settings_free(settings, n);
}

static const char *grants_text(struct arena *arena, unsigned grants, const char *user)
{
    if (grants & CLUSTER_ADMIN) return arena_printf(arena, "GRANT 'root' TO '%s'@'%%'", user);
    static const char *const names[] = {NULL, "NODE", "OPERATE", "NODE, OPERATE"};
    const char *name = names[grants & (CLUSTER_LOOK | CLUSTER_ACT)];
    return name ? arena_printf(arena, "GRANT %s ON SYSTEM TO USER '%s'@'%%'", name, user) : NULL;
}

static int show_grants(struct sql_session *s, const struct sql_statement *st, struct sql_table *t,
                       struct err *err)
{
    const char *name = st->name ? st->name : s->user;
    struct cluster_user user;
    sql_table_columns(t, "UserIdentity,Catalog,Grants");
    if (cluster_user_get(s->cluster->cluster, name, &user))
        return err_set(err, ERR_NOT_FOUND,
                       "Getting analyzing error. Detail message: cannot find user '%s'@'%%'!", name);
    const char *grants = grants_text(t->arena, user.grants, name);
    if (grants)
        sql_table_add(t, (const char *const[]){arena_printf(t->arena, "'%s'@'%%'", name), NULL, grants});
    return 0;
}

static void show_users(struct sql_session *s, struct sql_table *t)
{
    struct cluster_user *users;
    sql_table_columns(t, "User,HasPassword:b,Grants");
    size_t n = cluster_users(s->cluster->cluster, &users);
    for (size_t i = 0; i < n; i++)
        sql_table_add(t, (const char *const[]){arena_printf(t->arena, "'%s'@'%%'", users[i].name),
                                               users[i].has_password ? "true" : "false",
                                               grants_text(t->arena, users[i].grants, users[i].name)});
    mem_free(users);
}

/* Users without OPERATE see only their own connections. */
static void show_connections(struct sql_session *s, struct sql_table *t)
{
    struct sql_connection *list,
        self = {.id = s->connection_id, .user = s->user, .peer = s->peer, .statement = "SHOW PROCESSLIST"};
    size_t n = 1;
    if (s->connections)
        n = s->connections->list(s->connections->context, t->arena, &list);
    else
        list = &self;
    int64_t now_s = clock_wall_ns() / 1000000000;
    for (size_t i = 0; i < n; i++) {
        const struct sql_connection *c = &list[i];
        if (strcmp(c->user, s->user) && !(s->grants & (CLUSTER_ACT | CLUSTER_ADMIN))) continue;
        sql_table_add(t,
                      (const char *const[]){
                          arena_printf(t->arena, "%u", c->id), c->user, c->peer, "",
                          *c->statement ? "Query" : "Sleep",
                          c->connected_s ? sql_time_text(t->arena, c->connected_s) : NULL,
                          arena_printf(t->arena, "%lld", c->since_s ? (long long)(now_s - c->since_s) : 0LL),
                          "OK", *c->statement ? c->statement : NULL});
    }
}

static void show_status(struct sql_session *s, struct sql_table *t)
{
    struct sql_connection *connections;
    struct cluster_node *nodes;
    size_t n_connected = 1, n_running = 1;
    int64_t up_s = 0;
    sql_table_columns(t, "Variable_name,Value");
    size_t n_nodes = cluster_nodes(s->cluster->cluster, 1 << CLUSTER_FE, &nodes);
    for (size_t i = 0; i < n_nodes; i++)
        if (nodes[i].is_self && nodes[i].last_start_ms)
            up_s = clock_wall_ns() / 1000000000 - nodes[i].last_start_ms / 1000;
    mem_free(nodes);
    if (s->connections) {
        n_connected = s->connections->list(s->connections->context, t->arena, &connections);
        n_running = 0;
        for (size_t i = 0; i < n_connected; i++) n_running += *connections[i].statement != 0;
    }
    sql_table_add(t, (const char *const[]){"Threads_connected", arena_printf(t->arena, "%zu", n_connected)});
    sql_table_add(t, (const char *const[]){"Threads_running", arena_printf(t->arena, "%zu", n_running)});
    sql_table_add(t, (const char *const[]){"Uptime", arena_printf(t->arena, "%lld", (long long)up_s)});
}

int sql_show(struct sql_session *s, const struct sql_statement *st, struct sql_table *t, struct err *err)
{
    switch (st->show) {
    case SQL_SHOW_BACKENDS:
    case SQL_SHOW_COMPUTE_NODES:
    case SQL_SHOW_FRONTENDS:
        sql_show_nodes(s, st, t);
        return 0;
    case SQL_SHOW_CONFIG:
        show_config(s, t);
        return 0;
    case SQL_SHOW_GRANTS:
        return show_grants(s, st, t, err);
    case SQL_SHOW_USERS:
        show_users(s, t);
        return 0;
    case SQL_SHOW_VARIABLES:
        sql_table_columns(t, "Variable_name,Value");
        for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
            sql_table_add(t, (const char *const[]){variables[i].name, variable_value(s, i)});
        return 0;
    case SQL_SHOW_STATUS:
        show_status(s, t);
        return 0;
    case SQL_SHOW_DATABASES:
    case SQL_SHOW_TABLES:
    case SQL_SHOW_TABLE_STATUS:
    case SQL_SHOW_COLUMNS:
    case SQL_SHOW_INDEX:
    case SQL_SHOW_CREATE_TABLE:
        return sql_show_schema(s, st, t, err);
    case SQL_SHOW_WARNINGS:
        sql_table_columns(t, "Level,Code,Message");
        return 0;
    case SQL_SHOW_COLLATION:
        sql_table_columns(t, "Collation,Charset,Id:i,Default,Compiled,Sortlen:i");
        sql_table_add(t, (const char *const[]){"utf8mb4_general_ci", "utf8mb4", "45", "Yes", "Yes", "1"});
        sql_table_add(t, (const char *const[]){"utf8_general_ci", "utf8", "33", "Yes", "Yes", "1"});
        return 0;
    case SQL_SHOW_CHARSET:
        sql_table_columns(t, "Charset,Description,Default collation,Maxlen:i");
        sql_table_add(t, (const char *const[]){"utf8mb4", "UTF-8 Unicode", "utf8mb4_general_ci", "4"});
        return 0;
    case SQL_SHOW_ENGINES:
        sql_table_columns(t, "Engine,Support,Comment,Transactions,XA,Savepoints");
        sql_table_add(t, (const char *const[]){"procprof", "DEFAULT", "Read-only tables of the server", "NO",
                                               "NO", "NO"});
        return 0;
    case SQL_SHOW_PRIVILEGES:
        sql_table_columns(t, "Privilege,Context,Comment");
        sql_table_add(t, (const char *const[]){"Node", "System", "See nodes and profiles"});
        sql_table_add(t, (const char *const[]){"Operate", "System", "Run scripts and captures, KILL"});
        sql_table_add(t, (const char *const[]){"All", "System",
                                               "Everything, also changes to nodes, settings and users"});
        return 0;
    case SQL_SHOW_PLUGINS:
        sql_table_columns(t, "Name,Status,Type,Library,License");
        return 0;
    case SQL_SHOW_EVENTS:
        sql_table_columns(t, "Db,Name,Definer,Time zone,Type,Execute at,Interval value,Interval field,Starts,"
                             "Ends,Status,Originator,character_set_client,collation_connection,"
                             "Database Collation");
        return 0;
    case SQL_SHOW_TRIGGERS:
        sql_table_columns(t, "Trigger,Event,Table,Statement,Timing,Created,sql_mode,Definer,"
                             "character_set_client,collation_connection,Database Collation");
        return 0;
    case SQL_SHOW_ROUTINES:
        sql_table_columns(t, "Db,Name,Type,Definer,Modified,Created,Security_type,Comment,"
                             "character_set_client,collation_connection,Database Collation");
        return 0;
    case SQL_SHOW_PROCESSLIST:
        sql_table_columns(t, "Id:i,User,Host,Db,Command,ConnectionStartTime:t,Time:i,State,Info");
        show_connections(s, t);
        return 0;
    }
    return err_set(err, ERR_UNSUPPORTED, "this SHOW is not supported");
}
