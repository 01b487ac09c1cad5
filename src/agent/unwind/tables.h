/* tables.h - keeps hot/unwind.h supplied: finds the objects of this process, turns their .eh_frame into
 * rules, publishes them.
 *
 * Whoever unwinds holds the tables while it may: while at least one holder is there, the library's
 * housekeeping looks for objects that came or went (dlopen, dlclose) every 20 ms; until it has seen one, its
 * code is looked up one address at a time (hot/untabled_code.h). Old tables are freed when no handler can
 * still be reading them. Not hot.
 */
#ifndef AGENT_UNWIND_TABLES_H
#define AGENT_UNWIND_TABLES_H

#include <stdbool.h>

#include "base/err.h"

/* From now on the tables are kept fresh; the first one builds them (5 to 50 ms for a large program) before
 * this returns. Any thread that may allocate and lock; never a handler. */
int tables_hold(struct err *err);
void tables_release(void); /* the tables stay as they are: the next hold only looks for changes */

bool tables_are_held(void);

/* Called, on any thread, when the first holder comes: until then the housekeeping sleeps. */
void tables_wake_with(void (*wake_housekeeping)(void));

/* Looks for changes now. Called by the housekeeping; cheap when nothing changed. */
void tables_refresh(void);

/* A thread with a system call filter was met: from now on no handler makes calls a filter might not know. */
void tables_filter_seen(void);

void tables_forked(void); /* in the child of a fork */

struct tables_status {
    unsigned n_modules, n_without_rules, generation;
    unsigned long n_rows, n_rules, n_bytes;
    double last_build_ms;
};
void tables_status(struct tables_status *ret_status);

#endif
