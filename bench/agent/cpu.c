/* cpu.c - a program with a stack of 30 frames and a fixed amount of work, for bench/agent/cpu.sh.
 *
 *   cpu MILLIONS [HZ]         CPU time of the whole process for a million rounds, in milliseconds; with HZ a
 *                             profile is taken meanwhile, through the libprocprof that is in the process
 *   cpu MILLIONS HZ own       of the same run: CPU time of the library's own threads, in us a second
 *   cpu MILLIONS empty HZ     with a timer and a handler that does nothing: what delivery alone costs
 *   cpu idle                  CPU time of the process while it sleeps for three seconds, in us a second
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "procprof.h"

#define DEPTH 27 /* and main, its caller and theirs: 30 frames */

static volatile uint64_t sink;
static volatile sig_atomic_t n_signals;

/* Not CLOCK_PROCESS_CPUTIME_ID: while a CPU timer of the whole process runs (ITIMER_PROF, which is what
 * gperftools uses), the kernel answers that from a sum it brings up to date at its tick, every 4 ms. The best
 * of several rounds is then one that began late and ended early: such a profiler seemed to make programs
 * faster, by 2 to 4 %. */
static double cpu_ms(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-3;
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

/* CPU time of the threads of the library (their names begin with procprof), in microseconds. */
static double own_us(void)
{
    double us = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *d; tasks && (d = readdir(tasks));) {
        char path[300], name[32] = "";
        unsigned long long ns = 0;
        snprintf(path, sizeof path, "/proc/self/task/%.20s/comm", d->d_name);
        FILE *f = fopen(path, "r");
        if (f && !fgets(name, sizeof name, f)) name[0] = 0;
        if (f) fclose(f);
        snprintf(path, sizeof path, "/proc/self/task/%.20s/schedstat", d->d_name);
        f = fopen(path, "r");
        if (f && fscanf(f, "%llu", &ns) == 1 && !strncmp(name, "procprof", 8)) us += (double)ns * 1e-3;
        if (f) fclose(f);
    }
    if (tasks) closedir(tasks);
    return us;
}

static double wall_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
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
    if (argc > 1 && !strcmp(argv[1], "idle")) {
        usleep(500000); /* the library's thread has begun to wait */
        double begin = cpu_ms();
        usleep(3000000);
        printf("%.2f\n", (cpu_ms() - begin) * 1e3 / 3);
        return 0;
    }
    if (argc > 3 && !strcmp(argv[2], "empty")) {
        start_empty(atol(argv[3]));
    } else if (argc > 2) {
        pthread_t taker;
        *(void **)&profile = dlsym(RTLD_DEFAULT, "pp_profile");
        if (!profile || pthread_create(&taker, NULL, take, (void *)(uintptr_t)atol(argv[2]))) return 3;
        usleep(400000); /* tables are made, timers run */
    }
    bool is_own = argc > 3 && !strcmp(argv[3], "own");
    double best = 1e18, own_begin_us = is_own ? own_us() : 0, begin_s = wall_s();
    for (unsigned round = 0; round < 10; round++) {
        double begin = cpu_ms();
        sink = descend(DEPTH, (uint64_t)(millions * 1e5));
        double took = cpu_ms() - begin;
        if (took < best) best = took;
    }
    if (is_own)
        printf("%.1f\n", (own_us() - own_begin_us) / (wall_s() - begin_s));
    else
        printf("%.4f\n", best / millions * 10);
    fflush(stdout);
    _exit(0);
}
