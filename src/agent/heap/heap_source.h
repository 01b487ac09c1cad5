/* heap_source.h - where heap profiles of this process come from: our own sampler, or jemalloc's profiler.
 *
 * heap_kinds.c offers the kinds heap, allocs and growth and their control verbs, and asks the source that is
 * in charge. Called by one thread at a time, never in a handler (heap_kinds.c holds a lock).
 */
#ifndef AGENT_HEAP_HEAP_SOURCE_H
#define AGENT_HEAP_HEAP_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/sample/kinds.h"

struct heap_source {
    const char *name;
    /* True: it can be used here. why[size] says why not, or with what. */
    bool (*usable)(char *why, size_t size);
    bool (*is_on)(void);
    int (*enable)(uint64_t period_bytes,
                  struct err *err); /* 0: as it was; also changes the period while on */
    int (*disable)(struct err *err);
    int (*reset)(uint64_t period_bytes, struct err *err); /* forgets all samples; 0: same period */
    /* Fills in the four types alloc_objects, alloc_space, inuse_objects, inuse_space with exact weights, or
     * raw when the client reads legacy text and the source has such a text of its own. */
    int (*snapshot)(const struct kind_options *options, struct output *output, struct err *err);
    void (*status)(struct pages_buf *reply); /* lines "key: value" */
};

extern const struct heap_source heap_own;
extern const struct heap_source heap_jemalloc;

void heap_own_stopped(
    void);                  /* it is off: what was sampled is forgotten, frees are no longer watched for it */
void heap_own_forked(void); /* in a child: back to the plain allocator */

#endif
