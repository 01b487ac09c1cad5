/* cpu_tail.h - for CPU timers: counts what a thread did after its last sample.
 *
 * A CPU timer waits for a tick of the kernel that finds its thread on a CPU. A thread that ends, or sleeps
 * until the capture ends, has used some CPU time that no tick has found: 4 ms on average, more on a busy
 * machine. Its clock shows how many samples that is. They are counted on the stack where the thread was last
 * seen, as late samples are. A thread that ends and was never seen is counted in the function that it was
 * started with.
 */
#ifndef AGENT_SAMPLE_CPU_TAIL_H
#define AGENT_SAMPLE_CPU_TAIL_H

#include "agent/sample/capture.h"

/* Counts n samples of a thread that is not sampled any more: its signals are blocked, or it is gone, or
 * the capture has ended. `end` is given when the thread itself reports its end, otherwise NULL. False, and
 * nothing is counted, when the thread was seen nowhere, or when n is more than a thread that takes its
 * signals can be behind. */
bool cpu_tail_count(struct capture *c, uint32_t index, uint64_t n, const struct threads_end *end);

/* The same for a thread that ends before the capture has an entry for it. */
bool cpu_tail_count_unmet(struct capture *c, uint32_t tid, uint64_t n, const struct threads_end *end);

#endif
