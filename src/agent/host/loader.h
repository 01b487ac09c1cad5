/* loader.h - the loader's locks and fork.
 *
 * The child of a fork has one thread: a lock that another one held at that moment stays taken there for ever,
 * and the loader, unlike malloc, does not look after its own. So whoever may hold one on our account (lists
 * the loaded objects, looks a name up, starts a thread) says so here, and a fork waits until nobody does.
 *
 * Both wait for a while only, and when a fork has waited in vain the next ones do not, until nobody is inside
 * any more. A host may fork with a lock of the loader in its hands (from a callback of
 * dl_iterate_phdr) while we wait for that lock; and it may hold, where it calls us, what another thread's
 * fork is waiting for. vfork and posix_spawn copy nothing and are not our concern.
 */
#ifndef AGENT_HOST_LOADER_H
#define AGENT_HOST_LOADER_H

void loader_begin(void); /* not nested, not in a handler */
void loader_end(void);

/* For pthread_atfork. */
void loader_before_fork(void);
void loader_after_fork(void);
void loader_forked(void); /* in the child */

#endif
