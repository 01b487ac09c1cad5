/* cpu_event.h - the CPU clock of one thread as a perf event, which fires when it is due; a CPU timer waits
 * for the kernel's tick.
 *
 * Events are used only where the kernel lets this process see its own kernel time too (perf_event_paranoid 1
 * or less, or a privileged process). Events that see user code only would leave out what a thread does in
 * system calls. The setting perf=0 forbids events.
 *
 * Three things could harm the host:
 * - An event takes a file descriptor. It is close-on-exec, moved out of the low numbers, and never in the
 * last quarter of what the host may open.
 * - A thread that blocks the signal for long could fill the queue of signals, and the kernel would then send
 *   SIGIO, which ends the process. So the event's signal is one that does not queue.
 * - The host may close descriptors that it does not know and open its own under the same number. So a
 * descriptor is closed only when it still is that event.
 */
#ifndef AGENT_SAMPLE_CPU_EVENT_H
#define AGENT_SAMPLE_CPU_EVENT_H

#include <stdbool.h>
#include <stdint.h>

struct cpu_event {
    int fd;      /* -1: none */
    uint64_t id; /* the kernel's name for the event */
};

/* May events be used here? Asks the kernel. *ret_signal is the number of their signal. */
bool cpu_event_allowed(int *ret_signal);

/* Opens an event for thread tid, whose index is in sampler_of[SAMPLER_CPU].threads. Its next sample is due
 * after first_ns of CPU time, and then each period. False when the kernel refuses: use a timer. */
bool cpu_event_open(struct cpu_event *event, uint32_t tid, uint32_t index, int64_t first_ns,
                    int signal_number);

/* Closing has two halves. After the first no more signals come; the second closes, and is called when no
 * handler is under way. */
void cpu_event_silence(struct cpu_event *event);
void cpu_event_close(struct cpu_event *event);

#endif
