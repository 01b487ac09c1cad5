/* interpose_threads.c - pthread_create as the host sees it: the new thread reports its start to the
 * profilers, then runs the host's function. While no profiler wants such reports, the call goes straight
 * to libc. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "agent/host/libc_real.h"
#include "agent/host/threads.h"

/* A sanitizer replaces pthread_create itself and must know every thread, so there its function is the real
 * one. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0
#endif

pthread_create_fn libc_pthread_create(void)
{
    if (IS_SANITIZED) return pthread_create;
    static _Atomic(pthread_create_fn) found;
    pthread_create_fn f = atomic_load_explicit(&found, memory_order_relaxed);
    if (!f) {
        *(void **)&f = dlsym(RTLD_NEXT, "pthread_create");
        atomic_store(&found, f);
    }
    return f;
}

_Atomic int threads_watched;

/* What a new thread needs to know. Threads that create others share the pool; a compare-and-exchange on
 * `taken` gives each entry to one of them, and the new thread gives it back once it has copied it. The
 * pool has a fixed size because the host's malloc must not be called here. When it is empty, the new
 * thread is not reported. */
struct start {
    void *(*run)(void *);
    void *argument;
    _Atomic int taken;
};

#define POOL 256
static struct start pool[POOL];

static void *begin_thread(void *argument)
{
    struct start *s = argument;
    void *(*run)(void *) = s->run;
    void *run_argument = s->argument;
    atomic_store(&s->taken, 0);
    threads_report_start();
    void *result = run(run_argument);
    if (atomic_load_explicit(&threads_watched, memory_order_relaxed)) threads_report_end((const void *)run);
    return result;
}

int watched_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                           void *argument)
{
    pthread_create_fn real = libc_pthread_create();
    if (atomic_load_explicit(&threads_watched, memory_order_relaxed)) {
        for (unsigned i = 0; i < POOL; i++) {
            int is_free = 0;
            if (!atomic_compare_exchange_strong(&pool[i].taken, &is_free, 1)) continue;
            pool[i].run = run;
            pool[i].argument = argument;
            int status = real(thread, attributes, begin_thread, &pool[i]);
            if (status) atomic_store(&pool[i].taken, 0);
            return status;
        }
    }
    return real(thread, attributes, run, argument); /* not reported: the scan of /proc finds the thread */
}

#if !IS_SANITIZED
__attribute__((visibility("default"))) int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                                                          void *(*run)(void *), void *argument)
{
    return watched_pthread_create(thread, attributes, run, argument);
}
#endif
