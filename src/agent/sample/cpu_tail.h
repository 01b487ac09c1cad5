/* cpu_tail.h - beside CPU timers: what a thread did after it was last looked at.
 *
 * A CPU timer waits for a tick of the kernel that finds its thread on a CPU. A thread that ends, or sleeps
 * until the capture ends, has some CPU time behind it that no tick has found: 4 ms on average, more on a busy
 * machine. Its clock tells how many samples that is. They are counted where the thread was last seen, as
 * those are that come late; a thread that was never seen and has ended is counted in the function it was
 * started with.
 */
#ifndef AGENT_SAMPLE_CPU_TAIL_H
#define AGENT_SAMPLE_CPU_TAIL_H

#include "agent/sample/capture.h"

/* Counts n samples of this thread, which is not sampled any more: its signals are blocked, or it is gone, or
 * the capture has ended. `end` when the thread itself says that it ends, else NULL. False, and nothing is
 * counted: it was seen nowhere, or n is more than a thread that takes its signals can be behind. */
bool cpu_tail_count(struct capture *c, uint32_t index, uint64_t n, const struct threads_end *end);

/* The same for a thread that ends before the capture came to know it. */
bool cpu_tail_count_unmet(struct capture *c, uint32_t tid, uint64_t n, const struct threads_end *end);

#endif
