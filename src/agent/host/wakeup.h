/* wakeup.h - what wakes the library's thread: finished captures, the first holder of the tables, the end.
 *
 * While it serves clients the thread sleeps in poll, so the bell has a socket; otherwise it sleeps on the
 * bell itself, without a descriptor.
 */
#ifndef AGENT_HOST_WAKEUP_H
#define AGENT_HOST_WAKEUP_H

#include <stdbool.h>
#include <stdint.h>

bool wakeup_open(void);   /* makes the socket; false: no descriptor is to be had */
void wakeup_close(void);  /* nobody polls any more */
void wakeup_forked(void); /* in the child of a fork */

/* Any thread that may lock. When the host has taken the socket away, `otherwise` (may be NULL) is called: it
 * may know another way to wake who sleeps in poll, which keeps a closed socket alive. */
void wakeup_ring(void);
void wakeup_otherwise(void (*otherwise)(void));

/* For the thread that is woken: */
int wakeup_number(
    void); /* of the socket to poll for reading; -1: there is none, or it is not ours any more */
bool wakeup_was_heard(void);                      /* takes the rings out of the socket; false: it is broken */
uint32_t wakeup_count(void);                      /* rings so far */
void wakeup_wait(uint32_t count, int timeout_ms); /* until there are more than count; -1: for ever */

#endif
