/* db.h - SQLite, with our error type and our habits: WAL, a time limit on locks, statements prepared once.
 *
 * A struct db may be used by one thread at a time; its owner brings the lock.
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

/* Opens or makes the file (mode 0600) and runs schema ("CREATE TABLE IF NOT EXISTS ..."). A file that is
 * damaged is moved aside to PATH.damaged and a new one made; *ret_was_damaged (may be NULL) says so. */
int db_open(struct db *db, const char *path, const char *schema, bool *ret_was_damaged, struct err *err);
void db_close(struct db *db);

int db_exec(struct db *db, const char *sql, struct err *err);

/* Prepares, binds by the letters of types (i: int64_t, t: const char *, b: const void *, int, d: double), and
 * steps through rows. sqlite3_stmt *s = db_query(db, &err, "SELECT a FROM t WHERE b = ?", "i", (int64_t)7);
 *     while (db_row(s)) ...;   rc = db_done(db, s, &err); */
sqlite3_stmt *db_query(struct db *db, struct err *err, const char *sql, const char *types, ...);
bool db_row(sqlite3_stmt *s);
int db_done(struct db *db, sqlite3_stmt *s,
            struct err *err); /* finalises; 0, or what went wrong while stepping */

/* A statement without rows. */
int db_run(struct db *db, struct err *err, const char *sql, const char *types, ...);

const char *db_text(sqlite3_stmt *s, int column); /* "" for NULL */

#endif
