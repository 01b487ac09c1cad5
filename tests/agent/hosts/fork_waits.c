/* Forks while another thread of the host keeps the loader's lock and the library waits for it: the first one
 * waits for a fifth of a second, the others not at all. */
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hold_loader.h"
#include "procprof.h"

#define N_FORKS  8
#define LIMIT_MS 1000 /* of all: in vain each time it would be 1600 and more */

static void *enter_loader(void *argument)
{
    pp_control("heap", "enable", NULL, NULL, 0);
    return argument;
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* How long N_FORKS take, in all. */
static double forks_ms(void)
{
    double ms = 0;
    for (int i = 0; i < N_FORKS; i++) {
        double begin = now_ms();
        pid_t child = fork();
        if (!child) _exit(0);
        ms += now_ms() - begin;
        waitpid(child, NULL, 0);
    }
    return ms;
}

int main(void)
{
    struct pp_options options = {.size = sizeof options};
    pthread_t holder, inside;
    double best_ms = 1e9;
    if (pp_agent_start(&options)) return fprintf(stderr, "%s\n", pp_error_text()), 1;
    for (int try = 0; try < 3 && best_ms > LIMIT_MS; try++) {
        hold_loader_begin(&holder);
        pthread_create(&inside, NULL, enter_loader, NULL);
        usleep(300000); /* it waits for the loader */
        double ms = forks_ms();
        if (ms < best_ms) best_ms = ms;
        hold_loader_end(holder);
        pthread_join(inside, NULL);
        pp_control("heap", "disable", NULL, NULL, 0);
    }
    fprintf(stderr, "%d forks took %.0f ms\n", N_FORKS, best_ms);
    return best_ms > LIMIT_MS;
}
