/* libc_real.h - libc's own version of a function that this library replaces in the host. */
#ifndef AGENT_HOST_LIBC_REAL_H
#define AGENT_HOST_LIBC_REAL_H

#include <pthread.h>

typedef int (*pthread_create_fn)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

/* Returns libc's pthread_create, behind any replacement of it. In a sanitizer build it is the sanitizer's. */
pthread_create_fn libc_pthread_create(void);

/* Our replacement: the new thread reports its start and its end (threads.h) and runs the host's function in
 * between. */
int watched_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                           void *argument);

#endif
