/* loader.c - see loader.h.
 *
 * Threads of the library (and of the host, while they call it) reach loader_begin; threads of the host that
 * fork reach loader_before_fork. They share two counts, n_inside and n_forking. If both sides read the
 * other's count first, each could see zero and go on, and the fork would copy a locked loader. So each side
 * raises its own count before it reads the other's: of two threads that arrive together, at least one sees
 * the other and waits.
 */
#include "agent/host/loader.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "agent/host/deadline.h"
#include "agent/host/threads.h"

#define STEP_US         100
#define FORK_WAIT_MS    200
#define LIBRARY_WAIT_MS 2000

static _Atomic int n_inside, n_forking;
static _Atomic bool fork_gave_up; /* a fork has waited in vain; reset when n_inside returns to 0 */
/* This thread's share of the two counts: a thread does not wait for itself. */
static _Thread_local int n_inside_this_thread, n_forking_this_thread;

static void leave(void)
{
    if (atomic_fetch_sub(&n_inside, 1) == 1) atomic_store(&fork_gave_up, false);
}

void loader_begin(void)
{
    THREADS_NOT_CANCELLED;
    int64_t deadline_ns = 0;
    for (;;) {
        atomic_fetch_add(&n_inside, 1);
        if (atomic_load(&n_forking) <= n_forking_this_thread) break;
        leave();
        if (!deadline_ns) deadline_ns = deadline_after_ms(LIBRARY_WAIT_MS);
        if (deadline_sleep_us(deadline_ns, STEP_US)) continue;
        atomic_fetch_add(&n_inside, 1);
        break;
    }
    n_inside_this_thread++;
}

void loader_end(void)
{
    n_inside_this_thread--;
    leave();
}

void loader_before_fork(void)
{
    THREADS_NOT_CANCELLED;
    int saved = errno;
    n_forking_this_thread++;
    atomic_fetch_add(&n_forking, 1);
    if (!atomic_load(&fork_gave_up)) {
        int64_t deadline_ns = deadline_after_ms(FORK_WAIT_MS);
        while (atomic_load(&n_inside) > n_inside_this_thread)
            if (!deadline_sleep_us(deadline_ns, STEP_US)) {
                atomic_store(&fork_gave_up, true);
                break;
            }
    }
    errno = saved;
}

void loader_after_fork(void)
{
    n_forking_this_thread--;
    atomic_fetch_sub(&n_forking, 1);
}

void loader_forked(void)
{
    n_forking_this_thread = 0;
    atomic_store(&n_forking, 0);
    atomic_store(&n_inside, n_inside_this_thread);
    atomic_store(&fork_gave_up, false);
}
