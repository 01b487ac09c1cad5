/* profsignal.h - the signal the samplers use.
 *
 * Not SIGPROF: that one belongs to the host and its other profilers. The highest real-time signal that nobody
 * has a handler for is taken at the first capture and kept, handler and all, for the life of the process: a
 * signal that comes late must find it, since its default action would end the host.
 */
#ifndef AGENT_HOST_PROFSIGNAL_H
#define AGENT_HOST_PROFSIGNAL_H

#include <signal.h>
#include <stdint.h>

#include "base/err.h"

/* The signal's number, with our handler in place; a negative error when none is free. */
int profsignal_take(struct err *err);

/* One that does not queue, for perf events: SIGSTKFLT, which nothing sends, else SIGPROF; 0 when the host
 * uses both. */
int profsignal_take_plain(void);

/* All signals but those two: who blocks these in a thread of the host leaves it as it was for the profilers.
 */
void profsignal_others(sigset_t *ret_others);

/* To one thread, with this value. 0; -1 when it was not sent (errno): the thread is gone, or too many
 * signals are waiting. */
int profsignal_send(uint32_t tid, int signal_number, void *value);

void profsignal_forked(void); /* in the child of a fork */

#endif
