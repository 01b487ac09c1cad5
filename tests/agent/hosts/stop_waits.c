/* Ends the agent while another thread of the host keeps the loader's lock, and keeps it until the end has
 * come back. What could not be switched off by then goes off when the lock is free. */
#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "procprof.h"

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

static void *disable_heap(void *argument) /* has the heap profiler's lock, and waits for the loader */
{
    pp_control("heap", "disable", NULL, NULL, 0);
    return argument;
}

int main(void)
{
    struct pp_options options = {.size = sizeof options, .settings = "heap=on,contention=on"},
                      plain = {.size = sizeof plain};
    pthread_t holder, inside;
    char heap[1000], locks[1000];
    if (pp_agent_start(&options)) return fprintf(stderr, "%s\n", pp_error_text()), 1;
    sem_init(&is_held, 0, 0);
    sem_init(&may_go, 0, 0);
    pthread_create(&holder, NULL, hold_loader, NULL);
    sem_wait(&is_held);
    pthread_create(&inside, NULL, disable_heap, NULL);
    usleep(200000);
    pp_agent_stop(); /* comes back, or this program is ended by its tester */
    sem_post(&may_go);
    pthread_join(holder, NULL);
    pthread_join(inside, NULL);
    int status;
    while ((status = pp_agent_start(&plain)) == PP_ERROR_BUSY) usleep(10000);
    if (status || pp_control("heap", "status", NULL, heap, sizeof heap) ||
        pp_control("contention", "status", NULL, locks, sizeof locks))
        return fprintf(stderr, "%s\n", pp_error_text()), 1;
    fputs(heap, stderr);
    fputs(locks, stderr);
    pp_agent_stop();
    return !strstr(heap, "heap profiler: off") || !strstr(locks, "lock profiler: off");
}
