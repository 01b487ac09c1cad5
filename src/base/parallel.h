/* parallel.h - the same work on many items, spread over the cores of the machine.
 *
 * For work that is long beside the start of a thread (about 20 µs). A job must not touch what another one
 * writes.
 */
#ifndef BASE_PARALLEL_H
#define BASE_PARALLEL_H

#include <stddef.h>

struct buf;

unsigned parallel_width(void); /* how many threads are worth starting: the usable cores, 1..16 */

/* Calls job(context, i) for every i below n_jobs, in any order, on up to parallel_width() threads; returns
 * when all are done. Where no thread can be had, the caller does all of it. */
void parallel_for(size_t n_jobs, void (*job)(void *context, size_t i), void *context);

/* Writes items [0, n_items) into `out` in their order: write(context, first, end, piece) writes a run of them
 * into a buffer of its own, on several threads where there are enough items. */
void parallel_write(struct buf *out, size_t n_items,
                    void (*write)(void *context, size_t first, size_t end, struct buf *piece), void *context);

#endif
