/* parallel.h - does the same work on many items with several threads.
 *
 * It pays for work that takes much longer than the start of a thread (about 20 µs). The work on one item must
 * not touch what the work on another item writes.
 */
#ifndef BASE_PARALLEL_H
#define BASE_PARALLEL_H

#include <stddef.h>

struct buf;

/* Returns how many threads are worth starting, from 1 to 64: the usable cores without those that other calls
 * of parallel_for keep busy. So nested work starts threads only if cores have become free. */
unsigned parallel_width(void);

/* Calls work(context, i, worker) for every i below n_items, in no order, from up to n_threads threads (the
 * caller is one of them, worker 0). Items are taken one by one, so put the large ones first. Returns when all
 * are done. If no thread can be started, the caller does all the work. */
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
