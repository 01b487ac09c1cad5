/* sql_table.h - a result: columns, and rows of text. Everything in it lives in the arena of the statement. */
#ifndef SERVE_SQL_SQL_TABLE_H
#define SERVE_SQL_SQL_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

enum sql_column_type {
    SQL_COLUMN_TEXT,
    SQL_COLUMN_INT,
    SQL_COLUMN_REAL,
    SQL_COLUMN_TIME,  /* 2026-01-31 23:59:59 */
    SQL_COLUMN_TRUTH, /* true or false; clients get text, WHERE takes them for truth values */
};

struct sql_column {
    const char *name;
    enum sql_column_type type;
    bool is_long; /* may be longer than VARCHAR(30), the type that StarRocks gives the columns of SHOW */
};

struct sql_table {
    struct arena *arena;
    struct sql_column *columns;
    size_t n_columns;
    const char ***rows; /* rows[i][column]; a cell is NULL for SQL's NULL */
    size_t n_rows, cap_rows;
    size_t like_column; /* the one that SHOW ... LIKE looks at */
};

void sql_table_init(struct sql_table *t, struct arena *arena);
/* Names separated by commas. A name may have its type after a colon: ":i" a whole number, ":t" a time, ":b" a
 * truth value; it is text otherwise. */
void sql_table_columns(struct sql_table *t, const char *names);
const char **sql_table_row(struct sql_table *t);                   /* a new row, all NULL */
void sql_table_add(struct sql_table *t, const char *const *cells); /* a row of one cell per column */

#endif
