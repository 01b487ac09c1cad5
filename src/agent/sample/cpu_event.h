/* cpu_event.h - the CPU clock of one thread as a perf event: fires when it is due, where a CPU timer waits
 * for the kernel's tick.
 *
 * Only where the kernel lets this process see its own kernel time too (perf_event_paranoid 1 or less, or a
 * privileged process): events that see user code only would leave out what a thread does in system calls.
 * Setting perf=0 forbids it.
 *
 * What could harm the host, and what is done about it. An event takes a file descriptor: it is close-on-exec,
 * moved out of the low numbers, and never takes the last quarter of what the host may open. Its signal is one
 * that does not queue: with a queueing one a thread that blocks it for long would fill the queue, and the
 * kernel would then send SIGIO, which ends the process. The descriptor is closed only when it still is that
 * event: a host that closes descriptors it does not know may have given its number away.
 */
#ifndef AGENT_SAMPLE_CPU_EVENT_H
#define AGENT_SAMPLE_CPU_EVENT_H

#include <stdbool.h>
#include <stdint.h>

struct cpu_event {
    int fd;      /* -1: none */
    uint64_t id; /* the kernel's name for the event */
};

/* May they be used here? Asks the kernel; the signal's number in *ret_signal. */
bool cpu_event_allowed(int *ret_signal);

/* An event for thread tid, index in sampler_of[SAMPLER_CPU].threads, whose next sample is due after first_ns
 * of CPU time and then each period. False when it cannot be had: use a timer. */
bool cpu_event_open(struct cpu_event *event, uint32_t tid, uint32_t index, int64_t first_ns,
                    int signal_number);

/* Two halves: no more signals come after the first; the second, when no handler is under way, closes. */
void cpu_event_silence(struct cpu_event *event);
void cpu_event_close(struct cpu_event *event);

#endif
