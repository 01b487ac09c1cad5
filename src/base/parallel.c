/* parallel.c - see parallel.h. */
#include "base/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "base/buf.h"
#include "base/mem.h"

enum { MAX_THREADS = 64, PIECE_ITEMS = 4096, PIECES_AT_ONCE = 64 };

unsigned parallel_width(void)
{
    cpu_set_t usable;
    if (sched_getaffinity(0, sizeof usable, &usable)) return 1;
    int n = CPU_COUNT(&usable);
    return n < 1 ? 1 : n > MAX_THREADS ? MAX_THREADS : (unsigned)n;
}

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

static void *run(void *context)
{
    struct thread *t = context;
    struct job *job = t->job;
    for (size_t i; (i = atomic_fetch_add_explicit(&job->next, 1, memory_order_relaxed)) < job->n_items;)
        job->work(job->context, i, t->worker);
    return NULL;
}

void parallel_for(size_t n_items, unsigned n_threads,
                  void (*work)(void *context, size_t item, unsigned worker), void *context)
{
    struct job job = {.n_items = n_items, .work = work, .context = context};
    struct thread threads[MAX_THREADS];
    unsigned n_started = 1;
    if (n_threads > n_items) n_threads = (unsigned)n_items;
    if (n_threads > MAX_THREADS) n_threads = MAX_THREADS;
    threads[0] = (struct thread){.job = &job};
    for (; n_started < n_threads; n_started++) {
        threads[n_started] = (struct thread){.job = &job, .worker = n_started};
        if (pthread_create(&threads[n_started].id, NULL, run, &threads[n_started])) break;
    }
    run(&threads[0]);
    for (unsigned i = 1; i < n_started; i++) pthread_join(threads[i].id, NULL);
}

struct pieces {
    void (*write)(void *, size_t, size_t, struct buf *);
    void *context;
    size_t first_item, n_items;
    struct buf bufs[PIECES_AT_ONCE];
};

static void write_piece(void *context, size_t i, unsigned worker)
{
    (void)worker;
    struct pieces *p = context;
    size_t first = p->first_item + i * PIECE_ITEMS, end = first + PIECE_ITEMS;
    p->write(p->context, first, end < p->n_items ? end : p->n_items, &p->bufs[i]);
}

void parallel_write(struct buf *out, size_t n_items,
                    void (*write)(void *context, size_t first, size_t end, struct buf *piece), void *context)
{
    if (n_items < 2 * PIECE_ITEMS || parallel_width() == 1) {
        write(context, 0, n_items, out);
        return;
    }
    struct pieces *p = mem_zalloc(sizeof *p);
    *p = (struct pieces){.write = write, .context = context, .n_items = n_items};
    for (; p->first_item < n_items; p->first_item += (size_t)PIECES_AT_ONCE * PIECE_ITEMS) {
        size_t left = (n_items - p->first_item + PIECE_ITEMS - 1) / PIECE_ITEMS;
        size_t n = left < PIECES_AT_ONCE ? left : PIECES_AT_ONCE;
        parallel_for(n, parallel_width(), write_piece, p);
        for (size_t i = 0; i < n; i++) {
            buf_add(out, p->bufs[i].data, p->bufs[i].len);
            p->bufs[i].len = 0;
        }
    }
    for (size_t i = 0; i < PIECES_AT_ONCE; i++) buf_free(&p->bufs[i]);
    mem_free(p);
}
