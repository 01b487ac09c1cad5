/* raw_clock.h - the monotonic clock, which never jumps. */
#ifndef AGENT_HOT_RAW_CLOCK_H
#define AGENT_HOT_RAW_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t clock_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000 + t.tv_nsec;
}

#endif
