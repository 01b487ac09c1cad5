/* sql_table.c - see sql_table.h. */
#include "serve/sql/sql_table.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

void sql_table_init(struct sql_table *t, struct arena *arena)
{
    *t = (struct sql_table){.arena = arena};
}

void sql_table_typed_columns(struct sql_table *t, const char *names)
{
    size_t n = 1;
    for (const char *c = names; *c; c++) n += *c == ',';
    t->columns = arena_array(t->arena, n, sizeof *t->columns);
    t->n_columns = 0;
    for (const char *at = names;;) {
        size_t len = strcspn(at, ","), name_len = strcspn(at, ",:");
        char type = name_len < len ? at[name_len + 1] : 0;
        t->columns[t->n_columns++] = (struct sql_column){.name = arena_strndup(t->arena, at, name_len),
                                                         .type = type == 'i'   ? SQL_COLUMN_INT
                                                                 : type == 't' ? SQL_COLUMN_TIME
                                                                 : type == 'b' ? SQL_COLUMN_TRUTH
                                                                               : SQL_COLUMN_TEXT};
        if (!at[len]) break;
        at += len + 1;
    }
}

void sql_table_columns(struct sql_table *t, const char *names)
{
    sql_table_typed_columns(t, names);
    for (size_t i = 0; i < t->n_columns; i++) t->columns[i].type = SQL_COLUMN_TEXT;
}

const char **sql_table_row(struct sql_table *t)
{
    if (t->n_rows == t->cap_rows) {
        size_t cap = t->cap_rows ? t->cap_rows * 2 : 16;
        const char ***rows = arena_array(t->arena, cap, sizeof *rows);
        if (t->n_rows) memcpy(rows, t->rows, t->n_rows * sizeof *rows);
        t->rows = rows;
        t->cap_rows = cap;
    }
    return t->rows[t->n_rows++] = arena_zalloc(t->arena, t->n_columns * sizeof(char *));
}

static int find_column(const struct sql_table *t, const char *name, size_t *ret, struct err *err)
{
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; i < t->n_columns; i++) {
        if (strcasecmp(t->columns[i].name, name) && (!dot || strcasecmp(t->columns[i].name, dot + 1)))
            continue;
        *ret = i;
        return 0;
    }
    return err_set(err, ERR_NOT_FOUND,
                   "Getting analyzing error. Detail message: Column '%s' cannot be resolved.", name);
}

struct row_scope {
    const struct sql_table *table;
    const char **row;
};

static int row_column(void *context, const char *name, struct sql_value *ret, struct err *err)
{
    const struct row_scope *scope = context;
    size_t i;
    int rc = find_column(scope->table, name, &i, err);
    if (!rc) *ret = sql_value_text(scope->row[i]);
    return rc;
}

static int row_variable(void *context, const char *name, bool is_system, struct sql_value *ret,
                        struct err *err)
{
    (void)context;
    (void)ret;
    return err_set(err, ERR_INPUT,
                   "Getting analyzing error. Detail message: variable '%s%s' cannot be used here.",
                   is_system ? "@@" : "@", name);
}

static int row_call(void *context, const char *name, const struct sql_value *args, size_t n_args,
                    struct arena *arena, struct sql_value *ret, struct err *err)
{
    (void)context;
    if ((!strcasecmp(name, "LOWER") || !strcasecmp(name, "UPPER")) && n_args == 1) {
        const char *s = sql_value_cstr(args[0], arena);
        if (!s) {
            *ret = (struct sql_value){0};
            return 0;
        }
        char *copy = arena_strdup(arena, s);
        for (char *c = copy; *c; c++) {
            bool lower = !strcasecmp(name, "LOWER");
            if (lower && *c >= 'A' && *c <= 'Z') *c += 32;
            if (!lower && *c >= 'a' && *c <= 'z') *c -= 32;
        }
        *ret = sql_value_text(copy);
        return 0;
    }
    return err_set(err, ERR_NOT_FOUND,
                   "Getting analyzing error. Detail message: No matching function with signature: %s.", name);
}

static int keep_rows(struct sql_table *t, const struct sql_clauses *c, struct err *err)
{
    struct row_scope context = {.table = t};
    struct sql_scope scope = {
        .context = &context, .column = row_column, .variable = row_variable, .call = row_call};
    size_t kept = 0;
    for (size_t i = 0; i < t->n_rows; i++) {
        const char **row = t->rows[i];
        const char *subject = row[t->like_column];
        if (c->like && (!subject || !sql_like(subject, c->like, true))) continue;
        if (c->where) {
            struct sql_value v;
            context.row = row;
            int rc = sql_expr_eval(c->where, &scope, t->arena, &v, err);
            if (rc) return rc;
            if (!sql_value_true(v)) continue;
        }
        t->rows[kept++] = row;
    }
    t->n_rows = kept;
    return 0;
}

struct sort_key {
    size_t column;
    bool descending;
};

struct sort_keys {
    struct sort_key *keys;
    size_t n_keys;
};

static int compare_rows(const void *a, const void *b, void *context)
{
    const struct sort_keys *k = context;
    const char **x = *(const char ***)a, **y = *(const char ***)b;
    for (size_t i = 0; i < k->n_keys; i++) {
        const char *s = x[k->keys[i].column], *u = y[k->keys[i].column];
        int order = !s || !u ? !!s - !!u : sql_value_compare(sql_value_text(s), sql_value_text(u));
        if (order) return k->keys[i].descending ? -order : order;
    }
    return 0;
}

int sql_table_apply(struct sql_table *t, const struct sql_clauses *c, struct err *err)
{
    int rc = c->like ? sql_check_pattern(c->like, err) : 0;
    if (rc) return rc;
    if (c->where && !t->n_rows) { /* an unknown name is wrong even when there is nothing to look at */
        const char **row = sql_table_row(t);
        (void)row;
        rc = keep_rows(t, c, err);
        t->n_rows = 0;
        if (rc) return rc;
    }
    if ((c->like || c->where) && (rc = keep_rows(t, c, err))) return rc;
    if (c->n_orders) {
        struct sort_keys keys = {arena_array(t->arena, c->n_orders, sizeof *keys.keys), c->n_orders};
        for (size_t i = 0; i < c->n_orders; i++) {
            const struct sql_order *o = &c->orders[i];
            keys.keys[i].descending = o->descending;
            if (o->column) {
                if ((rc = find_column(t, o->column, &keys.keys[i].column, err))) return rc;
            } else if (o->ordinal < 1 || o->ordinal > t->n_columns) {
                return err_set(
                    err, ERR_INPUT,
                    "Getting analyzing error. Detail message: ORDER BY position %zu is not in select list.",
                    o->ordinal);
            } else {
                keys.keys[i].column = o->ordinal - 1;
            }
        }
        /* glibc's qsort_r is a stable merge sort unless memory is short; ties then keep the listing's order.
         */
        qsort_r(t->rows, t->n_rows, sizeof *t->rows, compare_rows, &keys);
    }
    if (c->has_limit) {
        size_t skip = c->offset < t->n_rows ? (size_t)c->offset : t->n_rows;
        t->rows += skip;
        t->cap_rows -= skip;
        t->n_rows -= skip;
        if (c->limit < t->n_rows) t->n_rows = (size_t)c->limit;
    }
    return 0;
}
