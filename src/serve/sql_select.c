/* sql_select.c - SELECT without tables: constants, @@variables and the few functions that clients and drivers
 * call on connect. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/buf.h"
#include "serve/sql_execute.h"

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

static int select_variable(void *context, const char *name, bool is_system, struct sql_value *ret,
                           struct err *err)
{
    if (!is_system) { /* user variables: never set here */
        *ret = (struct sql_value){0};
        return 0;
    }
    const char *value = sql_variable(context, name);
    if (!value) return err_set(err, ERR_NOT_FOUND, "Unknown system variable '%s'", name);
    bool number = *value && strspn(value, "0123456789") == strlen(value) && strlen(value) < 19;
    *ret = number ? sql_value_int(atoll(value)) : sql_value_text(value);
    if (!strcmp(value, "ON") || !strcmp(value, "OFF"))
        *ret = sql_value_int(value[1] == 'N'); /* as MySQL answers @@autocommit */
    return 0;
}

static const char *time_text(struct arena *arena, bool with_time)
{
    char text[32];
    time_t now = time(NULL);
    struct tm tm;
    localtime_r(&now, &tm);
    if (with_time)
        strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &tm);
    else
        strftime(text, sizeof text, "%Y-%m-%d", &tm);
    return arena_strdup(arena, text);
}

static int select_call(void *context, const char *name, const struct sql_value *args, size_t n_args,
                       struct arena *arena, struct sql_value *ret, struct err *err)
{
    struct sql_session *s = context;
    if (n_args == 0) {
        if (!strcasecmp(name, "VERSION"))
            *ret = sql_value_text(SQL_SERVER_VERSION);
        else if (!strcasecmp(name, "DATABASE") || !strcasecmp(name, "SCHEMA"))
            *ret = sql_value_text(*s->database ? s->database : NULL);
        else if (!strcasecmp(name, "USER") || !strcasecmp(name, "CURRENT_USER") ||
                 !strcasecmp(name, "SESSION_USER"))
            *ret = sql_value_text(arena_printf(arena, "'%s'@'%%'", s->user));
        else if (!strcasecmp(name, "CONNECTION_ID"))
            *ret = sql_value_int(s->connection_id);
        else if (!strcasecmp(name, "NOW") || !strcasecmp(name, "CURRENT_TIMESTAMP"))
            *ret = sql_value_text(time_text(arena, true));
        else if (!strcasecmp(name, "CURDATE") || !strcasecmp(name, "CURRENT_DATE"))
            *ret = sql_value_text(time_text(arena, false));
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
unknown:
    return err_set(err, ERR_NOT_FOUND,
                   "Getting analyzing error. Detail message: No matching function with signature: %s.", name);
}

int sql_select(struct sql_session *s, const struct sql_statement *st, bool describe_only, struct sql_table *t,
               struct err *err)
{
    struct sql_scope scope = {
        .context = s, .column = select_column, .variable = select_variable, .call = select_call};
    if (st->from && strcasecmp(st->from, "dual"))
        return err_set(err, ERR_UNSUPPORTED,
                       "Getting analyzing error. Detail message: Unknown table '%s'; procprof has no tables, "
                       "see SHOW BACKENDS.",
                       st->from);
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
