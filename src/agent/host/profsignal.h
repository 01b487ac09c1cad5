/* profsignal.h - the signals that the samplers use.
 *
 * The first capture takes the highest real-time signal that has no handler (not SIGPROF, which belongs to the
 * host and its other profilers). Signal and handler are kept for the life of the process: the default action
 * of a signal that arrives late would kill the host.
 */
#ifndef AGENT_HOST_PROFSIGNAL_H
#define AGENT_HOST_PROFSIGNAL_H

#include <signal.h>
#include <stdint.h>

#include "base/err.h"

/* Installs our handler, unless that is done, and returns the signal's number; a negative error when no signal
 * is free. Any thread. */
int profsignal_take(struct err *err);

/* The same for a signal that does not queue, for perf events: SIGSTKFLT, which nothing else sends, or SIGPROF
 * if the host has a handler for that. 0 when the host uses both. */
int profsignal_take_plain(void);

/* All signals except those two. The library blocks this set in a thread of the host while no handler of the
 * host may run there. The bits of our own signals stay as the host set them, and captures read them. */
void profsignal_others(sigset_t *ret_others);

/* Sends a signal with a value to one thread. Returns -1 (errno) when the thread is gone or too many signals
 * are pending. */
int profsignal_send(uint32_t tid, int signal_number, void *value);

void profsignal_forked(void); /* in the child of a fork */

#endif
