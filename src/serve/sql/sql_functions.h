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

int sql_functions_add(sqlite3 *db, const struct sql_caller *caller); /* 0 or SQLite's error */
bool sql_functions_has(const char *name);

#endif
