/* clock.h - reads the clocks and sleeps, in nanoseconds. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

int64_t clock_wall_ns(void);      /* since 1970; may jump */
int64_t clock_monotonic_ns(void); /* for intervals; never goes back */
void clock_sleep_ns(int64_t duration_ns);

#endif
