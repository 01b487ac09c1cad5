/* lock_resolve.h - finds libc's waiting functions behind ours, and switches between them and the counting
 * versions. */
#ifndef AGENT_HOOKS_LOCK_RESOLVE_H
#define AGENT_HOOKS_LOCK_RESOLVE_H

#include <stdbool.h>

void lock_resolve(
    void); /* looks them up, once; safe at any time, also inside the first lock of the process */

/* With locks, waits for mutexes and rwlocks are counted; with waits, also those for condition variables,
 * semaphores and futexes. */
void lock_switch(bool locks, bool waits);
void lock_switch_forked(void); /* switches off in the child of a fork */

/* Do the host's calls come through our functions? */
bool lock_sees_calls(void);

#endif
