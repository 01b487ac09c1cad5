/* parallel.h - one function over many items, by several threads. */
#ifndef SYMBOL_PARALLEL_H
#define SYMBOL_PARALLEL_H

#include <stddef.h>

/* Calls work(context, i, worker) for every i below n_items, in no order, from n_threads threads (the caller
 * is one of them, worker 0). Items are taken one by one, so put the large ones first. Returns when all are
 * done. */
void parallel_for(size_t n_items, unsigned n_threads,
                  void (*work)(void *context, size_t item, unsigned worker), void *context);

#endif
