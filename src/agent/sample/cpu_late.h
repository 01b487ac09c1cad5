/* cpu_late.h - for CPU timers: sends the signal to threads whose samples are late.
 *
 * A CPU timer waits for a tick of the kernel that finds its thread on a CPU. On a busy machine a thread's
 * turns are shorter than ticks, so that may take tens of milliseconds of CPU time. Which tick it is depends
 * on where the thread sleeps, so time is again and again counted in code that runs later than where it was
 * spent (a function with 44 % of the time was seen at 60 %). So threads that are behind are also sent the
 * signal at random moments, but only if they are on another CPU right now, which their clocks show. A thread
 * that waits for its turn would always be sampled where turns end, and one that sleeps would be woken.
 */
#ifndef AGENT_SAMPLE_CPU_LATE_H
#define AGENT_SAMPLE_CPU_LATE_H

#include "agent/sample/capture.h"

/* Looks once at the threads of the capture. The caller holds the capture's lock. */
void cpu_late_call(struct capture *c);

/* Starts a thread that calls `look` at random moments until it is stopped; `look` takes the lock and calls
 * cpu_late_call. It looks about twice a period while threads are late, but not more often than their
 * number allows, and less and less often while none is late. */
void cpu_late_start(void (*look)(void), int64_t period_ns);
void cpu_late_stop(void); /* the thread has ended when this returns */
void cpu_late_forked(void);

#endif
