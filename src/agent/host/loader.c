/* loader.c - see loader.h. Two counts, each side raising its own before it looks at the other's: one of two
 * that come together always sees the other. */
#include "agent/host/loader.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "agent/host/deadline.h"
#include "agent/host/threads.h"

#define STEP_US       100
#define FORK_WAITS_MS 200
#define WE_WAIT_MS    2000

static _Atomic int n_inside, n_forking;
static _Atomic bool is_stuck; /* a fork has waited in vain for those inside: the next ones need not */
static _Thread_local int inside_here, forking_here; /* of them, this thread: it cannot wait for itself */

static void leave(void)
{
    if (atomic_fetch_sub(&n_inside, 1) == 1) atomic_store(&is_stuck, false);
}

void loader_begin(void)
{
    THREADS_NOT_CANCELLED;
    int64_t deadline_ns = 0;
    for (;;) {
        atomic_fetch_add(&n_inside, 1);
        if (atomic_load(&n_forking) <= forking_here) break;
        leave();
        if (!deadline_ns) deadline_ns = deadline_after_ms(WE_WAIT_MS);
        if (deadline_lets_sleep_us(deadline_ns, STEP_US)) continue;
        atomic_fetch_add(&n_inside, 1);
        break;
    }
    inside_here++;
}

void loader_end(void)
{
    inside_here--;
    leave();
}

void loader_before_fork(void)
{
    THREADS_NOT_CANCELLED;
    int saved = errno;
    forking_here++;
    atomic_fetch_add(&n_forking, 1);
    if (!atomic_load(&is_stuck)) {
        int64_t deadline_ns = deadline_after_ms(FORK_WAITS_MS);
        while (atomic_load(&n_inside) > inside_here)
            if (!deadline_lets_sleep_us(deadline_ns, STEP_US)) {
                atomic_store(&is_stuck, true);
                break;
            }
    }
    errno = saved;
}

void loader_after_fork(void)
{
    forking_here--;
    atomic_fetch_sub(&n_forking, 1);
}

void loader_forked(void)
{
    forking_here = 0;
    atomic_store(&n_forking, 0);
    atomic_store(&n_inside, inside_here);
    atomic_store(&is_stuck, false);
}
