/* cpu_late.h - beside CPU timers: calls threads whose samples are late.
 *
 * A CPU timer waits for a tick of the kernel that finds its thread on a CPU. On a busy machine turns are
 * shorter than ticks, so that may take tens of milliseconds of CPU time, and which tick it is depends on
 * where the thread sleeps: what it did before is then counted where it comes after, time and again (a
 * function that had 44 % was seen at 60). So threads that are behind are sent the signal at random moments
 * too; but only those that are on another CPU right now, which is seen from their clocks. One that waits for
 * its turn would be met where turns end, and one that sleeps would be woken.
 */
#ifndef AGENT_SAMPLE_CPU_LATE_H
#define AGENT_SAMPLE_CPU_LATE_H

#include "agent/sample/capture.h"

/* One look at the threads of the capture; its lock is held. */
void cpu_late_call(struct capture *c);

/* A thread that calls `look` (which takes the lock and calls the above) at random until stopped: some twice a
 * period while threads are late, but not more often than their number allows; less and less while none is. */
void cpu_late_start(void (*look)(void), int64_t period_ns);
void cpu_late_stop(void); /* it has ended when this returns */
void cpu_late_forked(void);

#endif
