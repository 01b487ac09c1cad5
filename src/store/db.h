/* db.h - a thin layer over SQLite: errors as struct err, WAL mode, and a time limit on locks.
 *
 * Only one thread at a time may use a struct db. Its owner provides the lock.
 */
#ifndef STORE_DB_H
#define STORE_DB_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct db {
    sqlite3 *handle;
    char path[512];
};

/* Opens or creates the file (mode 0600) and runs schema ("CREATE TABLE IF NOT EXISTS ..."). If the file is
 * damaged, it is renamed to PATH.damaged, a new file is created, and *ret_was_damaged (may be NULL) is set.
 */
int db_open(struct db *db, const char *path, const char *schema, bool *ret_was_damaged, struct err *err);
void db_close(struct db *db);

/* Runs SQL text without arguments and without results. */
int db_exec(struct db *db, const char *sql, struct err *err);

/* Prepares a statement without arguments. db_row steps to the next row and returns false at the end. Every
 * statement must be passed to db_done, which accepts NULL. */
sqlite3_stmt *db_query(struct db *db, struct err *err, const char *sql);
bool db_row(sqlite3_stmt *s);

/* Finalises the statement. Returns 0, or the error that preparing or stepping met. */
int db_done(struct db *db, sqlite3_stmt *s, struct err *err);

/* Runs a statement that returns no rows. types has one letter per argument:
 * i for int64_t, t for text (const char *), b for bytes (const void * and int), d for double. */
int db_run(struct db *db, struct err *err, const char *sql, const char *types, ...);

/* Returns the text of a column, or "" if it is NULL. It is valid until the next db_row or db_done. */
const char *db_text(sqlite3_stmt *s, int column);

#endif
