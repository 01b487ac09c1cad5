/* deadline.h - waits that end. By the clock: a sleep lasts longer than was asked for, several times as long
 * on a busy machine, so that sums of sleeps say little. */
#ifndef AGENT_HOST_DEADLINE_H
#define AGENT_HOST_DEADLINE_H

#include <stdbool.h>

#include "agent/hot/raw_clock.h"

static inline int64_t deadline_after_ms(int64_t ms)
{
    return clock_now_ns() + ms * 1000000;
}

/* Sleeps for this long (less than a second) and is true; false, at once, when the time is over. */
static inline bool deadline_lets_sleep_us(int64_t deadline_ns, long us)
{
    if (clock_now_ns() >= deadline_ns) return false;
    nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
    return true;
}

#endif
