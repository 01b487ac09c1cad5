/* wakeup.h - wakes the library's thread when a job has finished, when the first capture needs the unwind
 * tables, and when pp_agent_stop wants the thread to end.
 *
 * While the thread serves clients it sleeps in poll, so a wakeup is a byte in a socket. Without a listener it
 * sleeps in wakeup_wait on a futex and needs no descriptor. wakeup_send does both, because the sender does
 * not know which of the two the thread is in.
 */
#ifndef AGENT_HOST_WAKEUP_H
#define AGENT_HOST_WAKEUP_H

#include <stdbool.h>
#include <stdint.h>

bool wakeup_open(void);   /* makes the socket; false when no descriptor is left */
void wakeup_close(void);  /* called when the thread no longer polls */
void wakeup_forked(void); /* in the child of a fork */

/* Wakes the library's thread. Any thread that may take a lock. */
void wakeup_send(void);

/* Sets another way to wake the thread; NULL removes it. wakeup_send calls it when the host has closed the
 * socket: poll still sleeps on the closed socket, and no byte can reach it any more. */
void wakeup_set_fallback(void (*fallback)(void));

/* For the library's thread: */
int wakeup_fd(void);     /* the socket to poll for reading; -1 when there is none or the host has closed it */
bool wakeup_drain(void); /* reads the bytes out of the socket; false when the socket is broken */
uint32_t wakeup_count(void); /* calls of wakeup_send so far */
/* Sleeps until wakeup_count differs from count, or for timeout_ms (-1: no limit); may return early. */
void wakeup_wait(uint32_t count, int timeout_ms);

#endif
