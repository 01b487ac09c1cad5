/* Ends the agent while another thread of the host keeps the loader's lock, and keeps it until the end has
 * come back. What could not be switched off by then goes off when the lock is free. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "hold_loader.h"
#include "procprof.h"

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
    hold_loader_begin(&holder);
    pthread_create(&inside, NULL, disable_heap, NULL);
    usleep(200000);
    pp_agent_stop(); /* comes back, or this program is ended by its tester */
    hold_loader_end(holder);
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
