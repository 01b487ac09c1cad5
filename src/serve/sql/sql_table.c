/* sql_table.c - see sql_table.h. */
#include "serve/sql/sql_table.h"

#include <string.h>

void sql_table_init(struct sql_table *t, struct arena *arena)
{
    *t = (struct sql_table){.arena = arena};
}

void sql_table_columns(struct sql_table *t, const char *names)
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

void sql_table_add(struct sql_table *t, const char *const *cells)
{
    const char **row = sql_table_row(t);
    for (size_t i = 0; i < t->n_columns; i++) row[i] = cells[i];
}
