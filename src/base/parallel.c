/* parallel.c - see parallel.h. */
#include "base/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "base/buf.h"
#include "base/mem.h"

enum { MAX_THREADS = 16, PIECE_ITEMS = 4096, PIECES_AT_ONCE = 64 };

unsigned parallel_width(void)
{
    cpu_set_t usable;
    if (sched_getaffinity(0, sizeof usable, &usable)) return 1;
    int n = CPU_COUNT(&usable);
    return n < 1 ? 1 : n > MAX_THREADS ? MAX_THREADS : (unsigned)n;
}

struct jobs {
    atomic_size_t next;
    size_t n;
    void (*job)(void *, size_t);
    void *context;
};

static void *work(void *context)
{
    struct jobs *jobs = context;
    for (size_t i; (i = atomic_fetch_add(&jobs->next, 1)) < jobs->n;) jobs->job(jobs->context, i);
    return NULL;
}

void parallel_for(size_t n_jobs, void (*job)(void *context, size_t i), void *context)
{
    struct jobs jobs = {.n = n_jobs, .job = job, .context = context};
    pthread_t threads[MAX_THREADS];
    unsigned n_threads = 0, wanted = parallel_width();
    while (n_threads + 1 < wanted && n_threads + 1 < n_jobs &&
           !pthread_create(&threads[n_threads], NULL, work, &jobs))
        n_threads++;
    work(&jobs);
    for (unsigned i = 0; i < n_threads; i++) pthread_join(threads[i], NULL);
}

struct pieces {
    void (*write)(void *, size_t, size_t, struct buf *);
    void *context;
    size_t first_item, n_items;
    struct buf bufs[PIECES_AT_ONCE];
};

static void write_piece(void *context, size_t i)
{
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
        parallel_for(n, write_piece, p);
        for (size_t i = 0; i < n; i++) {
            buf_add(out, p->bufs[i].data, p->bufs[i].len);
            p->bufs[i].len = 0;
        }
    }
    for (size_t i = 0; i < PIECES_AT_ONCE; i++) buf_free(&p->bufs[i]);
    mem_free(p);
}
