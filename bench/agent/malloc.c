/* malloc.c - the cost of one malloc and the free that follows, at the end of a stack of 26 frames, in CPU
 * nanoseconds.
 *
 *     malloc PAIRS ROUNDS THREADS          prints the best round of all, as "NS" per pair of one thread
 *
 * Sizes are 32 to 287 bytes, drawn beforehand; a block lives while 63 others come and go. Best of the rounds,
 * because whatever disturbs a round only adds. CPU time of the thread, so other programs on the machine count
 * little.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N_SIZES = 4096, N_ALIVE = 64, DEPTH = 26 };

static uint16_t sizes[N_SIZES];
static long n_pairs;
static int n_rounds;

static double cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double one_round(void)
{
    void *alive[N_ALIVE] = {0};
    double begin = cpu_ns();
    for (long i = 0; i < n_pairs; i++) {
        free(alive[i % N_ALIVE]);
        char *p = malloc(sizes[i % N_SIZES]);
        *(volatile char *)p = 1;
        alive[i % N_ALIVE] = p;
    }
    double took = cpu_ns() - begin;
    for (int i = 0; i < N_ALIVE; i++) free(alive[i]);
    return took / (double)n_pairs;
}

__attribute__((noinline)) static double deeper(int depth)
{
    double best = 1e18;
    if (depth > 0) {
        best = deeper(depth - 1);
    } else {
        for (int i = 0; i < n_rounds; i++) {
            double ns = one_round();
            if (ns < best) best = ns;
        }
    }
    __asm__ volatile("" : "+m"(best)); /* no tail call: the frames stay */
    return best;
}

static void *run(void *result)
{
    *(double *)result = deeper(DEPTH - 4);
    return NULL;
}

int main(int argc, char **argv)
{
    n_pairs = argc > 1 ? atol(argv[1]) : 2000000;
    n_rounds = argc > 2 ? atoi(argv[2]) : 5;
    int n_threads = argc > 3 ? atoi(argv[3]) : 1;
    uint32_t x = 1;
    for (int i = 0; i < N_SIZES; i++) sizes[i] = (uint16_t)(32 + ((x = x * 1664525 + 1013904223) >> 24));
    pthread_t threads[64];
    double ns[64], worst = 0;
    if (n_threads < 1 || n_threads > 64) return 2;
    for (int i = 0; i < n_threads; i++) pthread_create(&threads[i], NULL, run, &ns[i]);
    for (int i = 0; i < n_threads; i++) {
        pthread_join(threads[i], NULL);
        if (ns[i] > worst) worst = ns[i];
    }
    printf("%.3f\n", worst);
    return 0;
}
