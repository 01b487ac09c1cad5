/* jfr.c - reads Java Flight Recorder files of async-profiler and of the JDK into a profile. See jfr.h.
 *
 * Each kind of event has its own sample types, so one recording of CPU, allocations and locks is one profile.
 * A frame's kind (interpreted, jit, inlined, c1, native library, kernel) is the name of its mapping. Labels:
 * thread, state, class.
 *
 * A chunk that was still open (the JVM died, or the file was copied while it grew) has no index. Its records
 * are read one by one, all complete ones count, and a comment in the profile says what is missing.
 */
#include "format/jfr/jfr.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/parallel.h"

/* ---- chunks ---- */

static uint64_t be_number(const uint8_t *at, int n_bytes)
{
    uint64_t value = 0;
    while (n_bytes--) value = value << 8 | *at++;
    return value;
}

static struct jfr_chunk chunk_at(const uint8_t *data, size_t left)
{
    struct jfr_chunk c = {.data = data,
                          .pool_at = be_number(data + 16, 8),
                          .metadata_at = be_number(data + 24, 8),
                          .start_ns = be_number(data + 32, 8),
                          .duration_ns = be_number(data + 40, 8),
                          .ticks_per_s = be_number(data + 56, 8)};
    uint64_t size = be_number(data + 8, 8);
    c.is_open = size < JFR_HEADER_BYTES || size > left || c.pool_at < JFR_HEADER_BYTES || c.pool_at >= size ||
                c.metadata_at < JFR_HEADER_BYTES || c.metadata_at >= size;
    c.size = size >= JFR_HEADER_BYTES && size <= left ? (size_t)size : left;
    return c;
}

static bool is_known_version(uint64_t major)
{
    return major == 1 || major == 2;
}

/* Whether a chunk begins at this address, which may hold any bytes. */
static bool is_header(const uint8_t *at, size_t left)
{
    if (left < JFR_HEADER_BYTES || memcmp(at, "FLR", 4) || !is_known_version(be_number(at + 4, 2)))
        return false;
    const uint64_t most = (uint64_t)1 << 62; /* bytes, nanoseconds since 1970 or ticks per second */
    uint64_t size = be_number(at + 8, 8);
    struct jfr_chunk c = chunk_at(at, left);
    bool has_index = c.pool_at || c.metadata_at; /* the writer adds it when it closes the chunk */
    if (has_index && (c.pool_at >= size || c.metadata_at >= size)) return false;
    return size < most && c.start_ns < most && c.duration_ns < most && c.ticks_per_s && c.ticks_per_s < most;
}

/* Returns the next address in [at, end) where a chunk begins, or end if there is none. */
static const uint8_t *next_header(struct jfr_reading *f, const uint8_t *at, const uint8_t *end)
{
    enum { WINDOW_BYTES = 8 << 20 };
    while (end - at >= JFR_HEADER_BYTES) {
        size_t left = (size_t)(end - at), n = left < WINDOW_BYTES ? left : WINDOW_BYTES;
        const uint8_t *found = memmem(at, n, "FLR", 4);
        if (found && is_header(found, (size_t)(end - found))) return found;
        at = found ? found + 1 : at + n - 3;
        jfr_drop_behind(f, at, WINDOW_BYTES);
    }
    return end;
}

/* Sets the size of a chunk that was not closed, or that ends neither at another chunk nor at the end of the
 * file. Such a chunk extends to the next one. Concatenated recordings may be cut anywhere, and then the size
 * in the header is too large. */
static void find_end(struct jfr_reading *f, struct jfr_chunk *c, const uint8_t *end)
{
    const uint8_t *said_end = c->data + c->size;
    if (!c->is_open && (said_end == end || is_header(said_end, (size_t)(end - said_end)))) return;
    const uint8_t *next = next_header(f, c->data + 4, c->is_open ? end : said_end);
    if (!c->is_open && next == said_end) return; /* the chunk is complete and garbage follows it */
    c->is_open = true;
    c->size = (size_t)(next - c->data);
}

/* ---- building the profile ---- */

static const struct kind {
    const char *count_name, *value_name, *value_unit;
} kinds[JFR_N_KINDS] = {
    [JFR_CPU] = {"samples", "cpu", "nanoseconds"},
    [JFR_EVENT] = {"samples", NULL, "count"}, /* the value is named after the event */
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

/* Returns the kinds of events that need not be decoded if the caller uses only one sample type. */
static uint32_t kinds_left_out(const char *only_type)
{
    /* The type of an event does not always decide its kind: a sample may come from the wall clock, a park may
     * be a wait for a lock, and a block may be freed later. The names of some sample types also depend on
     * which other kinds occur. */
    static const struct {
        uint32_t asked, needed;
    } besides[] = {{1u << JFR_WALL, 1u << JFR_CPU | 1u << JFR_CPU_TIME},
                   {1u << JFR_LOCK, 1u << JFR_PARK},
                   {1u << JFR_MALLOC_LIVE, 1u << JFR_MALLOC}};
    uint32_t asked = 0;
    for (int kind = 0; only_type && kind < JFR_N_KINDS; kind++)
        if (!strcmp(only_type, kinds[kind].count_name) ||
            (kinds[kind].value_name && !strcmp(only_type, kinds[kind].value_name)))
            asked |= 1u << kind;
    if (only_type && !strcmp(only_type, "samples"))
        asked |= 1u << JFR_WALL; /* its name if no other samples occur */
    for (size_t i = 0; i < sizeof besides / sizeof *besides; i++)
        if (asked & besides[i].asked) asked |= besides[i].needed;
    return asked ? ~asked : 0;
}

static const char *value_name_of(const struct jfr_reading *f, int kind)
{
    return kind == JFR_EVENT ? f->event : kinds[kind].value_name;
}

static int64_t rounded(double value)
{
    return value >= 9.2e18 ? INT64_MAX : llround(value);
}

static void add_live_blocks(struct jfr_reading *f)
{
    if (!f->has_frees || f->too_many_blocks) return;
    for (size_t i = 0; i < f->n_live_blocks; i++) {
        const struct jfr_live_block *b = &f->live_blocks[i];
        if (b->bytes)
            jfr_count_add(&f->counts, &(struct jfr_count){.kind = JFR_MALLOC_LIVE,
                                                          .stack = b->stack,
                                                          .thread = b->thread,
                                                          .n = b->n,
                                                          .value = b->bytes});
    }
}

static void add_samples(struct jfr_reading *f, const bool *is_there, const int *first_type)
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
        if (c->kind == JFR_CPU || c->kind == JFR_EVENT || c->kind == JFR_WALL)
            values[at + 1] = c->value ? c->value : rounded(c->n * (c->kind == JFR_WALL ? wall_ns : cpu_ns));
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

static void add_notes(struct jfr_reading *f)
{
    enum { MANY_LIVE_OBJECTS = 1000 }; /* below 1024, because the garbage collector may have taken some */
    struct profile *p = f->world.p;
    char text[240], cut[60] = "";
    if (f->n_cut_bytes) snprintf(cut, sizeof cut, " (%zu bytes at hand)", f->n_cut_bytes);
    if (f->n_open_chunks) {
        snprintf(text, sizeof text,
                 "jfr: the recording was not closed or is cut (%zu of %zu chunks): their complete events are "
                 "here, what came after them%s is not",
                 f->n_open_chunks, f->n_chunks, cut);
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
    if (f->most_live_objects >= MANY_LIVE_OBJECTS) {
        snprintf(
            text, sizeof text,
            "jfr: %zu live objects are recorded; async-profiler follows 1024 at most, so there may be many "
            "more (sample more rarely to see all)",
            f->most_live_objects);
        profile_add_comment(p, text);
    }
    if (f->n_doubled_chunks)
        profile_add_comment(p, "jfr: allocations are recorded in two ways, by buffer and by sample; they are "
                               "counted once");
    if (f->has_other_events) {
        snprintf(text, sizeof text, "jfr: recordings of several events; all are in the column %s", f->event);
        profile_add_comment(p, text);
    }
    if (f->too_many_blocks)
        profile_add_comment(p, "jfr: too many native blocks to tell which are still in use");
}

static void build(struct jfr_reading *f)
{
    struct profile *p = f->world.p;
    bool is_there[JFR_N_KINDS] = {0};
    int first_type[JFR_N_KINDS], n_types = 0;
    add_live_blocks(f);
    jfr_counts_flush(&f->counts);
    for (int kind = 0; kind < JFR_N_KINDS; kind++) is_there[kind] = f->left_out_seen & 1u << kind;
    if (*f->event && is_there[JFR_CPU]) is_there[JFR_CPU] = false, is_there[JFR_EVENT] = true;
    for (size_t i = 0; i < f->counts.n_items; i++) is_there[f->counts.items[i].kind] = true;
    /* A recording without events becomes an empty CPU profile. */
    bool any = false;
    for (int kind = 0; kind < JFR_N_KINDS; kind++) any |= is_there[kind];
    if (!any) is_there[JFR_CPU] = true;
    bool has_samples = false;
    for (int kind = 0; kind < JFR_N_KINDS; kind++) {
        if (!is_there[kind]) continue;
        const struct kind *k = &kinds[kind];
        first_type[kind] = n_types;
        const char *count_name = k->count_name;
        if (kind == JFR_CPU && is_there[JFR_CPU_TIME]) /* of the two, the JDK's CPU timer is more accurate */
            profile_add_sample_type(p, "execution_samples", "count"),
                profile_add_sample_type(p, "execution", "nanoseconds");
        else {
            if (kind == JFR_WALL && !has_samples)
                count_name = "samples"; /* as in the native wall clock profile */
            if (kind == JFR_EVENT && (is_there[JFR_CPU] || is_there[JFR_CPU_TIME]))
                count_name = "event_samples"; /* the file concatenates recordings of both */
            profile_add_sample_type(p, count_name, "count");
            const char *value_name = value_name_of(f, kind);
            if (value_name) profile_add_sample_type(p, value_name, k->value_unit);
            if (kind <= JFR_CPU_TIME) has_samples = true;
        }
        n_types = (int)p->n_sample_types;
    }
    static const int default_order[] = {JFR_CPU_TIME, JFR_CPU,  JFR_EVENT,       JFR_WALL,  JFR_ALLOC,
                                        JFR_LIVE,     JFR_LOCK, JFR_NATIVE_LOCK, JFR_MALLOC};
    for (size_t i = 0; i < sizeof default_order / sizeof *default_order; i++)
        if (is_there[default_order[i]]) {
            p->default_sample_type = profile_cstr(p, value_name_of(f, default_order[i]));
            break;
        }
    add_samples(f, is_there, first_type);
    p->time_ns = f->first_start_ns > 0 ? f->first_start_ns : 0;
    p->duration_ns = f->last_end_ns > p->time_ns && p->time_ns ? f->last_end_ns - p->time_ns : 0;
    int period_kind = is_there[JFR_CPU_TIME] || is_there[JFR_CPU] ? JFR_CPU : JFR_EVENT;
    if (is_there[period_kind] || is_there[JFR_CPU_TIME]) {
        struct jfr_settings by_default = {0};
        bool is_last = (period_kind == JFR_EVENT) ==
                       (*f->settings.event != 0); /* whether the settings are of this kind */
        p->has_period_type = true;
        p->period_type = (struct value_type){profile_cstr(p, value_name_of(f, period_kind)),
                                             profile_cstr(p, kinds[period_kind].value_unit)};
        p->period = (int64_t)jfr_cpu_ns(is_last ? &f->settings : &by_default);
    }
    add_notes(f);
}

/* ---- the file ---- */

struct chunks {
    struct jfr_chunk *items;
    size_t n_items, cap_items;
    struct jfr_reading *readers; /* one per thread */
};

static void read_one(void *context, size_t item, unsigned worker)
{
    struct chunks *all = context;
    jfr_read_chunk(&all->readers[worker], &all->items[item + 1], false);
}

/* Reads several chunks at a time, each thread into a profile of its own, and then joins the profiles. Returns
 * false and changes nothing if the order of the chunks matters. It matters if the recording follows native
 * memory, which may be freed in a later chunk than it is allocated in, or if recordings with different
 * settings follow each other. */
static bool read_in_parallel(struct jfr_reading *f, struct chunks *all, unsigned n_threads)
{
    all->readers = mem_array(n_threads, sizeof *all->readers);
    for (unsigned t = 0; t < n_threads; t++)
        jfr_reading_begin(&all->readers[t], f->options, f->left_out, 1, profile_new());
    /* async-profiler writes its settings only into the first chunk, so that one is read before the others. */
    struct jfr_reading *first = &all->readers[0];
    jfr_read_chunk(first, &all->items[0], false);
    for (unsigned t = 1; t < n_threads; t++) all->readers[t].settings = first->settings;
    size_t n_changes = first->settings.n_changes;
    bool in_order = first->n_live_blocks || first->has_frees;
    if (!in_order) parallel_for(all->n_items - 1, n_threads, read_one, all);
    for (unsigned t = 0; t < n_threads; t++)
        in_order |= all->readers[t].n_live_blocks || all->readers[t].has_frees ||
                    all->readers[t].settings.n_changes != n_changes;
    for (unsigned t = 0; t < n_threads; t++) {
        struct jfr_reading *one = &all->readers[t];
        jfr_counts_flush(&one->counts);
        if (!in_order) {
            jfr_join(&f->world, &f->counts, &one->world, &one->counts);
            if (one->n_chunks && (!f->n_chunks || one->first_start_ns < f->first_start_ns))
                f->first_start_ns = one->first_start_ns;
            if (one->last_end_ns > f->last_end_ns) f->last_end_ns = one->last_end_ns;
            f->n_chunks += one->n_chunks;
            f->n_open_chunks += one->n_open_chunks;
            f->n_lost_bytes += one->n_lost_bytes;
            f->n_failed += one->n_failed;
            f->left_out_seen |= one->left_out_seen;
            f->too_many_blocks |= one->too_many_blocks;
            f->n_cut_bytes += one->n_cut_bytes;
            f->n_doubled_chunks += one->n_doubled_chunks;
            if (one->most_live_objects > f->most_live_objects) f->most_live_objects = one->most_live_objects;
            memcpy(f->event, one->event, sizeof f->event); /* the same in all readers */
        }
        struct profile *p = one->world.p;
        jfr_reading_end(one);
        profile_free(p);
    }
    if (!in_order) f->settings = first->settings;
    mem_free(all->readers);
    return !in_order;
}

/* Lists the chunks of the file. */
static int find_chunks(struct jfr_reading *f, const uint8_t *bytes, size_t len, struct chunks *all,
                       struct err *err)
{
    enum { DROP_EVERY_BYTES = 64 << 20 };
    const uint8_t *end = bytes + len;
    f->dropped = bytes;
    for (const uint8_t *at = bytes; end - at >= JFR_HEADER_BYTES;) {
        if (memcmp(at, "FLR", 4)) { /* the rest of a chunk that was cut; skip to the next one */
            const uint8_t *next = next_header(f, at, end);
            f->n_lost_bytes += (size_t)(next - at);
            at = next;
            continue;
        }
        uint64_t major = be_number(at + 4, 2);
        if (!is_known_version(major)) {
            if (at == bytes)
                return err_set(err, ERR_UNSUPPORTED,
                               "JFR version %u; versions 1 and 2 (JDK 9 and later) can be read",
                               (unsigned)major);
            f->n_lost_bytes += (size_t)(end - at);
            break;
        }
        struct jfr_chunk c = chunk_at(at, (size_t)(end - at));
        find_end(f, &c, end);
        if (c.size < JFR_HEADER_BYTES) { /* cut in its header */
            f->n_lost_bytes += c.size;
            at += c.size;
            continue;
        }
        const struct jfr_chunk *before = all->n_items ? &all->items[all->n_items - 1] : NULL;
        c.goes_on = before && c.start_ns == before->start_ns + before->duration_ns;
        *VEC_PUSH(all->items, all->n_items, all->cap_items) = c;
        at += c.size;
        jfr_drop_behind(f, at, DROP_EVERY_BYTES); /* reading a header may map two megabytes around it */
    }
    f->dropped = bytes;
    return 0;
}

/* Whether chunks are small enough to be the unit of work of a thread. Otherwise one chunk is most of the
 * file, and threads share its ranges. */
static bool has_chunks_for_all(const struct chunks *all, size_t len, unsigned n_threads)
{
    size_t largest = 0;
    for (size_t i = 0; i < all->n_items; i++)
        if (all->items[i].size > largest) largest = all->items[i].size;
    return largest <= len / n_threads / 2;
}

static int read_kinds(const uint8_t *data, size_t len, const struct format_options *options,
                      uint32_t left_out, struct profile *into, bool *ret_any, struct err *err)
{
    enum { WORTH_THREADS_BYTES = 8 << 20, MAX_THREADS = 8 };
    unsigned n_threads = options->jfr_range_bytes ? 2 : len < WORTH_THREADS_BYTES ? 1 : parallel_width();
    if (n_threads > MAX_THREADS) n_threads = MAX_THREADS;
    struct jfr_reading f;
    struct chunks all = {0};
    jfr_reading_begin(&f, options, left_out, n_threads, into);
    int rc = find_chunks(&f, data, len, &all, err);
    if (rc == 0) {
        if (n_threads < 2 || !has_chunks_for_all(&all, len, n_threads) ||
            !read_in_parallel(&f, &all, n_threads))
            for (size_t i = 0; i < all.n_items; i++) jfr_read_chunk(&f, &all.items[i], all.n_items > 1);
        jfr_counts_flush(&f.counts);
        *ret_any = f.counts.n_items;
        if (*ret_any || !left_out) build(&f);
    }
    mem_free(all.items);
    jfr_reading_end(&f);
    return rc;
}

static int read_jfr(const void *data, size_t len, const struct format_options *options, struct profile *into,
                    struct err *err)
{
    if (len < 4 || memcmp(data, "FLR", 4)) return FORMAT_NOT_MINE;
    if (len < JFR_HEADER_BYTES)
        return err_set(err, ERR_INPUT, "a JFR recording that ends in its first header");
    uint32_t left_out = kinds_left_out(options->only_type);
    bool any;
    int rc = read_kinds(data, len, options, left_out, into, &any, err);
    /* The recording has nothing of the sample type wanted. Read all kinds, so that the caller can list what
     * exists. */
    if (rc == 0 && left_out && !any) rc = read_kinds(data, len, options, 0, into, &any, err);
    return rc;
}

const struct format_reader format_jfr = {"jfr", read_jfr};
