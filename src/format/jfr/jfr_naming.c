/* jfr_naming.c - turns the counts of a chunk, by its own ids, into counts of the file, by names; see jfr.h.
 */
#include <string.h>

#include "base/mem.h"
#include "format/jfr/jfr.h"

/* Whether a thread that parks on an object of this class waits for a lock. A thread that parks on a condition
 * waits for work, as the threads of every pool do. */
static bool is_lock_class(const char *name)
{
    static const char *const locks[] = {
        "java.util.concurrent.locks.ReentrantLock$", "java.util.concurrent.locks.ReentrantReadWriteLock$",
        "java.util.concurrent.locks.StampedLock", "java.util.concurrent.Semaphore$"};
    for (size_t i = 0; i < sizeof locks / sizeof *locks; i++)
        if (!strncmp(name, locks[i], strlen(locks[i]))) return true;
    return false;
}

/* Two kinds of events record allocations. One is written at each new buffer of a thread and each large
 * object, and is exact. The other is a weighted sample of these. Each kind covers all allocations. A JVM that
 * runs a recording of its own besides ours writes both, and only one may be counted. The exact kind is taken,
 * unless it has only the few events that came late from the previous chunk. */
static bool is_counted_by_other_kind(const struct jfr_naming *naming, uint32_t kind)
{
    if (!(naming->alloc_bytes > 0 && naming->alloc_sample_bytes > 0)) return false;
    return kind == (naming->alloc_bytes >= naming->alloc_sample_bytes / 2 ? JFR_ALLOC_SAMPLE : JFR_ALLOC);
}

void jfr_weigh_allocations(struct jfr_naming *naming, const struct jfr_counts *counts)
{
    for (size_t i = 0; i < counts->n_items; i++) {
        const struct jfr_count *c = &counts->items[i];
        if (c->kind == JFR_ALLOC) naming->alloc_bytes += (double)c->value;
        if (c->kind == JFR_ALLOC_SAMPLE) naming->alloc_sample_bytes += (double)c->value;
    }
}

/* Returns the count with ids of the profile instead of ids of the chunk, except for its stack. */
static struct jfr_count named(const struct jfr_naming *naming, const struct jfr_count *c)
{
    struct jfr_pools *pools = naming->pools;
    struct jfr_world *w = naming->world;
    struct jfr_count place = *c;
    place.thread = jfr_pool_thread(pools, w, c->thread);
    place.class_id = c->class_id ? jfr_pool_class(pools, w, c->class_id) : 0;
    place.state = c->state == JFR_NO_STATE ? 0 : jfr_pool_string(pools, w, JFR_POOL_THREAD_STATE, c->state);
    if (c->kind == JFR_CPU && pools->is_async_profiler) {
        /* Older async-profilers write wall clock samples as the same event, with a thread state. */
        const char *state = profile_text(w->p, place.state);
        if (!strcmp(state, "STATE_DEFAULT") || !*state)
            place.state = 0;
        else
            place.kind = JFR_WALL;
    }
    if (place.kind == JFR_CPU && naming->is_event_counted) place.kind = JFR_EVENT;
    place.kind = jfr_kind_in_profile(place.kind);
    if (naming->settings && (place.kind == JFR_CPU || place.kind == JFR_EVENT))
        place.value = jfr_rounded(c->n * jfr_cpu_ns(naming->settings));
    if (naming->settings && place.kind == JFR_WALL && !c->value)
        place.value = jfr_rounded(c->n * jfr_wall_ns(naming->settings));
    if (c->kind == JFR_PARK &&
        (pools->is_async_profiler || is_lock_class(profile_text(w->p, (uint32_t)place.class_id))))
        place.kind = JFR_LOCK;
    return place;
}

void jfr_name_counts(struct jfr_naming *naming, const struct jfr_counts *counts)
{
    uint32_t stacks[JFR_MAX_AHEAD];
    for (size_t first = 0; first < counts->n_items; first += JFR_MAX_AHEAD) {
        const struct jfr_count *row = counts->items + first;
        size_t n = counts->n_items - first < JFR_MAX_AHEAD ? counts->n_items - first : JFR_MAX_AHEAD;
        jfr_pool_stacks(naming->pools, naming->world, row, n, stacks);
        for (size_t i = 0; i < n; i++) {
            if (is_counted_by_other_kind(naming, row[i].kind)) continue;
            struct jfr_count place = named(naming, &row[i]);
            if (stacks[i] == JFR_UNRESOLVED) {
                *VEC_PUSH(naming->without_stack, naming->n_without_stack, naming->cap_without_stack) = place;
                continue;
            }
            place.stack = stacks[i];
            jfr_count_add(naming->into, &place);
        }
    }
}

void jfr_add_without_stack(struct jfr_naming *naming, struct jfr_pools *pools)
{
    for (size_t i = 0; i < naming->n_without_stack; i++) {
        struct jfr_count *place = &naming->without_stack[i];
        place->stack = jfr_pool_stack(pools, naming->world, place->stack);
        jfr_count_add(naming->into, place);
    }
    naming->n_without_stack = 0;
}
