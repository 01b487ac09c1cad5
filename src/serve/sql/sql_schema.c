/* sql_schema.c - see sql_schema.h. Things that the server does not have (indexes, triggers, views) have a
 * table without rows, because tools that browse a server expect the table. */
#include "serve/sql/sql_schema.h"

#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/mem.h"
#include "serve/collector/collector.h"
#include "store/store.h"

#define OWN_SCHEMA  "procprof"
#define INFO_SCHEMA "information_schema"

static const char *const databases[] = {INFO_SCHEMA, "mysql", "performance_schema", OWN_SCHEMA};

enum { N_DATABASES = sizeof databases / sizeof *databases };

static const char *number(struct arena *arena, int64_t n)
{
    return arena_printf(arena, "%lld", (long long)n);
}

static const char *type_name(enum sql_column_type type, bool with_length)
{
    switch (type) {
    case SQL_COLUMN_INT:
        return "bigint";
    case SQL_COLUMN_REAL:
        return "double";
    case SQL_COLUMN_TIME:
        return "datetime";
    case SQL_COLUMN_TRUTH:
    case SQL_COLUMN_TEXT:
        break;
    }
    return with_length ? "varchar(1048576)" : "varchar";
}

/* ---- the server's own tables ---- */

static int fill_nodes(struct sql_session *s, struct sql_table *t, struct err *err)
{
    static const char *const kinds[] = {"frontend", "backend", "compute node"};
    struct cluster_node *nodes;
    struct arena *a = t->arena;
    (void)err;
    size_t n = cluster_nodes(s->cluster->cluster, SQL_ALL_ROLES, &nodes);
    for (size_t i = 0; i < n; i++) {
        const struct cluster_node *node = &nodes[i];
        sql_table_add(t, (const char *const[]){number(a, node->id), kinds[node->role],
                                               arena_strdup(a, node->name), arena_strdup(a, node->host),
                                               number(a, node->http_port ? node->http_port : node->port),
                                               node->alive ? "true" : "false",
                                               sql_time_text(a, node->last_start_ms / 1000),
                                               sql_time_text(a, node->last_heartbeat_ms / 1000),
                                               arena_strdup(a, node->version), arena_strdup(a, node->error)});
    }
    mem_free(nodes);
    return 0;
}

/* Newest first. */
static int fill_profiles(struct sql_session *s, struct sql_table *t, struct err *err)
{
    struct store_profile *profiles = NULL;
    struct arena *a = t->arena;
    (void)err;
    size_t n =
        s->cluster->store ? store_list(s->cluster->store, &(struct store_query){0}, &profiles, NULL) : 0;
    for (size_t i = 0; i < n; i++) {
        const struct store_profile *p = &profiles[i];
        sql_table_add(
            t, (const char *const[]){number(a, p->id), number(a, p->node), profile_type_name(p->type),
                                     sql_time_text(a, p->time_ms / 1000), number(a, p->time_ms),
                                     p->duration_ms ? number(a, p->duration_ms) : NULL,
                                     number(a, p->size_bytes), p->samples >= 0 ? number(a, p->samples) : NULL,
                                     arena_strdup(a, p->file), arena_strdup(a, p->sample_types)});
    }
    mem_free(profiles);
    return 0;
}

/* Newest first. */
static int fill_failures(struct sql_session *s, struct sql_table *t, struct err *err)
{
    struct arena *a = t->arena;
    (void)err;
    if (!s->cluster->collector) return 0;
    struct collector_failure *failures = mem_array(COLLECTOR_MAX_FAILURES, sizeof *failures);
    size_t n = collector_failures(s->cluster->collector, failures);
    for (size_t i = 0; i < n; i++)
        sql_table_add(t, (const char *const[]){
                             sql_time_text(a, failures[i].time_ms / 1000), number(a, failures[i].node),
                             profile_type_name(failures[i].type), failures[i].is_job ? "true" : "false",
                             arena_strdup(a, failures[i].error)});
    mem_free(failures);
    return 0;
}

/* ---- tables that clients read to learn about a server ---- */

static int fill_schemata(struct sql_session *s, struct sql_table *t, struct err *err)
{
    (void)s;
    (void)err;
    for (size_t i = 0; i < N_DATABASES; i++)
        sql_table_add(
            t, (const char *const[]){"def", databases[i], "utf8mb4", "utf8mb4_general_ci", NULL, "NO"});
    return 0;
}

static int fill_tables(struct sql_session *s, struct sql_table *t, struct err *err)
{
    (void)s;
    (void)err;
    for (size_t i = 0; i < sql_schema_n_tables; i++) {
        const struct sql_schema_table *table = &sql_schema_tables[i];
        bool is_own = !strcmp(table->schema, OWN_SCHEMA);
        sql_table_add(t, (const char *const[]){"def",       table->schema,
                                               table->name, is_own ? "BASE TABLE" : "SYSTEM VIEW",
                                               "procprof",  "10",
                                               "Dynamic",   NULL,
                                               NULL,        NULL,
                                               NULL,        NULL,
                                               NULL,        NULL,
                                               NULL,        NULL,
                                               NULL,        "utf8mb4_general_ci",
                                               NULL,        NULL,
                                               ""});
    }
    return 0;
}

static int fill_columns(struct sql_session *s, struct sql_table *t, struct err *err)
{
    (void)s;
    (void)err;
    for (size_t i = 0; i < sql_schema_n_tables; i++) {
        const struct sql_schema_table *spec = &sql_schema_tables[i];
        struct sql_table of;
        sql_table_init(&of, t->arena);
        sql_table_columns(&of, spec->columns);
        for (size_t k = 0; k < of.n_columns; k++) {
            enum sql_column_type type = of.columns[k].type;
            bool is_text = type == SQL_COLUMN_TEXT || type == SQL_COLUMN_TRUTH,
                 is_int = type == SQL_COLUMN_INT;
            sql_table_add(t, (const char *const[]){"def",
                                                   spec->schema,
                                                   spec->name,
                                                   of.columns[k].name,
                                                   number(t->arena, (int64_t)k + 1),
                                                   NULL,
                                                   "YES",
                                                   type_name(type, false),
                                                   is_text ? "1048576" : NULL,
                                                   is_text ? "4194304" : NULL,
                                                   is_int ? "19" : NULL,
                                                   is_int ? "0" : NULL,
                                                   type == SQL_COLUMN_TIME ? "0" : NULL,
                                                   is_text ? "utf8mb4" : NULL,
                                                   is_text ? "utf8mb4_general_ci" : NULL,
                                                   type_name(type, true),
                                                   "",
                                                   "",
                                                   "select",
                                                   "",
                                                   ""});
        }
    }
    return 0;
}

static int fill_charsets(struct sql_session *s, struct sql_table *t, struct err *err)
{
    (void)s;
    (void)err;
    sql_table_add(t, (const char *const[]){"utf8mb4", "utf8mb4_general_ci", "UTF-8 Unicode", "4"});
    return 0;
}

static int fill_collation_charsets(struct sql_session *s, struct sql_table *t, struct err *err)
{
    struct sql_table collations;
    sql_table_init(&collations, t->arena);
    int rc =
        sql_show(s, &(struct sql_statement){.kind = SQL_SHOW, .show = SQL_SHOW_COLLATION}, &collations, err);
    for (size_t i = 0; !rc && i < collations.n_rows; i++)
        sql_table_add(t, (const char *const[]){collations.rows[i][0], collations.rows[i][1]});
    return rc;
}

static int fill_mysql_user(struct sql_session *s, struct sql_table *t, struct err *err)
{
    struct cluster_user *users;
    (void)err;
    size_t n = cluster_users(s->cluster->cluster, &users);
    for (size_t i = 0; i < n; i++) {
        const char *is_admin = users[i].grants & CLUSTER_ADMIN ? "Y" : "N";
        sql_table_add(t, (const char *const[]){"%", arena_strdup(t->arena, users[i].name), is_admin, is_admin,
                                               is_admin, is_admin, "mysql_native_password", "N", "N"});
    }
    mem_free(users);
    return 0;
}

/* ---- the list ---- */

enum { LOOK = CLUSTER_LOOK | CLUSTER_ACT };
#define VARIABLE_COLUMNS "VARIABLE_NAME,VARIABLE_VALUE"

const struct sql_schema_table sql_schema_tables[] = {
    {OWN_SCHEMA, "backends", SQL_BACKEND_COLUMNS, .rows = SQL_ROWS_OF_SHOW, .show = SQL_SHOW_BACKENDS,
     .any_of = LOOK},
    {OWN_SCHEMA, "compute_nodes", SQL_COMPUTE_NODE_COLUMNS, .rows = SQL_ROWS_OF_SHOW,
     .show = SQL_SHOW_COMPUTE_NODES, .any_of = LOOK},
    {OWN_SCHEMA, "failures", "time:t,node_id:i,type,requested:b,error", .rows = SQL_ROWS_FILLED,
     .fill = fill_failures, .any_of = LOOK},
    {OWN_SCHEMA, "frontends", SQL_FRONTEND_COLUMNS, .rows = SQL_ROWS_OF_SHOW, .show = SQL_SHOW_FRONTENDS,
     .any_of = LOOK},
    {OWN_SCHEMA, "nodes",
     "id:i,kind,name,host,http_port:i,alive:b,start_time:t,last_heartbeat:t,version,error",
     .rows = SQL_ROWS_FILLED, .fill = fill_nodes, .any_of = LOOK},
    {OWN_SCHEMA, "profiles",
     "id:i,node_id:i,type,start_time:t,start_ms:i,duration_ms:i,size_bytes:i,samples:i,file,sample_types",
     .rows = SQL_ROWS_FILLED, .fill = fill_profiles, .any_of = LOOK},
    {OWN_SCHEMA, "settings", "name,aliases,value,type,is_mutable:b,comment", .rows = SQL_ROWS_OF_SHOW,
     .show = SQL_SHOW_CONFIG, .any_of = CLUSTER_ACT},
    {OWN_SCHEMA, "users", "name,has_password:b,grants", .rows = SQL_ROWS_OF_SHOW, .show = SQL_SHOW_USERS,
     .any_of = CLUSTER_ADMIN},

    {INFO_SCHEMA, "CHARACTER_SETS", "CHARACTER_SET_NAME,DEFAULT_COLLATE_NAME,DESCRIPTION,MAXLEN:i",
     .rows = SQL_ROWS_FILLED, .fill = fill_charsets},
    {INFO_SCHEMA, "CHECK_CONSTRAINTS", "CONSTRAINT_CATALOG,CONSTRAINT_SCHEMA,CONSTRAINT_NAME,CHECK_CLAUSE",
     .rows = SQL_ROWS_NONE},
    {INFO_SCHEMA, "COLLATION_CHARACTER_SET_APPLICABILITY", "COLLATION_NAME,CHARACTER_SET_NAME",
     .rows = SQL_ROWS_FILLED, .fill = fill_collation_charsets},
    {INFO_SCHEMA, "COLLATIONS", "COLLATION_NAME,CHARACTER_SET_NAME,ID:i,IS_DEFAULT,IS_COMPILED,SORTLEN:i",
     .rows = SQL_ROWS_OF_SHOW, .show = SQL_SHOW_COLLATION},
    {INFO_SCHEMA, "COLUMNS",
     "TABLE_CATALOG,TABLE_SCHEMA,TABLE_NAME,COLUMN_NAME,ORDINAL_POSITION:i,COLUMN_DEFAULT,IS_NULLABLE,"
     "DATA_TYPE,CHARACTER_MAXIMUM_LENGTH:i,CHARACTER_OCTET_LENGTH:i,NUMERIC_PRECISION:i,NUMERIC_SCALE:i,"
     "DATETIME_PRECISION:i,CHARACTER_SET_NAME,COLLATION_NAME,COLUMN_TYPE,COLUMN_KEY,EXTRA,PRIVILEGES,"
     "COLUMN_COMMENT,GENERATION_EXPRESSION",
     .rows = SQL_ROWS_FILLED, .fill = fill_columns},
    {INFO_SCHEMA, "ENGINES", "ENGINE,SUPPORT,COMMENT,TRANSACTIONS,XA,SAVEPOINTS", .rows = SQL_ROWS_OF_SHOW,
     .show = SQL_SHOW_ENGINES},
    {INFO_SCHEMA, "EVENTS",
     "EVENT_CATALOG,EVENT_SCHEMA,EVENT_NAME,DEFINER,TIME_ZONE,EVENT_BODY,EVENT_DEFINITION,EVENT_TYPE,"
     "EXECUTE_AT:t,INTERVAL_VALUE,INTERVAL_FIELD,SQL_MODE,STARTS:t,ENDS:t,STATUS,ON_COMPLETION,CREATED:t,"
     "LAST_ALTERED:t,LAST_EXECUTED:t,EVENT_COMMENT,ORIGINATOR:i,CHARACTER_SET_CLIENT,COLLATION_CONNECTION,"
     "DATABASE_COLLATION",
     .rows = SQL_ROWS_NONE},
    {INFO_SCHEMA, "GLOBAL_STATUS", VARIABLE_COLUMNS, .rows = SQL_ROWS_OF_SHOW, .show = SQL_SHOW_STATUS},
    {INFO_SCHEMA, "GLOBAL_VARIABLES", VARIABLE_COLUMNS, .rows = SQL_ROWS_OF_SHOW, .show = SQL_SHOW_VARIABLES},
    {INFO_SCHEMA, "KEY_COLUMN_USAGE",
     "CONSTRAINT_CATALOG,CONSTRAINT_SCHEMA,CONSTRAINT_NAME,TABLE_CATALOG,TABLE_SCHEMA,TABLE_NAME,COLUMN_NAME,"
     "ORDINAL_POSITION:i,POSITION_IN_UNIQUE_CONSTRAINT:i,REFERENCED_TABLE_SCHEMA,REFERENCED_TABLE_NAME,"
     "REFERENCED_COLUMN_NAME",
     .rows = SQL_ROWS_NONE},
    {INFO_SCHEMA, "KEYWORDS", "WORD,RESERVED:i", .rows = SQL_ROWS_NONE},
    {INFO_SCHEMA, "PARAMETERS",
     "SPECIFIC_CATALOG,SPECIFIC_SCHEMA,SPECIFIC_NAME,ORDINAL_POSITION:i,PARAMETER_MODE,PARAMETER_NAME,"
     "DATA_TYPE,CHARACTER_MAXIMUM_LENGTH:i,CHARACTER_OCTET_LENGTH:i,NUMERIC_PRECISION:i,NUMERIC_SCALE:i,"
     "DATETIME_PRECISION:i,CHARACTER_SET_NAME,COLLATION_NAME,DTD_IDENTIFIER,ROUTINE_TYPE",
     .rows = SQL_ROWS_NONE},
    {INFO_SCHEMA, "PARTITIONS",
     "TABLE_CATALOG,TABLE_SCHEMA,TABLE_NAME,PARTITION_NAME,SUBPARTITION_NAME,PARTITION_ORDINAL_POSITION:i,"
     "SUBPARTITION_ORDINAL_POSITION:i,PARTITION_METHOD,SUBPARTITION_METHOD,PARTITION_EXPRESSION,"
     "SUBPARTITION_EXPRESSION,PARTITION_DESCRIPTION,TABLE_ROWS:i,AVG_ROW_LENGTH:i,DATA_LENGTH:i,"
     "MAX_DATA_LENGTH:i,INDEX_LENGTH:i,DATA_FREE:i,CREATE_TIME:t,UPDATE_TIME:t,CHECK_TIME:t,CHECKSUM:i,"
     "PARTITION_COMMENT,NODEGROUP,TABLESPACE_NAME",
     .rows = SQL_ROWS_NONE},
    {INFO_SCHEMA, "PLUGINS", "PLUGIN_NAME,PLUGIN_STATUS,PLUGIN_TYPE,PLUGIN_LIBRARY,PLUGIN_LICENSE",
     .rows = SQL_ROWS_OF_SHOW, .show = SQL_SHOW_PLUGINS},
    {INFO_SCHEMA, "PROCESSLIST", "ID:i,USER,HOST,DB,COMMAND,CONNECTION_START_TIME:t,TIME:i,STATE,INFO",
     .rows = SQL_ROWS_OF_SHOW, .show = SQL_SHOW_PROCESSLIST},
    {INFO_SCHEMA, "REFERENTIAL_CONSTRAINTS",
     "CONSTRAINT_CATALOG,CONSTRAINT_SCHEMA,CONSTRAINT_NAME,UNIQUE_CONSTRAINT_CATALOG,UNIQUE_CONSTRAINT_"
     "SCHEMA,"
     "UNIQUE_CONSTRAINT_NAME,MATCH_OPTION,UPDATE_RULE,DELETE_RULE,TABLE_NAME,REFERENCED_TABLE_NAME",
     .rows = SQL_ROWS_NONE},
    {INFO_SCHEMA, "ROUTINES",
     "SPECIFIC_NAME,ROUTINE_CATALOG,ROUTINE_SCHEMA,ROUTINE_NAME,ROUTINE_TYPE,DATA_TYPE,"
     "CHARACTER_MAXIMUM_LENGTH:i,CHARACTER_OCTET_LENGTH:i,NUMERIC_PRECISION:i,NUMERIC_SCALE:i,"
     "DATETIME_PRECISION:i,CHARACTER_SET_NAME,COLLATION_NAME,DTD_IDENTIFIER,ROUTINE_BODY,ROUTINE_DEFINITION,"
     "EXTERNAL_NAME,EXTERNAL_LANGUAGE,PARAMETER_STYLE,IS_DETERMINISTIC,SQL_DATA_ACCESS,SQL_PATH,"
     "SECURITY_TYPE,CREATED:t,LAST_ALTERED:t,SQL_MODE,ROUTINE_COMMENT,DEFINER,CHARACTER_SET_CLIENT,"
     "COLLATION_CONNECTION,DATABASE_COLLATION",
     .rows = SQL_ROWS_NONE},
    {INFO_SCHEMA, "SCHEMA_PRIVILEGES", "GRANTEE,TABLE_CATALOG,TABLE_SCHEMA,PRIVILEGE_TYPE,IS_GRANTABLE",
     .rows = SQL_ROWS_NONE},
    {INFO_SCHEMA, "SCHEMATA",
     "CATALOG_NAME,SCHEMA_NAME,DEFAULT_CHARACTER_SET_NAME,DEFAULT_COLLATION_NAME,SQL_PATH,DEFAULT_ENCRYPTION",
     .rows = SQL_ROWS_FILLED, .fill = fill_schemata},
    {INFO_SCHEMA, "SESSION_STATUS", VARIABLE_COLUMNS, .rows = SQL_ROWS_OF_SHOW, .show = SQL_SHOW_STATUS},
    {INFO_SCHEMA, "SESSION_VARIABLES", VARIABLE_COLUMNS, .rows = SQL_ROWS_OF_SHOW,
     .show = SQL_SHOW_VARIABLES},
    {INFO_SCHEMA, "STATISTICS",
     "TABLE_CATALOG,TABLE_SCHEMA,TABLE_NAME,NON_UNIQUE:i,INDEX_SCHEMA,INDEX_NAME,SEQ_IN_INDEX:i,COLUMN_NAME,"
     "COLLATION,CARDINALITY:i,SUB_PART:i,PACKED,NULLABLE,INDEX_TYPE,COMMENT,INDEX_COMMENT,IS_VISIBLE,"
     "EXPRESSION",
     .rows = SQL_ROWS_NONE},
    {INFO_SCHEMA, "TABLE_CONSTRAINTS",
     "CONSTRAINT_CATALOG,CONSTRAINT_SCHEMA,CONSTRAINT_NAME,TABLE_SCHEMA,TABLE_NAME,CONSTRAINT_TYPE,ENFORCED",
     .rows = SQL_ROWS_NONE},
    {INFO_SCHEMA, "TABLE_PRIVILEGES",
     "GRANTEE,TABLE_CATALOG,TABLE_SCHEMA,TABLE_NAME,PRIVILEGE_TYPE,IS_GRANTABLE", .rows = SQL_ROWS_NONE},
    {INFO_SCHEMA, "TABLES",
     "TABLE_CATALOG,TABLE_SCHEMA,TABLE_NAME,TABLE_TYPE,ENGINE,VERSION:i,ROW_FORMAT,TABLE_ROWS:i,"
     "AVG_ROW_LENGTH:i,DATA_LENGTH:i,MAX_DATA_LENGTH:i,INDEX_LENGTH:i,DATA_FREE:i,AUTO_INCREMENT:i,"
     "CREATE_TIME:t,UPDATE_TIME:t,CHECK_TIME:t,TABLE_COLLATION,CHECKSUM:i,CREATE_OPTIONS,TABLE_COMMENT",
     .rows = SQL_ROWS_FILLED, .fill = fill_tables},
    {INFO_SCHEMA, "TRIGGERS",
     "TRIGGER_CATALOG,TRIGGER_SCHEMA,TRIGGER_NAME,EVENT_MANIPULATION,EVENT_OBJECT_CATALOG,"
     "EVENT_OBJECT_SCHEMA,EVENT_OBJECT_TABLE,ACTION_ORDER:i,ACTION_CONDITION,ACTION_STATEMENT,"
     "ACTION_ORIENTATION,ACTION_TIMING,ACTION_REFERENCE_OLD_TABLE,ACTION_REFERENCE_NEW_TABLE,"
     "ACTION_REFERENCE_OLD_ROW,ACTION_REFERENCE_NEW_ROW,CREATED:t,SQL_MODE,DEFINER,CHARACTER_SET_CLIENT,"
     "COLLATION_CONNECTION,DATABASE_COLLATION",
     .rows = SQL_ROWS_NONE},
    {INFO_SCHEMA, "VIEWS",
     "TABLE_CATALOG,TABLE_SCHEMA,TABLE_NAME,VIEW_DEFINITION,CHECK_OPTION,IS_UPDATABLE,DEFINER,SECURITY_TYPE,"
     "CHARACTER_SET_CLIENT,COLLATION_CONNECTION",
     .rows = SQL_ROWS_NONE},

    {"mysql", "columns_priv", "Host,Db,User,Table_name,Column_name,Timestamp:t,Column_priv",
     .rows = SQL_ROWS_NONE},
    {"mysql", "tables_priv", "Host,Db,User,Table_name,Grantor,Timestamp:t,Table_priv,Column_priv",
     .rows = SQL_ROWS_NONE},
    {"mysql", "user",
     "Host,User,Select_priv,Super_priv,Process_priv,Grant_priv,plugin,password_expired,account_locked",
     .rows = SQL_ROWS_FILLED, .fill = fill_mysql_user, .any_of = CLUSTER_ADMIN},

    {"performance_schema", "global_status", VARIABLE_COLUMNS, .rows = SQL_ROWS_OF_SHOW,
     .show = SQL_SHOW_STATUS},
    {"performance_schema", "global_variables", VARIABLE_COLUMNS, .rows = SQL_ROWS_OF_SHOW,
     .show = SQL_SHOW_VARIABLES},
    {"performance_schema", "session_status", VARIABLE_COLUMNS, .rows = SQL_ROWS_OF_SHOW,
     .show = SQL_SHOW_STATUS},
    {"performance_schema", "session_variables", VARIABLE_COLUMNS, .rows = SQL_ROWS_OF_SHOW,
     .show = SQL_SHOW_VARIABLES},
};

const size_t sql_schema_n_tables = sizeof sql_schema_tables / sizeof *sql_schema_tables;

const struct sql_schema_table *sql_schema_find(const char *schema, const char *name)
{
    for (size_t i = 0; i < sql_schema_n_tables; i++) {
        const struct sql_schema_table *t = &sql_schema_tables[i];
        if (!strcasecmp(t->name, name) && (!schema || !strcasecmp(t->schema, schema))) return t;
    }
    return NULL;
}

const char *sql_schema_database(const char *name)
{
    for (size_t i = 0; i < N_DATABASES; i++)
        if (!strcasecmp(databases[i], name)) return databases[i];
    return NULL;
}

bool sql_schema_may(const struct sql_session *s, const struct sql_schema_table *t)
{
    return !t->any_of || s->grants & (t->any_of | CLUSTER_ADMIN);
}

int sql_schema_fill(struct sql_session *s, const struct sql_schema_table *spec, bool describe_only,
                    struct sql_table *t, struct err *err)
{
    sql_table_columns(t, spec->columns);
    if (describe_only || spec->rows == SQL_ROWS_NONE) return 0;
    if (spec->rows == SQL_ROWS_FILLED) return spec->fill(s, t, err);
    struct sql_table as_typed = *t;
    int rc = sql_show(s, &(struct sql_statement){.kind = SQL_SHOW, .show = spec->show}, t, err);
    t->columns = as_typed.columns;
    return rc;
}

/* ---- SHOW ---- */

static int no_such_table(struct err *err, const char *name)
{
    return err_set(err, ERR_NOT_FOUND, "Getting analyzing error. Detail message: Unknown table '%s'.", name);
}

int sql_schema_find_dotted(const struct sql_session *s, const char *name, const char *database,
                           const struct sql_schema_table **ret_table, struct err *err)
{
    const char *dot = strrchr(name, '.'), *schema = database ? database : s->database;
    char prefix[128];
    if (dot) {
        if ((size_t)(dot - name) >= sizeof prefix) return no_such_table(err, name);
        memcpy(prefix, name, (size_t)(dot - name));
        prefix[dot - name] = '\0';
        schema = prefix;
        name = dot + 1;
    }
    if (!*schema) return err_set(err, ERR_INPUT, "No database selected");
    *ret_table = sql_schema_find(schema, name);
    return *ret_table ? 0 : no_such_table(err, name);
}

/* The database that a SHOW names, else the session's. */
static int database_of(const struct sql_session *s, const struct sql_statement *st, const char **ret_database,
                       struct err *err)
{
    const char *name = st->database ? st->database : s->database;
    if (!*name) return err_set(err, ERR_INPUT, "No database selected");
    *ret_database = sql_schema_database(name);
    return *ret_database ? 0 : err_set(err, ERR_NOT_FOUND, "Unknown database '%s'", name);
}

static int show_tables(struct sql_session *s, const struct sql_statement *st, struct sql_table *t,
                       struct err *err)
{
    const char *database;
    int rc = database_of(s, st, &database, err);
    if (rc) return rc;
    if (st->show == SQL_SHOW_TABLE_STATUS)
        sql_table_columns(t, "Name,Engine,Version,Row_format,Rows,Avg_row_length,Data_length,Max_data_length,"
                             "Index_length,Data_free,Auto_increment,Create_time,Update_time,Check_time,"
                             "Collation,Checksum,Create_options,Comment");
    else
        sql_table_columns(
            t, arena_printf(t->arena, "Tables_in_%s%s", database, st->is_full ? ",Table_type" : ""));
    for (size_t i = 0; i < sql_schema_n_tables; i++) {
        const struct sql_schema_table *table = &sql_schema_tables[i];
        if (strcmp(table->schema, database)) continue;
        const char **row = sql_table_row(t);
        row[0] = table->name;
        if (st->show == SQL_SHOW_TABLE_STATUS) {
            row[1] = "procprof";
            row[14] = "utf8mb4_general_ci";
            row[17] = "";
        } else if (st->is_full) {
            row[1] = strcmp(table->schema, OWN_SCHEMA) ? "SYSTEM VIEW" : "BASE TABLE";
        }
    }
    return 0;
}

static int show_columns(const struct sql_schema_table *spec, bool is_full, struct sql_table *t)
{
    struct sql_table of;
    sql_table_columns(t, is_full ? "Field,Type,Collation,Null,Key,Default,Extra,Privileges,Comment"
                                 : "Field,Type,Null,Key,Default,Extra");
    sql_table_init(&of, t->arena);
    sql_table_columns(&of, spec->columns);
    for (size_t i = 0; i < of.n_columns; i++) {
        enum sql_column_type type = of.columns[i].type;
        const char *name = of.columns[i].name, *type_text = type_name(type, true);
        if (is_full)
            sql_table_add(t, (const char *const[]){name, type_text,
                                                   type == SQL_COLUMN_TEXT || type == SQL_COLUMN_TRUTH
                                                       ? "utf8mb4_general_ci"
                                                       : NULL,
                                                   "YES", "", NULL, "", "select", ""});
        else
            sql_table_add(t, (const char *const[]){name, type_text, "YES", "", NULL, ""});
    }
    return 0;
}

static int show_create_table(const struct sql_schema_table *spec, struct sql_table *t)
{
    struct sql_table of;
    struct buf b = {0};
    sql_table_init(&of, t->arena);
    sql_table_columns(&of, spec->columns);
    buf_printf(&b, "CREATE TABLE `%s` (", spec->name);
    for (size_t i = 0; i < of.n_columns; i++)
        buf_printf(&b, "%s\n  `%s` %s", i ? "," : "", of.columns[i].name,
                   type_name(of.columns[i].type, true));
    buf_str(&b, "\n) ENGINE=procprof");
    sql_table_columns(t, "Table,Create Table");
    t->columns[1].is_long = true;
    sql_table_add(t, (const char *const[]){spec->name, arena_strdup(t->arena, buf_cstr(&b))});
    buf_free(&b);
    return 0;
}

int sql_show_schema(struct sql_session *s, const struct sql_statement *st, struct sql_table *t,
                    struct err *err)
{
    const struct sql_schema_table *spec;
    switch (st->show) {
    case SQL_SHOW_DATABASES:
        sql_table_columns(t, "Database");
        for (size_t i = 0; i < N_DATABASES; i++) sql_table_add(t, (const char *const[]){databases[i]});
        return 0;
    case SQL_SHOW_TABLES:
    case SQL_SHOW_TABLE_STATUS:
        return show_tables(s, st, t, err);
    default:
        break;
    }
    int rc = sql_schema_find_dotted(s, st->name, st->database, &spec, err);
    if (rc) return rc;
    switch (st->show) {
    case SQL_SHOW_COLUMNS:
        return show_columns(spec, st->is_full, t);
    case SQL_SHOW_CREATE_TABLE:
        return show_create_table(spec, t);
    default: /* SQL_SHOW_INDEX: there are no indexes */
        sql_table_columns(t, "Table,Non_unique,Key_name,Seq_in_index,Column_name,Collation,Cardinality,"
                             "Sub_part,Packed,Null,Index_type,Comment,Index_comment,Visible,Expression");
        return 0;
    }
}
