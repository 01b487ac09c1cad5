/* cpu.c - a program with a stack of 30 frames and a fixed amount of work, for bench/agent/cpu.sh.
 *
 *   cpu MILLIONS [HZ]      prints the CPU time of the whole process for a million rounds, in milliseconds.
 * With HZ a profile is taken meanwhile through libprocprof, when it is in the process (else nothing is) cpu
 * MILLIONS empty HZ  the same with a timer and a handler that does nothing: what delivery alone costs
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "procprof.h"

#define DEPTH 27 /* and main, its caller and theirs: 30 frames */

static volatile uint64_t sink;
static volatile sig_atomic_t n_signals;

static double cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

__attribute__((noinline)) static uint64_t descend(unsigned depth, uint64_t n)
{
    volatile uint64_t held = depth;
    if (depth) return descend(depth - 1, n) + held;
    uint64_t x = n;
    for (uint64_t i = 0; i < n; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        x ^= x >> 29;
    }
    return x + held;
}

static int (*profile)(const struct pp_capture *, void **, size_t *);

/* One profile for as long as the work lasts, and longer: the process ends before it does. */
static void *take(void *argument)
{
    struct pp_capture capture = {.size = sizeof capture,
                                 .kind = "profile",
                                 .seconds = 3600,
                                 .frequency = (unsigned)(uintptr_t)argument};
    void *bytes;
    size_t n_bytes;
    exit(profile(&capture, &bytes, &n_bytes) ? 3 : 5);
}

static void on_timer(int number)
{
    (void)number;
    n_signals++;
}

static void start_empty(long hz)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct itimerspec every = {.it_interval = {0, 1000000000 / hz}, .it_value = {0, 1000000000 / hz}};
    timer_t timer;
    signal(SIGUSR1, on_timer);
    if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) || timer_settime(timer, 0, &every, NULL))
        exit(4);
}

int main(int argc, char **argv)
{
    double millions = argc > 1 ? atof(argv[1]) : 100;
    if (argc > 3 && !strcmp(argv[2], "empty")) {
        start_empty(atol(argv[3]));
    } else if (argc > 2) {
        pthread_t taker;
        *(void **)&profile = dlsym(RTLD_DEFAULT, "pp_profile");
        if (!profile || pthread_create(&taker, NULL, take, (void *)(uintptr_t)atol(argv[2]))) return 3;
        usleep(400000); /* tables are made, timers run */
    }
    double best = 1e18;
    for (unsigned round = 0; round < 10; round++) {
        double begin = cpu_ms();
        sink = descend(DEPTH, (uint64_t)(millions * 1e5));
        double took = cpu_ms() - begin;
        if (took < best) best = took;
    }
    printf("%.4f\n", best / millions * 10);
    fflush(stdout);
    _exit(0);
}
