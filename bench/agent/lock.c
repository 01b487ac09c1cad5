/* lock.c - the cost of taking a free lock and giving it back, and the throughput of a contended one.
 *
 *     lock free PAIRS ROUNDS        CPU nanoseconds of one lock and unlock nobody else wants; the best round
 *     lock try PAIRS ROUNDS         the same by trylock: the least that trying first can cost
 *     lock busy MILLISECONDS        four threads, one mutex: millions of critical sections a second (wall
 * clock)
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile int stop;
static long n_done;

static double now_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double free_lock(long n_pairs, int n_rounds, int tries)
{
    double best = 1e18;
    for (int r = 0; r < n_rounds; r++) {
        double begin = now_ns(CLOCK_THREAD_CPUTIME_ID);
        for (long i = 0; i < n_pairs; i++) {
            if (tries ? pthread_mutex_trylock(&mutex) : pthread_mutex_lock(&mutex)) abort();
            __asm__ volatile("" ::: "memory");
            pthread_mutex_unlock(&mutex);
        }
        double ns = (now_ns(CLOCK_THREAD_CPUTIME_ID) - begin) / (double)n_pairs;
        if (ns < best) best = ns;
    }
    return best;
}

static void *contend(void *unused)
{
    while (!stop) {
        pthread_mutex_lock(&mutex);
        for (volatile int i = 0; i < 50; i++)
            ;
        n_done++;
        pthread_mutex_unlock(&mutex);
        for (volatile int i = 0; i < 50; i++)
            ;
    }
    return unused;
}

/* A second thread makes libc use real atomics, as every server has it. */
static void *idle(void *unused)
{
    while (!stop) usleep(10000);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t threads[4];
    if (argc > 3 && (!strcmp(argv[1], "free") || !strcmp(argv[1], "try"))) {
        pthread_create(&threads[0], NULL, idle, NULL);
        printf("%.3f\n", free_lock(atol(argv[2]), atoi(argv[3]), argv[1][0] == 't'));
        stop = 1;
        pthread_join(threads[0], NULL);
    } else if (argc > 2 && !strcmp(argv[1], "busy")) {
        double begin = now_ns(CLOCK_MONOTONIC);
        for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, contend, NULL);
        usleep((useconds_t)atoi(argv[2]) * 1000);
        stop = 1;
        for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
        printf("%.3f\n", (double)n_done * 1e3 / (now_ns(CLOCK_MONOTONIC) - begin));
    } else {
        return 2;
    }
    return 0;
}
