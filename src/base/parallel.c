/* parallel.c - see parallel.h. */
#include "base/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "base/buf.h"
#include "base/mem.h"

enum { MAX_THREADS = 64, RUN_ITEMS = 2048 };

/* The number of threads that work for parallel_for besides its callers. A caller that only waits for its
 * threads is subtracted. */
static atomic_int n_helpers;

unsigned parallel_width(void)
{
    cpu_set_t usable;
    if (sched_getaffinity(0, sizeof usable, &usable)) return 1;
    int n = CPU_COUNT(&usable) - atomic_load_explicit(&n_helpers, memory_order_relaxed);
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
    atomic_fetch_sub(&n_helpers, 1);
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
        atomic_fetch_add(&n_helpers, 1);
        if (pthread_create(&threads[n_started].id, NULL, run, &threads[n_started])) {
            atomic_fetch_sub(&n_helpers, 1);
            break;
        }
    }
    run(&threads[0]); /* at its end it leaves n_helpers, because this core is free while it waits */
    for (unsigned i = 1; i < n_started; i++) pthread_join(threads[i].id, NULL);
    atomic_fetch_add(&n_helpers, 1);
}

struct pieces {
    void (*write)(void *, size_t, size_t, struct buf *);
    void *context;
    size_t n_items, items_per_run;
    struct buf *out;
    pthread_mutex_t lock;
    pthread_cond_t moved;
    size_t turn; /* the next piece to append to the output */
    struct buf bufs[MAX_THREADS];
};

/* Several threads run this, each with its own piece and buffer. They share the output, to which pieces must
 * go in order. A thread that has written its piece waits for its turn and then appends it, while other
 * threads write the next pieces. So there are never more pieces in memory than threads. No thread waits
 * forever, because pieces are handed out in order: the piece whose turn it is has always been started. */
static void write_piece(void *context, size_t i, unsigned worker)
{
    struct pieces *p = context;
    struct buf *piece = &p->bufs[worker];
    size_t first = i * p->items_per_run, end = first + p->items_per_run;
    p->write(p->context, first, end < p->n_items ? end : p->n_items, piece);
    pthread_mutex_lock(&p->lock);
    while (p->turn != i) pthread_cond_wait(&p->moved, &p->lock);
    pthread_mutex_unlock(&p->lock);
    buf_add(p->out, piece->data, piece->len);
    piece->len = 0;
    pthread_mutex_lock(&p->lock);
    p->turn++;
    pthread_cond_broadcast(&p->moved);
    pthread_mutex_unlock(&p->lock);
}

void parallel_write_by(struct buf *out, size_t n_items, size_t items_per_run,
                       void (*write)(void *context, size_t first, size_t end, struct buf *piece),
                       void *context)
{
    if (n_items < 2 * items_per_run || parallel_width() == 1) {
        write(context, 0, n_items, out);
        return;
    }
    struct pieces *p = mem_zalloc(sizeof *p);
    *p = (struct pieces){
        .write = write, .context = context, .n_items = n_items, .items_per_run = items_per_run, .out = out};
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->moved, NULL);
    parallel_for((n_items + items_per_run - 1) / items_per_run, parallel_width(), write_piece, p);
    for (size_t i = 0; i < MAX_THREADS; i++) buf_free(&p->bufs[i]);
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->moved);
    mem_free(p);
}

void parallel_write(struct buf *out, size_t n_items,
                    void (*write)(void *context, size_t first, size_t end, struct buf *piece), void *context)
{
    parallel_write_by(out, n_items, RUN_ITEMS, write, context);
}
