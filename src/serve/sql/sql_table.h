/* sql_table.h - a result: columns and rows of text, and what WHERE, LIKE, ORDER BY and LIMIT do to it.
 *
 * Everything lives in the arena of the statement. A cell is NULL for SQL's NULL.
 */
#ifndef SERVE_SQL_SQL_TABLE_H
#define SERVE_SQL_SQL_TABLE_H

#include "serve/sql/sql_expr.h"

enum sql_column_type {
    SQL_COLUMN_TEXT,
    SQL_COLUMN_INT,
    SQL_COLUMN_REAL,
    SQL_COLUMN_TIME,  /* 2026-01-31 23:59:59 */
    SQL_COLUMN_TRUTH, /* true or false, which are text to clients; WHERE takes them for truth values */
};

struct sql_column {
    const char *name;
    enum sql_column_type type;
    bool is_long; /* may be longer than a VARCHAR(30), which is what StarRocks calls the columns of SHOW */
};

struct sql_table {
    struct arena *arena;
    struct sql_column *columns;
    size_t n_columns;
    const char ***rows; /* rows[i][column] */
    size_t n_rows, cap_rows;
    size_t like_column; /* what a bare LIKE looks at */
};

struct sql_order {
    const char *column; /* NULL: by ordinal */
    size_t ordinal;     /* from 1 */
    bool descending;
};

struct sql_clauses {
    const char *like; /* NULL: none */
    struct sql_expr *where;
    struct sql_order *orders;
    size_t n_orders;
    bool has_limit;
    uint64_t limit, offset;
};

void sql_table_init(struct sql_table *t, struct arena *arena);
/* Names separated by commas, all text. A name may have its type behind a colon, which is left out here. */
void sql_table_columns(struct sql_table *t, const char *names);
/* With the types: ":i" a whole number, ":t" a time, ":b" a truth value, else text. */
void sql_table_typed_columns(struct sql_table *t, const char *names);
const char **sql_table_row(struct sql_table *t); /* a new row, all NULL */

int sql_table_apply(struct sql_table *t, const struct sql_clauses *clauses, struct err *err);

#endif
