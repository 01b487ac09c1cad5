/* handler.c - the signal handler itself, without delivery: called over and over with the context of a real
 * signal that came 30 frames deep. Linked with the objects of the library. Prints nanoseconds a sample.
 *
 *     handler timer|event hot|spread      a signal as a CPU timer sends it, or a perf event; always the same
 *                                         place, or each time another of 64 leaves */
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
#include "agent/sample/capture.h"

#define N_CALLS 200000

static _Atomic bool cancel;
static bool is_spread, is_event;
static struct sampler_thread *me; /* in the capture */
static volatile double ns_a_call; /* libc promises that raise() calls nothing of this file */
static volatile unsigned n_frames;
static volatile uint64_t n_counted;

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
    uint32_t index = (uint32_t)(me - sampler_of[SAMPLER_CPU].threads);
    if (is_event) {
        ours.si_code = POLL_IN;
        ours.si_fd = SAMPLER_MAX_EVENT_FD - 1; /* nobody's */
        atomic_store(&sampler_event_thread[ours.si_fd], index + 1);
    } else {
        ours.si_code = SI_TIMER;
        ours.si_value.sival_ptr = sampler_signal_value(SAMPLER_CPU, index);
    }
    bool complete;
    n_frames = unwind_context(context, pcs, UNWIND_MAX_FRAMES, &complete);
    ucontext_t *uc = context;
    double begin = now_ns();
    for (unsigned i = 0; i < N_CALLS; i++) {
#if defined(__x86_64__)
        if (is_spread)
            uc->uc_mcontext.gregs[REG_RIP] ^= (i * 7) & 63; /* other leaves: other entries of the table */
#endif
        atomic_store_explicit(&me->n_due, 0, memory_order_relaxed); /* a sample is due each time */
        sampler_handle(number, &ours, context);
#if defined(__x86_64__)
        if (is_spread) uc->uc_mcontext.gregs[REG_RIP] ^= (i * 7) & 63;
#endif
    }
    ns_a_call = (now_ns() - begin) / N_CALLS;
    n_counted = atomic_load(&me->n_samples);
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
    if (!capture_take(kind_find("profile", 7), &options, &cancel, &o, &err)) output_free(&o);
    return NULL;
}

int main(int argc, char **argv)
{
    struct err err = {0};
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    pthread_t taker;
    is_event = argc > 1 && !strcmp(argv[1], "event");
    is_spread = argc > 2 && !strcmp(argv[2], "spread");
    if (agent_start("listen=off", &err)) return 1;
    sigfillset(&action.sa_mask);
    sigaction(SIGUSR1, &action, NULL);
    pthread_create(&taker, NULL, take, NULL);
    while (!atomic_load(&sampler_of[SAMPLER_CPU].table)) usleep(1000);
    usleep(100000);
    struct sampler *sampler = &sampler_of[SAMPLER_CPU];
    uint32_t tid = (uint32_t)gettid();
    for (uint32_t i = 0; i < 64 && !me; i++)
        if (sampler->threads[i].tid == tid) me = &sampler->threads[i];
    if (!me) return 2;
    me->first_due_ns = 0;
    double best = 1e18;
    for (unsigned round = 0; round < 5; round++) {
        sink = descend(22);
        if (ns_a_call < best) best = ns_a_call;
    }
    cancel = true;
    pthread_join(taker, NULL);
    fprintf(stderr, "%u frames\n", n_frames);
    if (n_counted < 5 * N_CALLS) return 4; /* the handler did not do what is measured */
    printf("%.1f\n", best);
    return 0;
}
