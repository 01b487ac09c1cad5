/* db.c - see db.h. */
#include "store/db.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail(struct db *db, struct err *err, int rc)
{
    int code = rc == SQLITE_BUSY ? ERR_BUSY : ERR_IO;
    return err_set(err, code, "%s: %s", db->path,
                   db->handle ? sqlite3_errmsg(db->handle) : sqlite3_errstr(rc));
}

int db_exec(struct db *db, const char *sql, struct err *err)
{
    int rc = sqlite3_exec(db->handle, sql, NULL, NULL, NULL);
    return rc == SQLITE_OK ? 0 : fail(db, err, rc);
}

static int open_once(struct db *db, const char *schema, struct err *err)
{
    int fd = open(db->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600); /* SQLite itself would use 0644 */
    if (fd >= 0) close(fd);
    int rc = sqlite3_open_v2(db->path, &db->handle,
                             SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    if (rc != SQLITE_OK) return fail(db, err, rc);
    sqlite3_busy_timeout(db->handle, 5000);
    int bad = db_exec(db, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON;", err);
    return bad ? bad : db_exec(db, schema, err);
}

static bool is_damaged(struct db *db)
{
    int rc = db->handle ? sqlite3_errcode(db->handle) : SQLITE_OK;
    return rc == SQLITE_CORRUPT || rc == SQLITE_NOTADB;
}

int db_open(struct db *db, const char *path, const char *schema, bool *ret_was_damaged, struct err *err)
{
    *db = (struct db){0};
    snprintf(db->path, sizeof db->path, "%s", path);
    if (ret_was_damaged) *ret_was_damaged = false;
    int bad = open_once(db, schema, err);
    if (bad && is_damaged(db)) {
        char aside[sizeof db->path + 16], companion[sizeof db->path + 16];
        db_close(db);
        snprintf(aside, sizeof aside, "%s.damaged", path);
        rename(path, aside);
        snprintf(companion, sizeof companion, "%s-wal", path);
        unlink(companion);
        snprintf(companion, sizeof companion, "%s-shm", path);
        unlink(companion);
        if (ret_was_damaged) *ret_was_damaged = true;
        snprintf(db->path, sizeof db->path, "%s", path);
        bad = open_once(db, schema, err);
    }
    if (bad) db_close(db);
    return bad;
}

void db_close(struct db *db)
{
    sqlite3_close(db->handle);
    db->handle = NULL;
}

sqlite3_stmt *db_query(struct db *db, struct err *err, const char *sql)
{
    sqlite3_stmt *s = NULL;
    int rc = sqlite3_prepare_v2(db->handle, sql, -1, &s, NULL);
    if (rc != SQLITE_OK) {
        fail(db, err, rc);
        return NULL;
    }
    return s;
}

static void bind(sqlite3_stmt *s, const char *types, va_list args)
{
    for (int i = 1; *types; types++, i++) {
        switch (*types) {
        case 'i':
            sqlite3_bind_int64(s, i, va_arg(args, int64_t));
            break;
        case 'd':
            sqlite3_bind_double(s, i, va_arg(args, double));
            break;
        case 't':
            sqlite3_bind_text(s, i, va_arg(args, const char *), -1, SQLITE_TRANSIENT);
            break;
        case 'b': {
            const void *bytes = va_arg(args, const void *);
            sqlite3_bind_blob(s, i, bytes, va_arg(args, int), SQLITE_TRANSIENT);
            break;
        }
        }
    }
}

bool db_row(sqlite3_stmt *s)
{
    return s && sqlite3_step(s) == SQLITE_ROW;
}

int db_done(struct db *db, sqlite3_stmt *s, struct err *err)
{
    if (!s) return ERR_IO; /* err was filled when it was prepared */
    int rc = sqlite3_finalize(s);
    return rc == SQLITE_OK ? 0 : fail(db, err, rc);
}

int db_run(struct db *db, struct err *err, const char *sql, const char *types, ...)
{
    sqlite3_stmt *s = db_query(db, err, sql);
    va_list args;
    va_start(args, types);
    if (s) bind(s, types, args);
    va_end(args);
    while (db_row(s)) continue;
    return db_done(db, s, err);
}

const char *db_text(sqlite3_stmt *s, int column)
{
    const unsigned char *text = sqlite3_column_text(s, column);
    return text ? (const char *)text : "";
}
