/* sql_memory.h - how much memory the statements of all clients may hold together.
 *
 * There are two kinds of it: what SQLite works with while a statement runs, and results, which stay until
 * their client has read them. Of each, a statement has a share that the others cannot take from it; what goes
 * beyond the share is bounded for each statement and for all together.
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

struct sql_held { /* all zero: nothing */
    size_t n_bytes;
};

/* From now on n_bytes are held. False: that is too much, and what was held before still is. */
#define SQL_TOO_MUCH_IS_HELD "the results that clients have not read yet take 256 MiB; ask for less, or later"
bool sql_hold(struct sql_held *held, size_t n_bytes);
void sql_release(struct sql_held *held);

/* ---- SQLite's work ---- */

/* Between the two, what SQLite allocates in this thread belongs to one statement, and is refused beyond the
 * bounds: SQLite then ends the statement with SQLITE_NOMEM. */
void sql_work_begin(void);
void sql_work_end(void);
/* A statement may ask other databases of the program, which are not to fail for it: false until it is done.
 */
void sql_work_counts(bool counts);

#endif
