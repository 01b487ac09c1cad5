/* hold_loader.h - for test hosts: a thread that holds the loader's lock until the main thread lets it go. */
#ifndef TESTS_AGENT_HOSTS_HOLD_LOADER_H
#define TESTS_AGENT_HOSTS_HOLD_LOADER_H

#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

static sem_t is_held, may_go;

static int hold(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)info, (void)size, (void)context;
    sem_post(&is_held);
    sem_wait(&may_go);
    return 1;
}

static void *hold_loader(void *argument)
{
    dl_iterate_phdr(hold, NULL);
    return argument;
}

/* Returns once the new thread holds the lock. */
static void hold_loader_begin(pthread_t *ret_holder)
{
    sem_init(&is_held, 0, 0);
    sem_init(&may_go, 0, 0);
    pthread_create(ret_holder, NULL, hold_loader, NULL);
    sem_wait(&is_held);
}

static void hold_loader_end(pthread_t holder)
{
    sem_post(&may_go);
    pthread_join(holder, NULL);
}

#endif
