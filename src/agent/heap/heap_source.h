/* heap_source.h - where heap profiles of this process come from: our own sampler, or jemalloc's profiler.
 *
 * heap_kinds.c offers the kinds heap, allocs and growth and their control verbs, and calls the source in use.
 * It holds a lock, so one thread at a time is in a source, and never a handler.
 */
#ifndef AGENT_HEAP_HEAP_SOURCE_H
#define AGENT_HEAP_HEAP_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/sample/kinds.h"

struct heap_source {
    const char *name;
    /* True when the source can be used here. why[size] then says with what, otherwise why not. */
    bool (*usable)(char *why, size_t size);
    bool (*is_on)(void);
    int (*enable)(uint64_t period_bytes,
                  struct err *err); /* period 0: unchanged. Also changes the period while on */
    int (*disable)(struct err *err);
    int (*reset)(uint64_t period_bytes, struct err *err); /* forgets all samples; period 0: unchanged */
    /* Fills in the four types alloc_objects, alloc_space, inuse_objects and inuse_space with exact
     * weights; or raw, when the client reads legacy text and the source has such a text of its own. */
    int (*snapshot)(const struct kind_options *options, struct output *output, struct err *err);
    void (*status)(struct pages_buf *reply); /* lines "key: value" */
};

extern const struct heap_source heap_own;
extern const struct heap_source heap_jemalloc;

void heap_own_stopped(void); /* the profiler is off: forgets its samples, and stops watching frees */
void heap_own_forked(void);  /* in the child of a fork: back to the plain allocator */

#endif
