/* sql_memory.h - bounds the memory that the statements of all clients hold together.
 *
 * There are two kinds of memory: what SQLite allocates while a statement runs, and results, which stay until
 * the client has read them. Each statement may always use the first SQL_SHARE_BYTES of each kind. Beyond
 * that, there is a bound for one statement and another for all statements together.
 */
#ifndef SERVE_SQL_SQL_MEMORY_H
#define SERVE_SQL_SQL_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SQL_SHARE_BYTES = 1 << 20,
    SQL_MAX_RESULT_BYTES = 64 << 20,
    SQL_MAX_RESULTS_BYTES = 256 << 20, /* of all */
    SQL_MAX_WORK_BYTES = 64 << 20,
    SQL_MAX_WORKS_BYTES = 512 << 20, /* of all */
};

/* ---- results ---- */

struct sql_held { /* all zero: holds nothing */
    size_t n_bytes;
};

/* Raises what is held to n_bytes. False: that exceeds a bound, and `held` is unchanged. */
#define SQL_TOO_MUCH_IS_HELD "the results that clients have not read yet take 256 MiB; ask for less, or later"
bool sql_hold(struct sql_held *held, size_t n_bytes);
void sql_release(struct sql_held *held);

/* ---- SQLite's work ---- */

/* Between these two calls, what SQLite allocates in this thread counts for one statement. An allocation
 * beyond the bounds fails, and SQLite ends the statement with SQLITE_NOMEM. */
void sql_work_begin(void);
void sql_work_end(void);
/* A statement may read other databases of the program, which must not fail because of its bounds. Call with
 * false before and with true after. */
void sql_work_counts(bool counts);

#endif
