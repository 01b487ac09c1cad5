/* parallel.h - the same work on many items, spread over the cores of the machine.
 *
 * For work that is long beside the start of a thread (about 20 µs). A job must not touch what another one
 * writes.
 */
#ifndef BASE_PARALLEL_H
#define BASE_PARALLEL_H

#include <stddef.h>

struct buf;

/* How many threads are worth starting: the usable cores, 1..64, without those that other calls of
 * parallel_for keep busy. So work inside of such work spreads only when cores have become free. */
unsigned parallel_width(void);

/* Calls work(context, i, worker) for every i below n_items, in no order, from up to n_threads threads (the
 * caller is one of them, worker 0). Items are taken one by one, so put the large ones first. Returns when all
 * are done. Where no thread can be had, the caller does all of it. */
void parallel_for(size_t n_items, unsigned n_threads,
                  void (*work)(void *context, size_t item, unsigned worker), void *context);

/* Writes items [0, n_items) into `out` in their order: write(context, first, end, piece) writes a run of them
 * into a buffer of its own, on several threads where there are enough items. */
void parallel_write(struct buf *out, size_t n_items,
                    void (*write)(void *context, size_t first, size_t end, struct buf *piece), void *context);

/* The same for items so large that a run should have no more than so many of them. */
void parallel_write_by(struct buf *out, size_t n_items, size_t items_per_run,
                       void (*write)(void *context, size_t first, size_t end, struct buf *piece),
                       void *context);

#endif
