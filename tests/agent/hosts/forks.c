/* Forks while the library lists what is loaded, as often as it can: the child must be able to do the same.
 * And forks with the loader's lock in its own hands, while the library waits for it: it must not wait for the
 * library for ever. */
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "procprof.h"

static atomic_bool stop;

static void *switch_heap(void *argument)
{
    while (!stop) {
        pp_control("heap", "enable", NULL, NULL, 0);
        pp_control("heap", "disable", NULL, NULL, 0);
    }
    return argument;
}

static int first_object(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)info, (void)size, (void)context;
    return 1;
}

/* Did the child find its way through the loader? */
static int fork_once(void)
{
    int status;
    pid_t child = fork();
    if (!child) {
        alarm(10);
        dl_iterate_phdr(first_object, NULL);
        _exit(7);
    }
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7;
}

static int fork_inside(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)info, (void)size;
    usleep(20000); /* the library comes and waits */
    pid_t child = fork();
    if (!child) _exit(0);
    waitpid(child, NULL, 0);
    *(int *)context += 1;
    return 1;
}

int main(void)
{
    struct pp_options options = {.size = sizeof options};
    pthread_t thread;
    int n_inside = 0;
    if (pp_agent_start(&options)) return fprintf(stderr, "%s\n", pp_error_text()), 1;
    pthread_create(&thread, NULL, switch_heap, NULL);
    for (int i = 0; i < 1000; i++)
        if (!fork_once()) return fprintf(stderr, "child %d did not come back\n", i), 1;
    alarm(20);
    for (int i = 0; i < 3; i++) dl_iterate_phdr(fork_inside, &n_inside);
    stop = 1;
    pthread_join(thread, NULL);
    return n_inside == 3 ? 0 : 1;
}
