/* parallel.c - see parallel.h. */
#include "symbol/parallel.h"

#include <pthread.h>
#include <stdatomic.h>

enum { MAX_THREADS = 256 };

struct job {
    atomic_size_t next;
    size_t n_items;
    void (*work)(void *, size_t, unsigned);
    void *context;
};

struct thread {
    struct job *job;
    unsigned worker;
    pthread_t id;
};

static void *run(void *arg)
{
    struct thread *t = arg;
    struct job *job = t->job;
    for (;;) {
        size_t item = atomic_fetch_add_explicit(&job->next, 1, memory_order_relaxed);
        if (item >= job->n_items) return NULL;
        job->work(job->context, item, t->worker);
    }
}

void parallel_for(size_t n_items, unsigned n_threads, void (*work)(void *, size_t, unsigned), void *context)
{
    struct job job = {.n_items = n_items, .work = work, .context = context};
    struct thread threads[MAX_THREADS];
    if (n_threads > n_items) n_threads = (unsigned)n_items;
    if (n_threads > MAX_THREADS) n_threads = MAX_THREADS;
    unsigned n_started = 1;
    threads[0] = (struct thread){.job = &job};
    for (; n_started < n_threads; n_started++) {
        threads[n_started] = (struct thread){.job = &job, .worker = n_started};
        /* Fewer threads than asked for still do all the work. */
        if (pthread_create(&threads[n_started].id, NULL, run, &threads[n_started])) break;
    }
    run(&threads[0]);
    for (unsigned i = 1; i < n_started; i++) pthread_join(threads[i].id, NULL);
}
