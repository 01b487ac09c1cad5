/* deadline.h - waits with a time limit. The limit is a point on the clock, not a number of sleeps: on a busy
 * machine a sleep lasts several times as long as requested. */
#ifndef AGENT_HOST_DEADLINE_H
#define AGENT_HOST_DEADLINE_H

#include <stdbool.h>

#include "agent/hot/raw_clock.h"

static inline int64_t deadline_after_ms(int64_t ms)
{
    return clock_now_ns() + ms * 1000000;
}

/* Sleeps for us microseconds (less than a second) and returns true. Returns false at once when the deadline
 * has passed. */
static inline bool deadline_sleep_us(int64_t deadline_ns, long us)
{
    if (clock_now_ns() >= deadline_ns) return false;
    nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
    return true;
}

#endif
