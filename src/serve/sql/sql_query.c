/* sql_query.c - runs SELECT in SQLite.
 *
 * Each statement gets an empty database of its own, in memory. The tables of sql_schema.h that the statement
 * names become virtual tables in it; each is filled when SQLite first reads it. An authorizer denies
 * everything else. Steps, CPU time and memory are bounded.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/buf.h"
#include "base/mem.h"
#include "serve/sql/sql_functions.h"
#include "serve/sql/sql_memory.h"
#include "serve/sql/sql_schema.h"

enum {
    MAX_STEPS = 20000000,  /* of SQLite's virtual machine, one or two seconds */
    MAX_CPU_MS = 3000,     /* for steps over long values, which take longer */
    STEPS_PER_CHECK = 100, /* steps between two checks of the bounds */
    BYTES_PER_CHECK = 1 << 18,
    CPU_MS_PER_CANCEL_CHECK = 20, /* CPU time between two calls of cancel.is_asked */
    MAX_PROGRAM = 50000, /* instructions of a compiled statement; SQLite checks nothing between two jumps */
    MAX_ARGS = 100,
    MAX_VALUE_BYTES = 1 << 16, /* keeps the memory traffic of MAX_STEPS small */
};

struct query {
    struct sql_session *session;
    struct sql_caller caller;
    const struct sql_table *shown; /* the rows of a SHOW, as table main.shown; NULL: none */
    struct arena *arena;
    size_t n_arena_bytes; /* bytes in the arena before the statement */
    sqlite3 *db;
    int64_t n_steps, begin_cpu_ms, cancel_checked_cpu_ms;
    size_t n_unchecked_bytes;
    unsigned needs; /* grants that would allow reading a table this user cannot read; 0: there is none */
    bool is_too_long, is_ended;
    struct err problem; /* why a table could not be filled */
};

/* ---- time and memory ---- */

static int64_t thread_cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static bool must_end(struct query *q)
{
    const struct sql_cancel *cancel = &q->session->cancel;
    int64_t now_ms = thread_cpu_ms();
    q->is_too_long |= q->n_steps > MAX_STEPS || now_ms - q->begin_cpu_ms > MAX_CPU_MS;
    if (cancel->is_asked && now_ms - q->cancel_checked_cpu_ms >= CPU_MS_PER_CANCEL_CHECK) {
        q->cancel_checked_cpu_ms = now_ms;
        q->is_ended |= cancel->is_asked(cancel->context);
    }
    return q->is_ended |= q->is_too_long;
}

static int check_progress(void *context)
{
    struct query *q = context;
    q->n_steps += STEPS_PER_CHECK;
    return must_end(q);
}

/* For work inside one step of SQLite. False: the statement has to end. */
static bool may_work(void *context, size_t n_bytes)
{
    struct query *q = context;
    q->n_unchecked_bytes += n_bytes;
    if (q->is_ended || q->n_unchecked_bytes < BYTES_PER_CHECK) return !q->is_ended;
    q->n_unchecked_bytes = 0;
    return !must_end(q);
}

/* Counts the result and the tables it is made of. */
static int hold_result(struct query *q, struct err *err)
{
    size_t n_bytes = q->arena->total_bytes - q->n_arena_bytes;
    if (n_bytes > SQL_MAX_RESULT_BYTES)
        return err_set(err, ERR_LIMIT, "the result is larger than 64 MiB; ask for less (WHERE, LIMIT)");
    if (!sql_hold(&q->session->held, n_bytes)) return err_set(err, ERR_LIMIT, "%s", SQL_TOO_MUCH_IS_HELD);
    return 0;
}

/* ---- tables ---- */

struct virtual_table {
    sqlite3_vtab base; /* SQLite needs it first */
    struct query *query;
    const struct sql_schema_table *spec;
    struct sql_table rows;
    bool is_filled;
};

struct cursor {
    sqlite3_vtab_cursor base;
    size_t row;
};

/* SQLite derives from this name how it converts a value before it compares it: to a number for BIGINT, to
 * text for the others. */
#define DECLARED_INT   "BIGINT"
#define DECLARED_TIME  "DATETIME_TEXT"
#define DECLARED_TRUTH "TRUTH_TEXT"

static const char *declared_type(enum sql_column_type type)
{
    return type == SQL_COLUMN_INT     ? DECLARED_INT
           : type == SQL_COLUMN_TIME  ? DECLARED_TIME " COLLATE NOCASE"
           : type == SQL_COLUMN_TRUTH ? DECLARED_TRUTH " COLLATE TRUTH"
                                      : "VARCHAR COLLATE NOCASE";
}

static int table_connect(sqlite3 *db, void *context, int n_args, const char *const *args,
                         sqlite3_vtab **ret_table, char **ret_error)
{
    struct query *q = context;
    (void)ret_error;
    bool is_shown = q->shown && n_args >= 3 && !strcmp(args[1], "main");
    const struct sql_schema_table *spec = n_args >= 3 && !is_shown ? sql_schema_find(args[1], args[2]) : NULL;
    if (!spec && !is_shown) return SQLITE_ERROR;
    struct virtual_table *v = mem_zalloc(sizeof *v);
    struct buf declaration = {0};
    v->query = q;
    v->spec = spec;
    v->is_filled = is_shown;
    if (is_shown) {
        v->rows = *q->shown;
    } else {
        sql_table_init(&v->rows, q->arena);
        sql_table_columns(&v->rows, spec->columns);
    }
    buf_str(&declaration, "CREATE TABLE t (");
    for (size_t i = 0; i < v->rows.n_columns; i++)
        buf_printf(&declaration, "%s\"%s\" %s", i ? "," : "", v->rows.columns[i].name,
                   declared_type(v->rows.columns[i].type));
    buf_str(&declaration, ")");
    int rc = sqlite3_declare_vtab(db, buf_cstr(&declaration));
    buf_free(&declaration);
    if (rc)
        mem_free(v);
    else
        *ret_table = &v->base;
    return rc;
}

static int table_disconnect(sqlite3_vtab *table)
{
    mem_free(table);
    return SQLITE_OK;
}

static int table_best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
    (void)table;
    info->estimatedCost = 1000; /* every read is a full scan */
    return SQLITE_OK;
}

static int cursor_open(sqlite3_vtab *table, sqlite3_vtab_cursor **ret_cursor)
{
    (void)table;
    *ret_cursor = mem_zalloc(sizeof(struct cursor));
    return SQLITE_OK;
}

static int cursor_close(sqlite3_vtab_cursor *cursor)
{
    mem_free(cursor);
    return SQLITE_OK;
}

static int fill(struct virtual_table *v)
{
    struct query *q = v->query;
    sql_work_counts(false);
    int rc = sql_schema_fill(q->session, v->spec, false, &v->rows, &q->problem);
    sql_work_counts(true);
    return rc ? rc : hold_result(q, &q->problem);
}

static int cursor_filter(sqlite3_vtab_cursor *cursor, int index, const char *index_text, int n_args,
                         sqlite3_value **args)
{
    struct virtual_table *v = (struct virtual_table *)cursor->pVtab;
    (void)index;
    (void)index_text;
    (void)n_args;
    (void)args;
    if (!v->is_filled && fill(v)) return SQLITE_ERROR;
    v->is_filled = true;
    ((struct cursor *)cursor)->row = 0;
    return SQLITE_OK;
}

static int cursor_next(sqlite3_vtab_cursor *cursor)
{
    ((struct cursor *)cursor)->row++;
    return SQLITE_OK;
}

static int cursor_eof(sqlite3_vtab_cursor *cursor)
{
    return ((struct cursor *)cursor)->row >= ((struct virtual_table *)cursor->pVtab)->rows.n_rows;
}

static int cursor_column(sqlite3_vtab_cursor *cursor, sqlite3_context *to, int column)
{
    const struct virtual_table *v = (struct virtual_table *)cursor->pVtab;
    const char *cell = v->rows.rows[((struct cursor *)cursor)->row][column];
    enum sql_column_type type = v->rows.columns[column].type;
    if (!cell)
        sqlite3_result_null(to);
    else if (type == SQL_COLUMN_INT)
        sqlite3_result_int64(to, strtoll(cell, NULL, 10));
    else if (type == SQL_COLUMN_TRUTH && (!strcmp(cell, "true") || !strcmp(cell, "false")))
        sqlite3_result_text(to, *cell == 't' ? SQL_TRUE_CELL : SQL_FALSE_CELL, -1, SQLITE_STATIC);
    else
        sqlite3_result_text(to, cell, -1, SQLITE_STATIC); /* the cell lives as long as the statement */
    return SQLITE_OK;
}

static int cursor_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *ret)
{
    *ret = (sqlite3_int64)((struct cursor *)cursor)->row;
    return SQLITE_OK;
}

static const sqlite3_module module = {
    .xCreate = table_connect,
    .xConnect = table_connect,
    .xBestIndex = table_best_index,
    .xDisconnect = table_disconnect,
    .xDestroy = table_disconnect,
    .xOpen = cursor_open,
    .xClose = cursor_close,
    .xFilter = cursor_filter,
    .xNext = cursor_next,
    .xEof = cursor_eof,
    .xColumn = cursor_column,
    .xRowid = cursor_rowid,
};

/* ---- collations ---- */

static int compare_ignoring_case(void *context, int n_a, const void *a, int n_b, const void *b)
{
    size_t n = (size_t)(n_a < n_b ? n_a : n_b);
    if (!may_work(context, n)) return 0; /* a sort is one step; with an arbitrary order it ends soon */
    int order = strncasecmp(a, b, n);
    return order ? order : n_a - n_b;
}

static void spell_truth(int *len, const void **text)
{
    const char *s = *text;
    bool is_cell = *len == 2 && s[1] == SQL_TRUE_CELL[1];
    char letter = *len == 1 || is_cell ? *s : 0;
    if (letter != '0' && letter != '1') return;
    *text = letter == '1' ? "true" : "false";
    *len = (int)strlen(*text);
}

/* `true` in SQL is 1. This makes alive IN (true), alive IN (1) and alive IN ('true') mean the same. */
static int compare_truths(void *context, int n_a, const void *a, int n_b, const void *b)
{
    spell_truth(&n_a, &a);
    spell_truth(&n_b, &b);
    return compare_ignoring_case(context, n_a, a, n_b, b);
}

static int add_collations(struct query *q)
{
    static const char *const names[] = {"NOCASE", "utf8mb4_general_ci", "utf8_general_ci"};
    int rc = sqlite3_create_collation(q->db, "TRUTH", SQLITE_UTF8, q, compare_truths);
    for (size_t i = 0; !rc && i < sizeof names / sizeof *names; i++)
        rc = sqlite3_create_collation(q->db, names[i], SQLITE_UTF8, q, compare_ignoring_case);
    return rc;
}

/* ---- bounds ---- */

/* SQLite's functions that a statement may call, besides ours: those that docs/sql.md names. Others reach
 * into the process (fts3_tokenizer, load_extension), produce much from little (printf, zeroblob) or are slow
 * (glob, trim with a set of letters). */
static bool is_allowed_function(const char *name)
{
    static const char *const names[] = {
        "abs",  "avg",        "ceil",        "ceiling",      "coalesce",  "count",    "date",   "datetime",
        "exp",  "floor",      "first_value", "group_concat", "hex",       "ifnull",   "iif",    "julianday",
        "lag",  "last_value", "lead",        "length",       "ln",        "log10",    "log2",   "lower",
        "max",  "min",        "mod",         "nullif",       "ntile",     "pow",      "power",  "dense_rank",
        "rank", "round",      "row_number",  "sign",         "sqrt",      "strftime", "substr", "substring",
        "sum",  "time",       "total",       "typeof",       "unixepoch", "upper"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcasecmp(names[i], name)) return true;
    return sql_functions_has(name);
}

static int authorize(void *context, int action, const char *a, const char *b, const char *database,
                     const char *inner)
{
    struct query *q = context;
    (void)inner;
    if (action == SQLITE_SELECT || action == SQLITE_RECURSIVE) return SQLITE_OK;
    if (action == SQLITE_FUNCTION) return is_allowed_function(b) ? SQLITE_OK : SQLITE_DENY;
    if (action != SQLITE_READ) return SQLITE_DENY;
    if (q->shown && database && !strcmp(database, "main") && !strcmp(a, "shown")) return SQLITE_OK;
    const struct sql_schema_table *spec = sql_schema_find(database, a);
    /* Not one of our tables: either a name that the statement defines (WITH x AS ...) or SQLite's own table.
     */
    if (!spec) return database || !strncasecmp(a, "sqlite_", 7) ? SQLITE_DENY : SQLITE_OK;
    if (sql_schema_may(q->session, spec)) return SQLITE_OK;
    q->needs = spec->any_of;
    return SQLITE_DENY;
}

/* ---- all ---- */

/* Turns off the features of SQLite that the authorizer does not see. */
static int turn_off_features(sqlite3 *db)
{
    static const struct {
        int option, value;
    } features[] = {{SQLITE_DBCONFIG_DEFENSIVE, 1},
                    {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                    {SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0},
                    {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
                    {SQLITE_DBCONFIG_DQS_DML, 0}, /* an unknown name in quotes is an error, not a string */
                    {SQLITE_DBCONFIG_DQS_DDL, 0}};
    int rc = 0;
    for (size_t i = 0; !rc && i < sizeof features / sizeof *features; i++)
        rc = sqlite3_db_config(db, features[i].option, features[i].value, NULL);
    /* A module is a table by its mere name (json_each, fts3tokenize), and SQLite creates it without asking
     * the authorizer. */
    return rc ? rc : sqlite3_drop_modules(db, NULL);
}

static int add_tables(struct query *q, const char *query)
{
    char sql[200];
    const char *attached = ""; /* sql_schema_tables keeps the tables of a database together */
    int rc = sqlite3_create_module(q->db, "procprof", &module, q);
    if (!rc && q->shown)
        rc = sqlite3_exec(q->db, "CREATE VIRTUAL TABLE main.shown USING procprof", NULL, NULL, NULL);
    for (size_t i = 0; !rc && i < sql_schema_n_tables; i++) {
        const struct sql_schema_table *t = &sql_schema_tables[i];
        /* Creating all tables takes 3 ms; a table that is not needed does no harm. */
        if (!strcasestr(query, t->name)) continue;
        if (strcmp(attached, t->schema)) {
            snprintf(sql, sizeof sql, "ATTACH ':memory:' AS %s", t->schema);
            rc = sqlite3_exec(q->db, sql, NULL, NULL, NULL);
            attached = t->schema;
        }
        snprintf(sql, sizeof sql, "CREATE VIRTUAL TABLE %s.%s USING procprof", t->schema, t->name);
        if (!rc) rc = sqlite3_exec(q->db, sql, NULL, NULL, NULL);
    }
    return rc;
}

static enum sql_column_type type_of_declared(const char *declared)
{
    return !declared                           ? SQL_COLUMN_TEXT
           : !strcmp(declared, DECLARED_INT)   ? SQL_COLUMN_INT
           : !strcmp(declared, DECLARED_TIME)  ? SQL_COLUMN_TIME
           : !strcmp(declared, DECLARED_TRUTH) ? SQL_COLUMN_TRUTH
                                               : SQL_COLUMN_TEXT;
}

/* The types of the values of a column that is an expression. */
struct seen {
    bool text, real, integer;
};

static enum sql_column_type type_of_seen(const struct seen *seen)
{
    return seen->text      ? SQL_COLUMN_TEXT
           : seen->real    ? SQL_COLUMN_REAL
           : seen->integer ? SQL_COLUMN_INT
                           : SQL_COLUMN_TEXT;
}

static void see(struct seen *seen, int type)
{
    seen->text |= type == SQLITE_TEXT || type == SQLITE_BLOB;
    seen->real |= type == SQLITE_FLOAT;
    seen->integer |= type == SQLITE_INTEGER;
}

/* Takes the types of a SELECT without tables that gave no row from the values of its items. */
static void type_items(struct query *q, const struct sql_select *select, struct sql_table *t)
{
    struct buf text = {0};
    sqlite3_stmt *stmt = NULL;
    for (size_t i = 0; i < select->n_items; i++)
        buf_printf(&text, "%s %s", i ? "," : "SELECT", select->items[i].rendered);
    if (!sqlite3_prepare_v2(q->db, buf_cstr(&text), -1, &stmt, NULL) && sqlite3_step(stmt) == SQLITE_ROW)
        for (size_t i = 0; i < t->n_columns; i++) {
            struct seen seen = {0};
            see(&seen, sqlite3_column_type(stmt, (int)i));
            t->columns[i].type = type_of_seen(&seen);
        }
    sqlite3_finalize(stmt);
    buf_free(&text);
}

static const char *cell_text(struct query *q, sqlite3_stmt *stmt, int column)
{
    if (sqlite3_column_type(stmt, column) == SQLITE_FLOAT)
        return arena_printf(q->arena, "%.15g", sqlite3_column_double(stmt, column));
    const char *text = (const char *)sqlite3_column_text(stmt, column);
    if (!text) return "";
    if (!strchr(text, SQL_TRUE_CELL[1])) return arena_strdup(q->arena, text);
    struct buf b = {0}; /* GROUP_CONCAT gives several truth values */
    for (; *text; text++) {
        bool is_cell = (*text == '0' || *text == '1') && text[1] == SQL_TRUE_CELL[1];
        if (is_cell)
            buf_str(&b, *text++ == '1' ? "true" : "false");
        else
            buf_char(&b, *text);
    }
    const char *spelled = arena_strdup(q->arena, buf_cstr(&b));
    buf_free(&b);
    return spelled;
}

static int read_rows(struct query *q, sqlite3_stmt *stmt, struct sql_table *t, struct err *err)
{
    struct seen *seen = arena_zalloc(q->arena, (t->n_columns + 1) * sizeof *seen);
    int rc;
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        const char **row = sql_table_row(t);
        for (size_t i = 0; i < t->n_columns; i++) {
            int type = sqlite3_column_type(stmt, (int)i);
            if (type == SQLITE_NULL) continue;
            see(&seen[i], type);
            row[i] = cell_text(q, stmt, (int)i);
        }
        if ((rc = hold_result(q, err))) return rc;
    }
    if (rc != SQLITE_DONE) return rc;
    for (size_t i = 0; i < t->n_columns; i++)
        if (!sqlite3_column_decltype(stmt, (int)i)) t->columns[i].type = type_of_seen(&seen[i]);
    return 0;
}

static int explain(const struct query *q, int rc, struct err *err)
{
    static const char no_column[] = "no such column: ", no_function[] = "no such function: ";
    if (q->problem.text[0]) return err_set(err, ERR_INPUT, "%s", q->problem.text);
    if (q->is_too_long)
        return err_set(err, ERR_LIMIT, "the statement takes too long; ask for less (WHERE, fewer joins)");
    if ((rc & 0xff) == SQLITE_NOMEM)
        return err_set(err, ERR_LIMIT, "the statement takes too much memory; ask for less");
    const char *text = sqlite3_errmsg(q->db);
    if (!strncmp(text, "Unknown system variable", 23)) return err_set(err, ERR_NOT_FOUND, "%s", text);
    /* StarRocks' words */
    if (!strncmp(text, no_column, strlen(no_column)))
        return err_set(err, ERR_INPUT,
                       "Getting analyzing error. Detail message: Column '%s' cannot be resolved.",
                       text + strlen(no_column));
    if (!strncmp(text, no_function, strlen(no_function)))
        return err_set(err, ERR_INPUT,
                       "Getting analyzing error. Detail message: No matching function with signature: %s.",
                       text + strlen(no_function));
    return err_set(err, ERR_INPUT, "Getting analyzing error. Detail message: %s.", text);
}

/* A column without an alias is named by the text that the client wrote. */
static const char *column_name(const struct sql_select *select, size_t column, size_t n_columns,
                               const char *name, struct arena *arena)
{
    bool is_same_place = select->n_items == n_columns; /* otherwise an item such as * stands for several */
    for (size_t i = is_same_place ? column : 0; i < (is_same_place ? column + 1 : select->n_items); i++)
        if (!strcmp(select->items[i].rendered, name)) return select->items[i].written;
    return arena_strdup(arena, name);
}

static int prepare(struct query *q, const struct sql_select *select, sqlite3_stmt **ret_stmt)
{
    int rc = sqlite3_open_v2(":memory:", &q->db,
                             SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    if (!rc) rc = sqlite3_exec(q->db, "PRAGMA temp_store = MEMORY", NULL, NULL, NULL);
    if (!rc) rc = turn_off_features(q->db);
    if (!rc) rc = sql_functions_add(q->db, &q->caller);
    if (!rc) rc = add_collations(q);
    if (!rc) rc = add_tables(q, select->text);
    if (rc) return rc;
    /* Without tables nothing repeats, so a value may be as long as the statement itself. */
    sqlite3_limit(q->db, SQLITE_LIMIT_LENGTH, select->reads_tables ? MAX_VALUE_BYTES : (int)SQL_MAX_BYTES);
    sqlite3_limit(q->db, SQLITE_LIMIT_FUNCTION_ARG, MAX_ARGS);
    sqlite3_limit(q->db, SQLITE_LIMIT_EXPR_DEPTH, 200);
    sqlite3_limit(q->db, SQLITE_LIMIT_VDBE_OP, MAX_PROGRAM);
    sqlite3_limit(q->db, SQLITE_LIMIT_COMPOUND_SELECT, 50);
    sqlite3_limit(q->db, SQLITE_LIMIT_VARIABLE_NUMBER, 0); /* :x would be a parameter */
    sqlite3_set_authorizer(q->db, authorize, q);
    sqlite3_progress_handler(q->db, STEPS_PER_CHECK, check_progress, q);
    return sqlite3_prepare_v2(q->db, select->text, -1, ret_stmt, NULL);
}

int sql_query(struct sql_session *s, const struct sql_select *select, const struct sql_table *shown,
              bool describe_only, struct sql_table *t, unsigned *ret_needs, struct err *err)
{
    struct query q = {.session = s,
                      .shown = shown,
                      .arena = t->arena,
                      .n_arena_bytes = t->arena->total_bytes,
                      .begin_cpu_ms = thread_cpu_ms()};
    q.caller = (struct sql_caller){.session = s, .may_work = may_work, .context = &q};
    sqlite3_stmt *stmt = NULL;
    err->text[0] = '\0';
    sql_work_begin();
    int rc = prepare(&q, select, &stmt);
    if (!rc) {
        t->n_columns = (size_t)sqlite3_column_count(stmt);
        t->columns = arena_array(t->arena, t->n_columns + 1, sizeof *t->columns);
        for (size_t i = 0; i < t->n_columns; i++)
            t->columns[i] = (struct sql_column){
                .name = column_name(select, i, t->n_columns, sqlite3_column_name(stmt, (int)i), t->arena),
                .type = type_of_declared(sqlite3_column_decltype(stmt, (int)i)),
                .is_long = true};
        if (!describe_only) rc = read_rows(&q, stmt, t, err);
        if (!rc && !t->n_rows && !select->reads_tables && select->n_items == t->n_columns)
            type_items(&q, select, t);
    }
    for (size_t i = 0; i < t->n_columns; i++)
        if (t->columns[i].type == SQL_COLUMN_TRUTH) t->columns[i].type = SQL_COLUMN_TEXT;
    *ret_needs = q.needs;
    if (rc && !err->text[0]) rc = explain(&q, rc, err);
    sqlite3_finalize(stmt);
    sqlite3_close(q.db);
    sql_work_end();
    return rc;
}
