/* jfr_chunk.c - reads one chunk of a recording: its types, its events, and then the pool entries that the
 * events use; see jfr.h.
 *
 * Events are counted by the ids of the chunk, which requires only its types. Several threads can therefore
 * read ranges of a large chunk, and stacks without a counted event are never decoded.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/mem.h"
#include "base/parallel.h"
#include "format/jfr/jfr.h"

enum { MAX_LIVE_BLOCKS = 8 << 20, RANGE_BYTES = 4 << 20, DROP_STEP_BYTES = 8 << 20 };

/* ---- types and pools ---- */

static struct rd records_of(const struct jfr_chunk *c)
{
    return rd_over(c->data + JFR_HEADER_BYTES, c->size - JFR_HEADER_BYTES);
}

/* Reads the record at `offset`. Returns false unless it has the type wanted and ends before `until`. */
static bool record_at(const struct jfr_chunk *c, uint64_t offset, uint64_t until, uint64_t want_type,
                      struct rd *ret_record)
{
    struct rd r = rd_over(c->data + offset, (size_t)(until - offset));
    uint64_t type = 0;
    return jfr_next_record(&r, &type, ret_record) && type == want_type;
}

static bool types_by_index(const struct jfr_chunk *c, struct jfr_types *types)
{
    struct rd record;
    if (record_at(c, c->metadata_at, c->size, 0, &record) && jfr_types_read(types, record)) return true;
    jfr_types_free(types);
    return false;
}

/* For a chunk without an index: takes the first valid metadata record. */
static bool types_by_walking(const struct jfr_chunk *c, struct jfr_types *types)
{
    struct rd r = records_of(c), record;
    uint64_t type;
    while (jfr_next_record(&r, &type, &record)) {
        if (type != 0) continue;
        if (jfr_types_read(types, record)) return true;
        jfr_types_free(types);
    }
    return false;
}

static bool pools_by_index(const struct jfr_chunk *c, struct jfr_pools *pools)
{
    for (uint64_t at = c->pool_at, until = c->size;;) {
        struct rd record;
        int64_t delta;
        if (!record_at(c, at, until, 1, &record) || !jfr_pools_read(pools, record, &delta)) return false;
        if (delta >= 0)
            return true; /* this is the first record; each later one points back to its predecessor */
        if (-(uint64_t)delta > at - JFR_HEADER_BYTES) return false;
        until = at; /* records do not overlap, so no byte is read twice */
        at -= -(uint64_t)delta;
    }
}

static void pools_by_walking(const struct jfr_chunk *c, struct jfr_pools *pools)
{
    struct rd r = records_of(c), record;
    uint64_t type;
    while (jfr_next_record(&r, &type, &record)) {
        int64_t delta;
        if (type == 1) (void)jfr_pools_read(pools, record, &delta);
    }
}

/* Returns false if the index was missing or wrong and the pools were found by walking all records. */
static bool read_pools(const struct jfr_chunk *c, struct jfr_types *types, bool has_index,
                       struct jfr_pools *pools)
{
    jfr_pools_begin(pools, types, c->data + c->size);
    if (has_index && pools_by_index(c, pools)) return true;
    pools_by_walking(c, pools);
    return false;
}

/* ---- memory ---- */

static void drop(const struct jfr_reading *f, const uint8_t *from, const uint8_t *until)
{
    enum { PAGE = 4096 };
    if (!f->options->is_file_mapping) return;
    uintptr_t first = ((uintptr_t)from + PAGE - 1) / PAGE * PAGE, end = (uintptr_t)until / PAGE * PAGE;
    if (end > first) madvise((void *)first, end - first, MADV_DONTNEED);
}

void jfr_drop_behind(struct jfr_reading *f, const uint8_t *until, size_t at_least_bytes)
{
    if (until < f->dropped + at_least_bytes) return;
    drop(f, f->dropped, until);
    f->dropped = until;
}

/* ---- native blocks ---- */

static int compare_blocks(const void *a, const void *b)
{
    const struct jfr_block *x = a, *y = b;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes; /* at equal times, free comes before reuse */
}

/* Follows native blocks in the order of time and keeps those that are not freed. */
static void follow_blocks(struct jfr_reading *f, struct jfr_block *blocks, size_t n_blocks)
{
    if (f->too_many_blocks || !n_blocks) return;
    qsort(blocks, n_blocks, sizeof *blocks, compare_blocks);
    for (size_t i = 0; i < n_blocks; i++) {
        const struct jfr_block *b = &blocks[i];
        uint32_t index;
        if (b->bytes < 0) {
            f->has_frees = true;
            if (idmap_find(&f->blocks_by_address, b->address, &index)) f->live_blocks[index].bytes = 0;
            continue;
        }
        if (f->n_live_blocks >= MAX_LIVE_BLOCKS) {
            f->too_many_blocks = true;
            return;
        }
        bool is_new;
        uint32_t *slot = idmap_slot(&f->blocks_by_address, b->address, &is_new);
        if (is_new) {
            *slot = (uint32_t)f->n_live_blocks;
            (void)VEC_PUSH(f->live_blocks, f->n_live_blocks, f->cap_live_blocks);
        }
        f->live_blocks[*slot] =
            (struct jfr_live_block){jfr_pool_stack(&f->pools, &f->world, b->stack),
                                    jfr_pool_thread(&f->pools, &f->world, b->thread), b->n, b->bytes};
    }
}

/* ---- events ---- */

struct events { /* reading the events of one chunk */
    struct jfr_reading *f;
    const struct jfr_chunk *chunk;
    struct jfr_types *types;
    bool has_index, has_pools; /* has_pools: all pools except the stacks are read */
    struct jfr_events *readers;
    unsigned n_readers; /* one per thread */
    size_t range_bytes;
    const uint8_t **range_start; /* n_ranges + 1 */
    size_t n_ranges, cap_ranges;
    _Atomic size_t n_blocks;
};

static const struct jfr_pools *get_pools(void *context)
{
    struct events *all = context;
    if (!all->has_pools) {
        all->f->pools.stacks.n_words = 0;
        (void)read_pools(all->chunk, all->types, all->has_index, &all->f->pools);
    }
    all->has_pools = true;
    return &all->f->pools;
}

static void events_begin(struct events *all)
{
    struct jfr_reading *f = all->f;
    const struct jfr_chunk *c = all->chunk;
    all->range_bytes = f->options->jfr_range_bytes ? f->options->jfr_range_bytes : RANGE_BYTES;
    all->n_readers = c->size >= 2 * all->range_bytes ? f->n_workers : 1;
    all->readers = mem_array(all->n_readers, sizeof *all->readers);
    for (unsigned w = 0; w < all->n_readers; w++) {
        all->readers[w] =
            (struct jfr_events){.types = all->types,
                                .end = c->data + c->size,
                                .settings = &f->settings,
                                .get_pools = get_pools,
                                .context = all,
                                .counts = &f->workers[w].counts,
                                .tables = f->workers[w].tables,
                                .ns_per_tick = c->ticks_per_s ? 1e9 / (double)c->ticks_per_s : 1,
                                .as_recorded = f->options->jfr_as_recorded,
                                .left_out = f->left_out,
                                .n_chunk_blocks = &all->n_blocks,
                                .too_many_blocks = f->too_many_blocks};
        jfr_events_begin(&all->readers[w]);
    }
}

/* Reads the settings of the chunk and divides it into ranges, each of which begins at a record. */
static void read_settings(struct events *all)
{
    struct jfr_reading *f = all->f;
    const uint8_t *at = all->chunk->data + JFR_HEADER_BYTES, *end = all->chunk->data + all->chunk->size;
    while (at < end) {
        *VEC_PUSH(all->range_start, all->n_ranges, all->cap_ranges) = at;
        const uint8_t *until = (size_t)(end - at) > all->range_bytes ? at + all->range_bytes : end;
        at = jfr_settings_read(&all->readers[0], at, until);
        if (at < until) break;
        jfr_drop_behind(f, at, DROP_STEP_BYTES);
    }
    for (unsigned w = 0; w < all->n_readers; w++) all->readers[w].settings_known = true;
    *VEC_PUSH(all->range_start, all->n_ranges, all->cap_ranges) = at;
    all->n_ranges--;
}

static void read_range(void *context, size_t item, unsigned worker)
{
    struct events *all = context;
    (void)jfr_events_read(&all->readers[worker], all->range_start[item], all->range_start[item + 1]);
    /* The last range stays in memory: it holds the stacks and names, which are read later. */
    if (item + 1 < all->n_ranges) drop(all->f, all->range_start[item], all->range_start[item + 1]);
}

/* Returns the start of the first incomplete record, or the end of the chunk if all are complete. */
static const uint8_t *read_in_order(struct events *all)
{
    struct jfr_reading *f = all->f;
    const uint8_t *at = all->chunk->data + JFR_HEADER_BYTES, *end = all->chunk->data + all->chunk->size;
    f->dropped = all->chunk->data; /* the settings moved it forward */
    while (at < end) {
        const uint8_t *until = (size_t)(end - at) > DROP_STEP_BYTES ? at + DROP_STEP_BYTES : end;
        at = jfr_events_read(&all->readers[0], at, until);
        if (at < until) break;
        if (at < end) jfr_drop_behind(f, at, 1);
    }
    return at;
}

static const uint8_t *read_events(struct events *all, bool settings_first)
{
    const uint8_t *until;
    if (settings_first || all->n_readers > 1) read_settings(all);
    if (all->n_readers > 1) {
        parallel_for(all->n_ranges, all->n_readers, read_range, all);
        until = all->range_start[all->n_ranges];
    } else {
        until = read_in_order(all);
    }
    for (unsigned w = 0; w < all->n_readers; w++) jfr_events_end(&all->readers[w]);
    return until;
}

/* Appends the native blocks of all readers to those of the first, and returns the first. */
static struct jfr_events *join_blocks(struct events *all)
{
    struct jfr_events *first = &all->readers[0];
    for (unsigned w = 0; w < all->n_readers; w++) first->too_many_blocks |= all->readers[w].too_many_blocks;
    all->f->too_many_blocks |= first->too_many_blocks;
    for (unsigned w = 1; w < all->n_readers && !first->too_many_blocks; w++)
        for (size_t i = 0; i < all->readers[w].n_blocks; i++)
            *VEC_PUSH(first->blocks, first->n_blocks, first->cap_blocks) = all->readers[w].blocks[i];
    return first;
}

static void events_end(struct events *all)
{
    struct jfr_reading *f = all->f;
    size_t n_live_objects = 0;
    for (unsigned w = 0; w < all->n_readers; w++) {
        f->n_failed += all->readers[w].n_failed;
        n_live_objects += all->readers[w].n_live_objects;
        f->left_out_seen |= all->readers[w].left_out_seen;
        jfr_events_free(&all->readers[w]);
        jfr_counts_clear(&f->workers[w].counts);
    }
    if (n_live_objects > f->most_live_objects) f->most_live_objects = n_live_objects;
    mem_free(all->readers);
    mem_free(all->range_start);
}

static void remember_event(struct jfr_reading *f)
{
    if (!*f->settings.event) return;
    if (!*f->event) memcpy(f->event, f->settings.event, sizeof f->event);
    f->has_other_events |= strcmp(f->event, f->settings.event) != 0;
}

/* ---- the whole chunk ---- */

static void want_stacks_of(struct jfr_filter *filter, const struct events *all)
{
    size_t n = all->readers[0].n_blocks;
    for (unsigned w = 0; w < all->n_readers; w++) n += all->f->workers[w].counts.n_items;
    jfr_filter_begin(filter, n);
    for (size_t i = 0; i < all->readers[0].n_blocks; i++)
        jfr_filter_add(filter, all->readers[0].blocks[i].stack);
    for (unsigned w = 0; w < all->n_readers; w++)
        for (size_t i = 0; i < all->f->workers[w].counts.n_items; i++)
            jfr_filter_add(filter, all->f->workers[w].counts.items[i].stack);
}

/* Looks for stacks that are missing from the chunk of their events. The JDK may write an event into the next
 * chunk after it has written the stack into the pool of this one. Stack ids are unique within a recording. */
static void resolve_from_previous_chunk(struct jfr_reading *f, const struct jfr_chunk *c,
                                        struct jfr_naming *naming)
{
    struct jfr_pools pools = {0};
    struct jfr_types types = {0};
    const struct jfr_chunk *before = c->goes_on ? c - 1 : NULL;
    if (before && !before->is_open && types_by_index(before, &types)) {
        jfr_filter_begin(&pools.stacks, naming->n_without_stack);
        for (size_t i = 0; i < naming->n_without_stack; i++)
            jfr_filter_add(&pools.stacks, naming->without_stack[i].stack);
        (void)read_pools(before, &types, true, &pools);
    }
    jfr_add_without_stack(naming, &pools);
    jfr_pools_free(&pools);
    jfr_types_free(&types);
    if (before) drop(f, before->data, before->data + before->size);
}

void jfr_read_chunk(struct jfr_reading *f, const struct jfr_chunk *c, bool settings_first)
{
    struct jfr_types *types = &f->types;
    f->dropped = c->data;
    bool has_index = !c->is_open && types_by_index(c, types), is_known = has_index;
    bool is_whole = true;
    if (!is_known) is_known = types_by_walking(c, types);
    if (is_known) {
        struct events all = {.f = f, .chunk = c, .types = types, .has_index = has_index};
        events_begin(&all);
        const uint8_t *until = read_events(&all, settings_first);
        struct jfr_events *joined = join_blocks(&all);
        if (all.has_pools) jfr_pools_clear(&f->pools);
        want_stacks_of(&f->pools.stacks, &all);
        if (!read_pools(c, types, has_index, &f->pools)) has_index = false;
        struct jfr_naming naming = {.pools = &f->pools,
                                    .world = &f->world,
                                    .into = &f->counts,
                                    .settings = joined->settings_known ? &f->settings : NULL,
                                    .is_event_counted = *f->settings.event};
        remember_event(f);
        for (unsigned w = 0; w < all.n_readers; w++) jfr_weigh_allocations(&naming, &f->workers[w].counts);
        if (naming.alloc_bytes > 0 && naming.alloc_sample_bytes > 0) f->n_doubled_chunks++;
        for (unsigned w = 0; w < all.n_readers; w++) jfr_name_counts(&naming, &f->workers[w].counts);
        if (naming.n_without_stack) resolve_from_previous_chunk(f, c, &naming);
        mem_free(naming.without_stack);
        follow_blocks(f, joined->blocks, joined->n_blocks);
        f->n_cut_bytes += (size_t)(c->data + c->size - until);
        is_whole = until == c->data + c->size;
        events_end(&all);
    } else {
        f->n_lost_bytes += c->size;
    }
    if (!has_index || !is_whole) f->n_open_chunks++;
    jfr_pools_clear(&f->pools);
    jfr_programs_free(types);
    jfr_drop_behind(f, c->data + c->size, 1);
    if (!f->n_chunks++ || (int64_t)c->start_ns < f->first_start_ns) f->first_start_ns = (int64_t)c->start_ns;
    int64_t end_ns;
    if (!__builtin_add_overflow((int64_t)c->start_ns, (int64_t)c->duration_ns, &end_ns) &&
        end_ns > f->last_end_ns)
        f->last_end_ns = end_ns;
}

void jfr_reading_begin(struct jfr_reading *f, const struct format_options *options, uint32_t left_out,
                       unsigned n_workers, struct profile *into)
{
    *f = (struct jfr_reading){.options = options,
                              .world = {.p = into, .as_recorded = options->jfr_as_recorded},
                              .left_out = left_out,
                              .n_workers = n_workers};
    f->workers = mem_zalloc(n_workers * sizeof *f->workers);
    for (unsigned w = 0; w < n_workers; w++) f->workers[w].tables = jfr_event_tables_new();
    jfr_world_begin(&f->world);
}

void jfr_reading_end(struct jfr_reading *f)
{
    jfr_counts_free(&f->counts);
    jfr_pools_free(&f->pools);
    jfr_types_free(&f->types);
    for (unsigned w = 0; w < f->n_workers; w++) {
        jfr_event_tables_free(f->workers[w].tables);
        jfr_counts_free(&f->workers[w].counts);
    }
    mem_free(f->workers);
    idmap_free(&f->blocks_by_address);
    mem_free(f->live_blocks);
    jfr_world_free(&f->world);
}
