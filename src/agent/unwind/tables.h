/* tables.h - makes the tables that hot/unwind.h reads: finds the objects of this process, turns their
 * .eh_frame into rules and publishes them.
 *
 * A profiler holds the tables (tables_hold, tables_release) for as long as its hooks or handlers may unwind.
 * While at least one holds them, new and unloaded objects (dlopen, dlclose) are looked for: by a running
 * capture every 20 ms, by the library's thread every 100 ms. Until a new object is noticed, its code is
 * looked up one address at a time (hot/untabled_code.h). When the kernel refuses memory for a table, the next
 * tables_hold tries again, and so does a look for changes after a second, then 2, 4 and up to 64 seconds. Old
 * tables are freed when no handler can still be reading them.
 */
#ifndef AGENT_UNWIND_TABLES_H
#define AGENT_UNWIND_TABLES_H

#include <stdbool.h>

#include "base/err.h"

/* Brings the tables up to date and keeps them so until tables_release. The first call builds them before it
 * returns, which takes 5 to 50 ms for a large program. Any thread, not in a signal handler, malloc or a lock
 * hook. */
int tables_hold(struct err *err);
void tables_release(void); /* keeps the tables, so that the next tables_hold only looks for changes */

bool tables_are_held(void);

/* Sets the function that wakes the library's thread. The first tables_hold calls it, on any thread; until
 * then the library's thread sleeps. */
void tables_wake_with(void (*wake_housekeeping)(void));

/* Looks for changes now, if the tables are held and no other thread is doing so. Cheap when nothing changed.
 */
void tables_refresh(void);

/* To be called when a thread with a seccomp filter was found. From then on no handler makes system calls that
 * a filter might forbid. */
void tables_filter_seen(void);

void tables_forked(void); /* in the child of a fork */

struct tables_status {
    unsigned n_modules;       /* objects with code that the latest rebuild found */
    unsigned n_without_rules; /* those without frame information, and those that had no memory for it */
    unsigned generation;
    unsigned long n_rows, n_rules, n_bytes;
    double last_build_ms;
};
void tables_status(struct tables_status *ret_status);

#endif
