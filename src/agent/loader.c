/* loader.c - see loader.h. Two counts, each side raising its own before it looks at the other's: one of two
 * that come together always sees the other. */
#include "agent/loader.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include "agent/threads.h"

#define STEP_US       100
#define FORK_WAITS_US 200000
#define WE_WAIT_US    2000000

static _Atomic int n_inside, n_forking;
static _Thread_local int inside_here, forking_here; /* of them, this thread: it cannot wait for itself */

static bool waits_on(unsigned *waited_us, unsigned limit_us)
{
    if (*waited_us >= limit_us) return false;
    nanosleep(&(struct timespec){.tv_nsec = STEP_US * 1000}, NULL);
    *waited_us += STEP_US;
    return true;
}

void loader_begin(void)
{
    THREADS_NOT_CANCELLED;
    unsigned waited_us = 0;
    for (;;) {
        atomic_fetch_add(&n_inside, 1);
        if (atomic_load(&n_forking) <= forking_here) break;
        atomic_fetch_sub(&n_inside, 1);
        if (waits_on(&waited_us, WE_WAIT_US)) continue;
        atomic_fetch_add(&n_inside, 1);
        break;
    }
    inside_here++;
}

void loader_end(void)
{
    inside_here--;
    atomic_fetch_sub(&n_inside, 1);
}

void loader_before_fork(void)
{
    THREADS_NOT_CANCELLED;
    int saved = errno;
    unsigned waited_us = 0;
    forking_here++;
    atomic_fetch_add(&n_forking, 1);
    while (atomic_load(&n_inside) > inside_here && waits_on(&waited_us, FORK_WAITS_US)) continue;
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
}
