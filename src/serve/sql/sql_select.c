/* sql_select.c - SELECT without tables: constants, @@variables; and the functions that clients and drivers
 * call, which SELECT with tables (sql_query.c) has from here too. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/buf.h"
#include "serve/sql/sql_execute.h"

static int select_column(void *context, const char *name, struct sql_value *ret, struct err *err)
{
    (void)ret;
    struct sql_session *s = context;
    if (!strcasecmp(name, "CURRENT_USER") || !strcasecmp(name, "USER")) {
        *ret = sql_value_text(s->user);
        return 0;
    }
    return err_set(err, ERR_NOT_FOUND,
                   "Getting analyzing error. Detail message: Column '%s' cannot be resolved.", name);
}

int sql_variable_value(struct sql_session *s, const char *name, struct sql_value *ret, struct err *err)
{
    const char *value = sql_variable(s, name);
    if (!value) return err_set(err, ERR_NOT_FOUND, "Unknown system variable '%s'", name);
    bool number = *value && strspn(value, "0123456789") == strlen(value) && strlen(value) < 19;
    *ret = number ? sql_value_int(atoll(value)) : sql_value_text(value);
    if (!strcmp(value, "ON") || !strcmp(value, "OFF"))
        *ret = sql_value_int(value[1] == 'N'); /* as MySQL answers @@autocommit */
    return 0;
}

static int select_variable(void *context, const char *name, bool is_system, struct sql_value *ret,
                           struct err *err)
{
    if (is_system) return sql_variable_value(context, name, ret, err);
    *ret = (struct sql_value){0}; /* user variables: never set here */
    return 0;
}

static double number_of(struct sql_value v)
{
    return v.kind == SQL_REAL ? v.r : v.kind == SQL_TEXT ? strtod(v.s, NULL) : (double)v.i;
}

/* "2026-01-31 23:59:59", or the day alone, in local time; -1: no such time. */
static int64_t parse_time(const char *text)
{
    struct tm tm = {.tm_isdst = -1};
    const char *end = text ? strptime(text, "%Y-%m-%d", &tm) : NULL;
    if (end && *end) end = strptime(end, " %H:%M:%S", &tm);
    return end ? (int64_t)mktime(&tm) : -1;
}

/* text, from, to; in linear time, unlike SQLite's. */
static int replace(const struct sql_value *args, struct arena *arena, struct sql_value *ret, struct err *err)
{
    const char *text = sql_value_cstr(args[0], arena), *from = sql_value_cstr(args[1], arena),
               *to = sql_value_cstr(args[2], arena);
    struct buf b = {0};
    if (!text || !from || !to) return 0; /* NULL */
    size_t from_len = strlen(from), to_len = strlen(to);
    for (const char *found; from_len && (found = strstr(text, from)); text = found + from_len) {
        buf_add(&b, text, (size_t)(found - text));
        buf_add(&b, to, to_len);
        if (b.len <= SQL_MAX_BYTES) continue;
        buf_free(&b);
        return err_set(err, ERR_LIMIT, "REPLACE() gives more than 1 MiB");
    }
    buf_str(&b, text);
    *ret = sql_value_text(arena_strdup(arena, buf_cstr(&b)));
    buf_free(&b);
    return 0;
}

int sql_call(struct sql_session *s, const char *name, const struct sql_value *args, size_t n_args,
             struct arena *arena, struct sql_value *ret, struct err *err)
{
    *ret = (struct sql_value){0};
    if (n_args == 0) {
        if (!strcasecmp(name, "VERSION") || !strcasecmp(name, "CURRENT_VERSION"))
            *ret = sql_value_text(SQL_SERVER_VERSION);
        else if (!strcasecmp(name, "DATABASE") || !strcasecmp(name, "SCHEMA"))
            *ret = sql_value_text(*s->database ? s->database : NULL);
        else if (!strcasecmp(name, "USER") || !strcasecmp(name, "CURRENT_USER") ||
                 !strcasecmp(name, "SESSION_USER") || !strcasecmp(name, "SYSTEM_USER"))
            *ret = sql_value_text(arena_printf(arena, "'%s'@'%%'", s->user));
        else if (!strcasecmp(name, "CONNECTION_ID"))
            *ret = sql_value_int(s->connection_id);
        else if (!strcasecmp(name, "NOW") || !strcasecmp(name, "CURRENT_TIMESTAMP"))
            *ret = sql_value_text(sql_time_text(arena, time(NULL)));
        else if (!strcasecmp(name, "CURDATE") || !strcasecmp(name, "CURRENT_DATE"))
            *ret = sql_value_text(arena_strndup(arena, sql_time_text(arena, time(NULL)), 10));
        else if (!strcasecmp(name, "UNIX_TIMESTAMP"))
            *ret = sql_value_int(time(NULL));
        else
            goto unknown;
        return 0;
    }
    if (!strcasecmp(name, "CONCAT")) {
        struct buf b = {0};
        bool null = false;
        for (size_t i = 0; i < n_args; i++) {
            const char *text = sql_value_cstr(args[i], arena);
            if (text)
                buf_str(&b, text);
            else
                null = true;
        }
        *ret = null ? (struct sql_value){0} : sql_value_text(arena_strdup(arena, buf_cstr(&b)));
        buf_free(&b);
        return 0;
    }
    if ((!strcasecmp(name, "IFNULL") || !strcasecmp(name, "COALESCE"))) {
        *ret = args[0];
        for (size_t i = 1; i < n_args && ret->kind == SQL_NULL; i++) *ret = args[i];
        return 0;
    }
    if (!strcasecmp(name, "IF") && n_args == 3) {
        *ret = args[sql_value_true(args[0]) ? 1 : 2];
        return 0;
    }
    if (!strcasecmp(name, "LOCATE") && (n_args == 2 || n_args == 3)) {
        const char *part = sql_value_cstr(args[0], arena), *text = sql_value_cstr(args[1], arena);
        double from = n_args == 3 ? number_of(args[2]) : 1;
        if (!part || !text) return 0; /* NULL */
        const char *found =
            from >= 1 && from <= (double)strlen(text) + 1 ? strcasestr(text + (size_t)from - 1, part) : NULL;
        *ret = sql_value_int(found ? found - text + 1 : 0);
        return 0;
    }
    if (!strcasecmp(name, "INSTR") && n_args == 2)
        return sql_call(s, "LOCATE", (const struct sql_value[]){args[1], args[0]}, 2, arena, ret, err);
    if (!strcasecmp(name, "REPLACE") && n_args == 3) return replace(args, arena, ret, err);
    bool is_trim = !strcasecmp(name, "TRIM");
    if ((is_trim || !strcasecmp(name, "LTRIM") || !strcasecmp(name, "RTRIM")) && n_args == 1) {
        const char *text = sql_value_cstr(args[0], arena);
        if (!text) return 0;
        if (is_trim || strcasecmp(name, "RTRIM")) text += strspn(text, " ");
        size_t len = strlen(text);
        if (is_trim || strcasecmp(name, "LTRIM"))
            while (len && text[len - 1] == ' ') len--;
        *ret = sql_value_text(arena_strndup(arena, text, len));
        return 0;
    }
    if ((!strcasecmp(name, "LEFT") || !strcasecmp(name, "RIGHT")) && n_args == 2) {
        const char *text = sql_value_cstr(args[0], arena);
        double n = args[1].kind == SQL_NULL ? 0 : number_of(args[1]);
        if (!text) return 0;
        size_t len = strlen(text), kept = n < 0 ? 0 : n < (double)len ? (size_t)n : len;
        *ret =
            sql_value_text(arena_strndup(arena, strcasecmp(name, "LEFT") ? text + len - kept : text, kept));
        return 0;
    }
    if (!strcasecmp(name, "FROM_UNIXTIME") && n_args == 1) {
        double t = args[0].kind == SQL_NULL ? -1 : number_of(args[0]);
        *ret = sql_value_text(t >= 1 && t < 1e11 ? sql_time_text(arena, (int64_t)t) : NULL);
        return 0;
    }
    if (!strcasecmp(name, "UNIX_TIMESTAMP") && n_args == 1) {
        int64_t t = parse_time(sql_value_cstr(args[0], arena));
        *ret = t >= 0 ? sql_value_int(t) : (struct sql_value){0};
        return 0;
    }
unknown:
    return err_set(err, ERR_NOT_FOUND,
                   "Getting analyzing error. Detail message: No matching function with signature: %s.", name);
}

static int select_call(void *context, const char *name, const struct sql_value *args, size_t n_args,
                       struct arena *arena, struct sql_value *ret, struct err *err)
{
    return sql_call(context, name, args, n_args, arena, ret, err);
}

int sql_select(struct sql_session *s, const struct sql_statement *st, bool describe_only, struct sql_table *t,
               struct err *err)
{
    struct sql_scope scope = {
        .context = s, .column = select_column, .variable = select_variable, .call = select_call};
    t->columns = arena_array(t->arena, st->n_items, sizeof *t->columns);
    t->n_columns = st->n_items;
    struct sql_value v;
    const char **row = sql_table_row(t);
    for (size_t i = 0; i < st->n_items; i++) {
        const struct sql_select_item *item = &st->items[i];
        if (!item->expr)
            return err_set(err, ERR_INPUT, "Getting analyzing error. Detail message: No tables used.");
        int rc = sql_expr_eval(item->expr, &scope, t->arena, &v, err);
        if (rc) return rc;
        t->columns[i] = (struct sql_column){.name = item->alias,
                                            .type = v.kind == SQL_INT || v.kind == SQL_BOOL ? SQL_COLUMN_INT
                                                    : v.kind == SQL_REAL                    ? SQL_COLUMN_REAL
                                                                         : SQL_COLUMN_TEXT};
        row[i] = sql_value_cstr(v, t->arena);
    }
    if (describe_only) {
        t->n_rows = 0;
        return 0;
    }
    if (st->clauses.where) {
        int rc = sql_expr_eval(st->clauses.where, &scope, t->arena, &v, err);
        if (rc) return rc;
        if (!sql_value_true(v)) t->n_rows = 0;
    }
    struct sql_clauses rest = st->clauses;
    rest.where = NULL;
    return sql_table_apply(t, &rest, err);
}
