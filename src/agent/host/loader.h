/* loader.h - keeps a fork from copying a lock of the dynamic loader while the library holds it.
 *
 * The child of a fork has one thread. A lock that any other thread held at that moment stays locked in the
 * child for ever. malloc repairs its own locks after a fork; the loader does not, so the child could never
 * load a library. Therefore the library calls loader_begin and loader_end around everything that may take a
 * lock of the loader (listing the loaded objects, looking up a name, starting a thread), and a fork waits
 * until no thread is between the two.
 *
 * Both waits are bounded, because each can deadlock with the host. The host may fork while it holds a lock of
 * the loader (in a callback of dl_iterate_phdr) that the library is waiting for. The host may also hold,
 * while it calls the library, a lock that another thread's fork is waiting for. loader_begin waits at most 2
 * s, fork at most 200 ms. After one fork has waited in vain, later forks do not wait until the library has
 * left the loader once.
 *
 * vfork and posix_spawn do not copy memory and need none of this.
 */
#ifndef AGENT_HOST_LOADER_H
#define AGENT_HOST_LOADER_H

/* Any thread, not in a signal handler. Calls do not nest. */
void loader_begin(void);
void loader_end(void);

/* The three functions for pthread_atfork. */
void loader_before_fork(void);
void loader_after_fork(void); /* in the parent */
void loader_forked(void);     /* in the child */

#endif
