/* libc_real.h - the functions of libc behind those we stand in for. */
#ifndef AGENT_HOST_LIBC_REAL_H
#define AGENT_HOST_LIBC_REAL_H

#include <pthread.h>

typedef int (*pthread_create_fn)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

/* libc's own, whoever stands in front of it. */
pthread_create_fn real_pthread_create(void);

/* What we put in its place: a new thread tells that it is there, and that it ends (threads.h). */
int watched_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                           void *argument);

#endif
