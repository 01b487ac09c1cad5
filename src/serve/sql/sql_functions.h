/* sql_functions.h - the SQL functions that SQLite does not have, or has with another meaning than MySQL. */
#ifndef SERVE_SQL_SQL_FUNCTIONS_H
#define SERVE_SQL_SQL_FUNCTIONS_H

#include <sqlite3.h>

#include "serve/sql/sql_execute.h"

/* What a function call needs. It must outlive the database. */
struct sql_caller {
    struct sql_session *session;
    /* Called with the number of bytes that a call is about to work on. False: the statement has to end. */
    bool (*may_work)(void *context, size_t n_bytes);
    void *context;
};

/* A truth value that comes from a table. SQLite takes it for the number 1 or 0, even with the white space at
 * its end; text functions and clients get "true" or "false". */
#define SQL_TRUE_CELL  "1\v"
#define SQL_FALSE_CELL "0\v"
const char *
sql_spelled(const char *text); /* "true" or "false" for such a cell, otherwise `text`; may be NULL */

int sql_functions_add(sqlite3 *db, const struct sql_caller *caller); /* 0 or SQLite's error */
bool sql_functions_has(const char *name);

#endif
