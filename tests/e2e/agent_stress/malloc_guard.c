/* malloc_guard.c - a host whose own malloc ends the process when it is entered in a signal handler of the
 * profiler, or by a thread of the profiler: both run with every signal blocked, and nothing else here does.
 *
 *   malloc_guard SECONDS        (with libprocprof preloaded)
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static char pool[1 << 26];
static size_t used;
static volatile int stopping;
static volatile unsigned long n_calls;

static bool is_loader(const void *caller)
{
    return (uintptr_t)caller - getauxval(AT_BASE) < 0x80000;
}

static void check(const void *caller)
{
    uint64_t blocked = 0;
    if (is_loader(caller)) return;
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &blocked, 8);
    __atomic_add_fetch(&n_calls, 1, __ATOMIC_RELAXED);
    if ((blocked & 1u << (SIGUSR1 - 1)) && (blocked & 1u << (SIGUSR2 - 1)) &&
        (blocked & 1u << (SIGTERM - 1))) {
        static const char text[] = "malloc was called where it may not be\n";
        if (write(2, text, sizeof text - 1) < 0) _exit(3);
        abort();
    }
}

/* Hands out and never takes back: good enough for the seconds this lives. The pool is zero. */
static void *take(size_t size, const void *caller)
{
    check(caller);
    size_t at = __atomic_fetch_add(&used, (size + 31) & ~(size_t)15, __ATOMIC_RELAXED);
    if (at + size + 32 > sizeof pool) _exit(4);
    *(size_t *)(void *)(pool + at) = size;
    return pool + at + 16;
}

void *malloc(size_t size)
{
    return take(size, __builtin_return_address(0));
}

void *calloc(size_t n, size_t size)
{
    return take(n * size, __builtin_return_address(0));
}

void *realloc(void *p, size_t size)
{
    char *q = take(size, __builtin_return_address(0));
    size_t old = p ? *(size_t *)(void *)((char *)p - 16) : 0;
    for (size_t i = 0; i < old && i < size; i++) q[i] = ((char *)p)[i];
    return q;
}

void free(void *p)
{
    if (p) check(__builtin_return_address(0));
}

__attribute__((noinline)) static void work(void)
{
    volatile uint64_t x = 0;
    for (unsigned i = 0; i < 200000; i++) x += i;
    free(malloc(10));
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *run(void *argument)
{
    while (!stopping) {
        pthread_mutex_lock(&lock);
        work();
        pthread_mutex_unlock(&lock);
        work();
    }
    return argument;
}

int main(int argc, char **argv)
{
    pthread_t threads[4];
    for (unsigned i = 0; i < 4; i++) pthread_create(&threads[i], NULL, run, NULL);
    sleep(argc > 1 ? (unsigned)atoi(argv[1]) : 5);
    stopping = 1;
    for (unsigned i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    printf("%lu calls\nintact\n", n_calls);
    return 0;
}
