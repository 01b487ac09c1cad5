/* clock.c - see clock.h. */
#include "base/clock.h"

#include <errno.h>
#include <time.h>

static int64_t read_clock(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t clock_wall_ns(void)
{
    return read_clock(CLOCK_REALTIME);
}

int64_t clock_monotonic_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

void clock_sleep_ns(int64_t duration_ns)
{
    if (duration_ns <= 0) return;
    struct timespec left = {duration_ns / 1000000000, duration_ns % 1000000000};
    while (nanosleep(&left, &left) < 0 && errno == EINTR) {
    }
}
