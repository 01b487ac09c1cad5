/* Cancels threads as they begin and as they end, while a CPU profile is taken: none of them may leave with a
 * lock of the library, or no thread begins after it. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "procprof.h"

static void *profile(void *result)
{
    struct pp_capture capture = {.size = sizeof capture, .kind = "profile", .seconds = 2};
    void *bytes;
    size_t n_bytes;
    *(int *)result = pp_profile(&capture, &bytes, &n_bytes);
    return NULL;
}

static void *wait_for_cancel(void *argument)
{
    pause();
    return argument;
}

static void *end_at_once(void *argument)
{
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    return argument;
}

int main(int argc, char **argv)
{
    struct pp_options options = {.size = sizeof options, .settings = argc > 1 ? argv[1] : NULL};
    pthread_t profiler, thread;
    int result = 1;
    if (pp_agent_start(&options)) return fprintf(stderr, "%s\n", pp_error_text()), 1;
    pthread_create(&profiler, NULL, profile, &result);
    usleep(100000);
    alarm(20);
    for (int i = 0; i < 2000; i++) {
        if (pthread_create(&thread, NULL, i % 2 ? end_at_once : wait_for_cancel, NULL)) return 1;
        pthread_cancel(thread);
        pthread_join(thread, NULL);
    }
    pthread_cancel(profiler); /* its profile comes all the same */
    pthread_join(profiler, NULL);
    return result;
}
