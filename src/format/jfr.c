/* jfr.c - Java Flight Recorder files, of async-profiler and of the JDK: chunks in, a profile out. See jfr.h.
 *
 * Each kind of event has its own sample types, so one recording of CPU, allocations and locks is one profile.
 * A frame's kind (interpreted, jit, inlined, c1, native library, kernel) is the name of its mapping. Labels:
 * thread, state, class.
 *
 * A chunk that was still open (the JVM died, the file was copied while it grew) has no index: its records are
 * walked one by one, all complete ones count, and a comment in the profile says what is missing.
 */
#include "format/jfr.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/mem.h"
#include "base/parallel.h"

enum { HEADER_BYTES = 68, MAX_LIVE_BLOCKS = 8 << 20, DROP_STEP_BYTES = 8 << 20 };

struct live_block {
    uint32_t stack, thread;
    double n;
    int64_t bytes;
};

struct reading {
    const struct format_options *options;
    struct jfr_world world;
    struct jfr_counts counts; /* by what the profile calls them; class_id and state are strings */
    struct jfr_pools pools;   /* of the chunk at hand */
    struct jfr_lately *lately;
    struct jfr_settings settings;
    struct idmap blocks_by_address; /* -> live_blocks */
    struct live_block *live_blocks;
    size_t n_live_blocks, cap_live_blocks;
    bool has_frees, too_many_blocks;
    int64_t first_start_ns, last_end_ns;
    uint32_t left_out, met; /* as jfr_events has them */
    size_t n_chunks, n_open_chunks, n_lost_bytes, n_failed, n_cut_records;
    const uint8_t *dropped; /* pages before this are given back already */
};

struct chunk {
    const uint8_t *data;
    size_t size;
    uint64_t pool_at, metadata_at, start_ns, duration_ns, ticks_per_s;
    bool is_open; /* not closed by its writer, or cut */
};

/* ---- one chunk ---- */

static uint64_t be_number(const uint8_t *at, int n_bytes)
{
    uint64_t value = 0;
    while (n_bytes--) value = value << 8 | *at++;
    return value;
}

static struct chunk chunk_at(const uint8_t *data, size_t left)
{
    struct chunk c = {.data = data,
                      .pool_at = be_number(data + 16, 8),
                      .metadata_at = be_number(data + 24, 8),
                      .start_ns = be_number(data + 32, 8),
                      .duration_ns = be_number(data + 40, 8),
                      .ticks_per_s = be_number(data + 56, 8)};
    uint64_t size = be_number(data + 8, 8);
    c.is_open = size < HEADER_BYTES || size > left || c.pool_at < HEADER_BYTES || c.pool_at >= size ||
                c.metadata_at < HEADER_BYTES || c.metadata_at >= size;
    c.size = size >= HEADER_BYTES && size <= left ? (size_t)size : left;
    return c;
}

static struct rd records_of(const struct chunk *c)
{
    return rd_over(c->data + HEADER_BYTES, c->size - HEADER_BYTES);
}

static bool record_at(const struct chunk *c, uint64_t offset, uint64_t want_type, struct rd *ret_record)
{
    struct rd r = rd_over(c->data + offset, c->size - (size_t)offset);
    uint64_t type;
    return jfr_next_record(&r, &type, ret_record) && type == want_type;
}

static bool read_by_index(const struct chunk *c, struct jfr_types *types, struct jfr_pools *pools)
{
    struct rd record;
    if (!record_at(c, c->metadata_at, 0, &record) || !jfr_types_read(types, record)) return false;
    jfr_pools_begin(pools, types, c->data + c->size);
    for (uint64_t at = c->pool_at;;) {
        int64_t delta;
        if (!record_at(c, at, 1, &record) || !jfr_pools_read(pools, record, &delta)) return false;
        if (delta >= 0) return true; /* the first one: each points back to the one before it */
        if (-(uint64_t)delta > at - HEADER_BYTES) return false;
        at -= -(uint64_t)delta;
    }
}

/* Without an index: the last description that is there, and all pools. */
static bool read_by_walking(const struct chunk *c, struct jfr_types *types, struct jfr_pools *pools)
{
    struct rd r = records_of(c), record;
    uint64_t type;
    bool found = false;
    while (!found && jfr_next_record(&r, &type, &record)) {
        if (type != 0) continue;
        if (!(found = jfr_types_read(types, record))) jfr_types_free(types);
    }
    if (!found) return false;
    jfr_pools_begin(pools, types, c->data + c->size);
    for (r = records_of(c); jfr_next_record(&r, &type, &record);) {
        int64_t delta;
        if (type == 1) (void)jfr_pools_read(pools, record, &delta);
    }
    return true;
}

/* The bytes behind us are not needed in memory any more: a recording of many gigabytes is read in little. */
static void drop_behind(struct reading *f, const uint8_t *until, size_t at_least_bytes)
{
    enum { PAGE = 4096 };
    if (!f->options->is_file_mapping || until < f->dropped + at_least_bytes) return;
    uintptr_t from = ((uintptr_t)f->dropped + PAGE - 1) / PAGE * PAGE, to = (uintptr_t)until / PAGE * PAGE;
    if (to > from) madvise((void *)from, to - from, MADV_DONTNEED);
    f->dropped = until;
}

static int compare_blocks(const void *a, const void *b)
{
    const struct jfr_block *x = a, *y = b;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes; /* freed, then given out again */
}

/* Native blocks in the order of time: what is freed is not live. */
static void follow_blocks(struct reading *f, struct jfr_events *e, struct jfr_pools *pools)
{
    if (f->too_many_blocks || !e->n_blocks) return;
    qsort(e->blocks, e->n_blocks, sizeof *e->blocks, compare_blocks);
    for (size_t i = 0; i < e->n_blocks; i++) {
        const struct jfr_block *b = &e->blocks[i];
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
            (struct live_block){jfr_pool_stack(pools, &f->world, b->stack),
                                jfr_pool_thread(pools, &f->world, b->thread), b->n, b->bytes};
    }
}

/* false: a record is not whole, and what is behind it was not read. */
static bool walk(struct reading *f, const struct chunk *c, struct jfr_events *e,
                 const uint8_t *(*read)(struct jfr_events *e, const uint8_t *at, const uint8_t *until))
{
    const uint8_t *at = c->data + HEADER_BYTES, *end = c->data + c->size;
    f->dropped = c->data;
    while (at < end) {
        const uint8_t *until = (size_t)(end - at) > DROP_STEP_BYTES ? at + DROP_STEP_BYTES : end;
        at = read(e, at, until);
        if (at < until) return false;
        if (at < end) drop_behind(f, at, 1); /* stacks and names are at the end, and are needed still */
    }
    return true;
}

static void read_chunk(struct reading *f, const struct chunk *c, bool settings_first)
{
    struct jfr_types types = {0};
    struct jfr_pools *pools = &f->pools;
    bool is_known = false;
    f->dropped = c->data;
    if (!c->is_open) {
        is_known = read_by_index(c, &types, pools);
        if (!is_known) {
            jfr_pools_clear(pools);
            jfr_types_free(&types);
        }
    }
    if (!is_known) {
        f->n_open_chunks++;
        is_known = read_by_walking(c, &types, pools);
    }
    if (!is_known) {
        f->n_lost_bytes += c->size;
    } else {
        struct jfr_events e = {.types = &types,
                               .pools = pools,
                               .settings = &f->settings,
                               .world = &f->world,
                               .counts = &f->counts,
                               .lately = f->lately,
                               .ns_per_tick = c->ticks_per_s ? 1e9 / (double)c->ticks_per_s : 1,
                               .as_recorded = f->options->jfr_as_recorded,
                               .left_out = f->left_out,
                               .too_many_blocks = f->too_many_blocks};
        jfr_events_begin(&e);
        if (settings_first) {
            (void)walk(f, c, &e, jfr_settings_read);
            e.settings_known = true;
        }
        if (!walk(f, c, &e, jfr_events_read)) f->n_cut_records++;
        jfr_events_end(&e);
        f->too_many_blocks |= e.too_many_blocks;
        follow_blocks(f, &e, pools);
        f->n_failed += e.n_failed;
        f->met |= e.met;
        jfr_events_free(&e);
    }
    jfr_pools_clear(pools);
    jfr_types_free(&types);
    drop_behind(f, c->data + c->size, 1);
    if (!f->n_chunks++ || (int64_t)c->start_ns < f->first_start_ns) f->first_start_ns = (int64_t)c->start_ns;
    int64_t end_ns;
    if (!__builtin_add_overflow((int64_t)c->start_ns, (int64_t)c->duration_ns, &end_ns) &&
        end_ns > f->last_end_ns)
        f->last_end_ns = end_ns;
}

/* ---- all of it as a profile ---- */

static const struct kind {
    const char *count_name, *value_name, *value_unit;
} kinds[JFR_N_KINDS] = {
    [JFR_CPU] = {"samples", "cpu", "nanoseconds"},
    [JFR_CPU_TIME] = {"samples", "cpu", "nanoseconds"},
    [JFR_NATIVE] = {"native_samples", NULL, NULL},
    [JFR_WALL] = {"wall_samples", "wall", "nanoseconds"},
    [JFR_ALLOC] = {"alloc_objects", "alloc_space", "bytes"},
    [JFR_LIVE] = {"inuse_objects", "inuse_space", "bytes"},
    [JFR_LOCK] = {"contentions", "delay", "nanoseconds"},
    [JFR_PARK] = {"parks", "park", "nanoseconds"},
    [JFR_NATIVE_LOCK] = {"native_contentions", "native_delay", "nanoseconds"},
    [JFR_MALLOC] = {"malloc_objects", "malloc_space", "bytes"},
    [JFR_MALLOC_LIVE] = {"malloc_inuse_objects", "malloc_inuse_space", "bytes"},
};

/* Which kinds of events need not be decoded when only one sample type will be looked at. Kinds that an event
 * alone does not tell (a sample may be of the wall clock, a park may be a lock, a block may be freed) are
 * always decoded. */
static uint32_t kinds_left_out(const char *only_type)
{
    const uint32_t may_be = 1u << JFR_CPU_TIME | 1u << JFR_NATIVE | 1u << JFR_WALL | 1u << JFR_ALLOC |
                            1u << JFR_LIVE | 1u << JFR_LOCK | 1u << JFR_NATIVE_LOCK;
    uint32_t asked = 0;
    for (int kind = 0; only_type && kind < JFR_N_KINDS; kind++)
        if (!strcmp(only_type, kinds[kind].count_name) ||
            (kinds[kind].value_name && !strcmp(only_type, kinds[kind].value_name)))
            asked |= 1u << kind;
    if (only_type && !strcmp(only_type, "samples")) asked |= 1u << JFR_WALL; /* named so when it is alone */
    return asked ? may_be & ~asked : 0;
}

static int64_t rounded(double value)
{
    return value >= 9.2e18 ? INT64_MAX : llround(value);
}

static void add_live_blocks(struct reading *f)
{
    if (!f->has_frees || f->too_many_blocks) return;
    for (size_t i = 0; i < f->n_live_blocks; i++) {
        const struct live_block *b = &f->live_blocks[i];
        if (b->bytes)
            jfr_count_add(&f->counts, &(struct jfr_count){.kind = JFR_MALLOC_LIVE,
                                                          .stack = b->stack,
                                                          .thread = b->thread,
                                                          .n = b->n,
                                                          .value = b->bytes});
    }
}

static void add_samples(struct reading *f, const bool *is_there, const int *first_type)
{
    struct profile *p = f->world.p;
    const uint32_t key_thread = profile_cstr(p, "thread"), key_state = profile_cstr(p, "state"),
                   key_class = profile_cstr(p, "class");
    double cpu_ns = jfr_cpu_ns(&f->settings), wall_ns = jfr_wall_ns(&f->settings);
    int64_t values[2 * JFR_N_KINDS];
    for (size_t i = 0; i < f->counts.n_items; i++) {
        const struct jfr_count *c = &f->counts.items[i];
        if (!is_there[c->kind]) continue;
        int at = first_type[c->kind];
        memset(values, 0, sizeof values);
        values[at] = rounded(c->n);
        if (c->kind == JFR_CPU || c->kind == JFR_WALL)
            values[at + 1] = c->value ? c->value : rounded(c->n * (c->kind == JFR_CPU ? cpu_ns : wall_ns));
        else if (kinds[c->kind].value_name)
            values[at + 1] = c->value;
        uint64_t start = f->world.stack_start[c->stack];
        profile_add_sample(p, f->world.stack_frames + start,
                           (size_t)(f->world.stack_start[c->stack + 1] - start), values);
        if (c->thread) profile_add_label_str(p, key_thread, (uint32_t)c->thread);
        if (c->state) profile_add_label_str(p, key_state, c->state);
        if (c->class_id) profile_add_label_str(p, key_class, (uint32_t)c->class_id);
    }
}

static void add_notes(struct reading *f)
{
    struct profile *p = f->world.p;
    char text[200];
    if (f->n_open_chunks || f->n_cut_records) {
        snprintf(text, sizeof text,
                 "jfr: the recording was not closed or is cut: all complete events are here, what came after "
                 "is not");
        profile_add_comment(p, text);
    }
    if (f->n_lost_bytes) {
        snprintf(text, sizeof text, "jfr: %zu bytes could not be understood and are left out",
                 f->n_lost_bytes);
        profile_add_comment(p, text);
    }
    if (f->world.n_unresolved) {
        snprintf(text, sizeof text, "jfr: %zu stacks or methods have no names in the recording",
                 f->world.n_unresolved);
        profile_add_comment(p, text);
    }
    if (f->world.n_truncated) {
        snprintf(text, sizeof text,
                 "jfr: %zu distinct stacks are deeper than was recorded; their roots are missing",
                 f->world.n_truncated);
        profile_add_comment(p, text);
    }
    if (f->n_failed) {
        snprintf(text, sizeof text, "jfr: %zu CPU time samples have no stack: the JVM could not walk it",
                 f->n_failed);
        profile_add_comment(p, text);
    }
    if (f->too_many_blocks)
        profile_add_comment(p, "jfr: too many native blocks to tell which are still in use");
}

static void build(struct reading *f)
{
    struct profile *p = f->world.p;
    bool is_there[JFR_N_KINDS] = {0};
    int first_type[JFR_N_KINDS], n_types = 0;
    add_live_blocks(f);
    jfr_counts_settle(&f->counts);
    for (int kind = 0; kind < JFR_N_KINDS; kind++) is_there[kind] = f->met & 1u << kind;
    for (size_t i = 0; i < f->counts.n_items; i++) is_there[f->counts.items[i].kind] = true;
    /* Nothing recorded: still a CPU profile, an empty one. */
    bool any = false;
    for (int kind = 0; kind < JFR_N_KINDS; kind++) any |= is_there[kind];
    if (!any) is_there[JFR_CPU] = true;
    bool has_samples = false;
    for (int kind = 0; kind < JFR_N_KINDS; kind++) {
        if (!is_there[kind]) continue;
        const struct kind *k = &kinds[kind];
        first_type[kind] = n_types;
        const char *count_name = k->count_name;
        if (kind == JFR_CPU && is_there[JFR_CPU_TIME]) /* both: the JDK's CPU timer is the truer one */
            profile_add_sample_type(p, "execution_samples", "count"),
                profile_add_sample_type(p, "execution", "nanoseconds");
        else {
            if (kind == JFR_WALL && !has_samples)
                count_name = "samples"; /* as the native wall clock profile has it */
            profile_add_sample_type(p, count_name, "count");
            if (k->value_name) profile_add_sample_type(p, k->value_name, k->value_unit);
            if (kind <= JFR_CPU_TIME) has_samples = true;
        }
        n_types = (int)p->n_sample_types;
    }
    static const int default_order[] = {JFR_CPU_TIME, JFR_CPU,  JFR_WALL,        JFR_ALLOC,
                                        JFR_LIVE,     JFR_LOCK, JFR_NATIVE_LOCK, JFR_MALLOC};
    for (size_t i = 0; i < sizeof default_order / sizeof *default_order; i++)
        if (is_there[default_order[i]]) {
            p->default_sample_type = profile_cstr(p, kinds[default_order[i]].value_name);
            break;
        }
    add_samples(f, is_there, first_type);
    p->time_ns = f->first_start_ns > 0 ? f->first_start_ns : 0;
    p->duration_ns = f->last_end_ns > p->time_ns && p->time_ns ? f->last_end_ns - p->time_ns : 0;
    if (is_there[JFR_CPU] || is_there[JFR_CPU_TIME]) {
        p->has_period_type = true;
        p->period_type = (struct value_type){profile_cstr(p, "cpu"), profile_cstr(p, "nanoseconds")};
        p->period = f->settings.cpu_ns > 0 ? (int64_t)f->settings.cpu_ns : 10000000;
    }
    add_notes(f);
}

/* ---- the file ---- */

static void reading_begin(struct reading *f, const struct format_options *options, struct profile *into)
{
    *f = (struct reading){.options = options, .world = {.p = into, .as_recorded = options->jfr_as_recorded}};
    f->left_out = kinds_left_out(options->only_type);
    f->lately = jfr_lately_new();
    jfr_world_begin(&f->world);
}

static void reading_end(struct reading *f)
{
    jfr_counts_free(&f->counts);
    jfr_pools_free(&f->pools);
    jfr_lately_free(f->lately);
    idmap_free(&f->blocks_by_address);
    mem_free(f->live_blocks);
    jfr_world_free(&f->world);
}

struct chunks {
    struct chunk *items;
    size_t n_items, cap_items;
    struct reading *readers; /* one a thread */
};

static void read_one(void *context, size_t item, unsigned worker)
{
    struct chunks *all = context;
    read_chunk(&all->readers[worker], &all->items[item + 1], false);
}

/* Several chunks at a time, each thread into a profile of its own; then all into the first. false, and
 * nothing is changed, when the order of the chunks matters: native memory is freed in a later one than it is
 * taken in, or recordings with other settings follow each other. */
static bool read_in_parallel(struct reading *f, struct chunks *all, unsigned n_threads)
{
    all->readers = mem_array(n_threads, sizeof *all->readers);
    for (unsigned t = 0; t < n_threads; t++) reading_begin(&all->readers[t], f->options, profile_new());
    /* async-profiler tells its settings in the first chunk only. */
    struct reading *first = &all->readers[0];
    read_chunk(first, &all->items[0], false);
    for (unsigned t = 1; t < n_threads; t++) all->readers[t].settings = first->settings;
    size_t n_changes = first->settings.n_changes;
    bool in_order = first->n_live_blocks || first->has_frees;
    if (!in_order) parallel_for(all->n_items - 1, n_threads, read_one, all);
    for (unsigned t = 0; t < n_threads; t++)
        in_order |= all->readers[t].n_live_blocks || all->readers[t].has_frees ||
                    all->readers[t].settings.n_changes != n_changes;
    for (unsigned t = 0; t < n_threads; t++) {
        struct reading *one = &all->readers[t];
        jfr_counts_settle(&one->counts);
        if (!in_order) {
            jfr_join(&f->world, &f->counts, &one->world, &one->counts);
            if (one->n_chunks && (!f->n_chunks || one->first_start_ns < f->first_start_ns))
                f->first_start_ns = one->first_start_ns;
            if (one->last_end_ns > f->last_end_ns) f->last_end_ns = one->last_end_ns;
            f->n_chunks += one->n_chunks;
            f->n_open_chunks += one->n_open_chunks;
            f->n_lost_bytes += one->n_lost_bytes;
            f->n_failed += one->n_failed;
            f->met |= one->met;
            f->too_many_blocks |= one->too_many_blocks;
            f->n_cut_records += one->n_cut_records;
        }
        struct profile *p = one->world.p;
        reading_end(one);
        profile_free(p);
    }
    if (!in_order) f->settings = first->settings;
    mem_free(all->readers);
    return !in_order;
}

/* Where the chunks are. */
static int find_chunks(struct reading *f, const uint8_t *bytes, size_t len, struct chunks *all,
                       struct err *err)
{
    enum { DROP_EVERY_BYTES = 64 << 20 };
    const uint8_t *end = bytes + len;
    f->dropped = bytes;
    for (const uint8_t *at = bytes; end - at >= HEADER_BYTES;) {
        if (memcmp(at, "FLR", 4)) { /* what is left of a chunk that was cut: on to the next one */
            const uint8_t *next = memmem(at, (size_t)(end - at), "FLR\0\0", 5);
            f->n_lost_bytes += (size_t)((next ? next : end) - at);
            if (!next) break;
            at = next;
            continue;
        }
        uint64_t major = be_number(at + 4, 2);
        if (major != 2 && major != 1) {
            if (at == bytes)
                return err_set(err, ERR_UNSUPPORTED,
                               "JFR version %u; versions 1 and 2 (JDK 9 and later) can be read",
                               (unsigned)major);
            f->n_lost_bytes += (size_t)(end - at);
            break;
        }
        struct chunk c = chunk_at(at, (size_t)(end - at));
        *VEC_PUSH(all->items, all->n_items, all->cap_items) = c;
        at += c.size;
        drop_behind(f, at, DROP_EVERY_BYTES); /* a header touched may have mapped two megabytes around it */
    }
    f->dropped = bytes;
    return 0;
}

static int read_jfr(const void *data, size_t len, const struct format_options *options, struct profile *into,
                    struct err *err)
{
    enum { WORTH_THREADS_BYTES = 8 << 20, MAX_THREADS = 8 };
    if (len < 4 || memcmp(data, "FLR", 4)) return FORMAT_NOT_MINE;
    if (len < HEADER_BYTES) return err_set(err, ERR_INPUT, "a JFR recording that ends in its first header");
    struct reading f;
    struct chunks all = {0};
    reading_begin(&f, options, into);
    int rc = find_chunks(&f, data, len, &all, err);
    if (rc == 0) {
        unsigned n_threads = len < WORTH_THREADS_BYTES || all.n_items < 4 ? 1 : parallel_width();
        if (n_threads > MAX_THREADS) n_threads = MAX_THREADS;
        if (n_threads < 2 || !read_in_parallel(&f, &all, n_threads))
            for (size_t i = 0; i < all.n_items; i++) read_chunk(&f, &all.items[i], all.n_items > 1);
        build(&f);
    }
    mem_free(all.items);
    reading_end(&f);
    return rc;
}

const struct format_reader format_jfr = {"jfr", read_jfr};
