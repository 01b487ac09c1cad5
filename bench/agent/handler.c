/* handler.c - the signal handler itself, without delivery: called over and over with the context of a real
 * signal that came 30 frames deep. Linked with the objects of the library. Prints nanoseconds a sample; "hot"
 * (always the same place) or "spread" (each time another of 64 leaves). */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/hot/sampler.h"
#include "agent/hot/unwind.h"
#include "agent/kinds.h"

#define N_CALLS 200000

static volatile bool cancel;
static bool is_spread;
static volatile double ns_a_call; /* libc promises that raise() calls nothing of this file */
static volatile unsigned n_frames;

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    siginfo_t ours = *info;
    uintptr_t pcs[UNWIND_MAX_FRAMES];
    ours.si_code = SI_TIMER;
    ours.si_overrun = 0;
    ours.si_value.sival_ptr = sampler_signal_value(SAMPLER_CPU, 0);
    bool complete;
    n_frames = unwind_context(context, pcs, UNWIND_MAX_FRAMES, &complete);
    ucontext_t *uc = context;
    double begin = now_ns();
    for (unsigned i = 0; i < N_CALLS; i++) {
#if defined(__x86_64__)
        if (is_spread)
            uc->uc_mcontext.gregs[REG_RIP] ^= (i * 7) & 63; /* other leaves: other entries of the table */
#endif
        sampler_handle(number, &ours, context);
#if defined(__x86_64__)
        if (is_spread) uc->uc_mcontext.gregs[REG_RIP] ^= (i * 7) & 63;
#endif
    }
    ns_a_call = (now_ns() - begin) / N_CALLS;
}

static volatile unsigned sink;
__attribute__((noinline)) static unsigned descend(unsigned depth)
{
    volatile unsigned held = depth;
    if (depth) return descend(depth - 1) + held;
    raise(SIGUSR1);
    return held;
}

static void *take(void *argument)
{
    struct kind_options options = {.seconds = 60, .has_seconds = true, .rate = 1, .query = ""};
    struct output o;
    struct err err;
    (void)argument;
    if (!kind_capture(kind_find("profile", 7), &options, &cancel, &o, &err)) output_free(&o);
    return NULL;
}

int main(int argc, char **argv)
{
    struct err err = {0};
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    pthread_t taker;
    is_spread = argc > 1 && !strcmp(argv[1], "spread");
    if (agent_start("listen=off", &err)) return 1;
    sigfillset(&action.sa_mask);
    sigaction(SIGUSR1, &action, NULL);
    pthread_create(&taker, NULL, take, NULL);
    while (!atomic_load(&sampler_of[SAMPLER_CPU].table)) usleep(1000);
    usleep(100000);
    double best = 1e18;
    for (unsigned round = 0; round < 5; round++) {
        sink = descend(22);
        if (ns_a_call < best) best = ns_a_call;
    }
    cancel = true;
    pthread_join(taker, NULL);
    fprintf(stderr, "%u frames\n", n_frames);
    printf("%.1f\n", best);
    return 0;
}
