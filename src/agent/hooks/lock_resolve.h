/* lock_resolve.h - finds libc's waiting functions behind ours, and switches between them and the counting
 * ones. */
#ifndef AGENT_HOOKS_LOCK_RESOLVE_H
#define AGENT_HOOKS_LOCK_RESOLVE_H

#include <stdbool.h>

void lock_resolve(void); /* once; safe at any time, also inside the first lock of the process */

/* locks: mutexes and rwlocks are counted; waits: condition variables, semaphores and futexes too. */
void lock_switch(bool locks, bool waits);
void lock_switch_forked(void); /* off, in the child of a fork */

/* Do the host's calls come through our functions? */
bool lock_sees_calls(void);

#endif
