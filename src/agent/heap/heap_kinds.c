/* heap_kinds.c - the kinds heap, allocs and growth, and their control verbs, over the source in use.
 *
 * If a jemalloc with opt.prof is in the process, its own profiler is the source, because it sees every
 * allocation of its heap and costs nothing more. Otherwise our sampler is. `jemalloc=0` forbids the former,
 * `jemalloc=1` insists on it.
 *
 * jemalloc forgets what was freed unless it was started with prof_accum:true. Without that, allocs comes from
 * our sampler, where that can see the calls. The two then run side by side and are switched separately.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/heap/heap_source.h"
#include "agent/heap/jemalloc.h"
#include "agent/host/config.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* one request at a time */

/* A source, and why it is on. */
struct desk {
    const struct heap_source *source; /* NULL: not chosen yet */
    unsigned n_captures;              /* running ?seconds=N captures that found it off */
    bool was_switched_on; /* by this library; jemalloc's profiler may have been on before, for the host */
};
static struct desk heap_desk, allocs_desk;

static int switch_on(struct desk *desk, uint64_t period, struct err *err)
{
    bool was_on = desk->source->is_on();
    int status = desk->source->enable(period, err);
    if (!status && !was_on) desk->was_switched_on = true;
    return status;
}

static int switch_off(struct desk *desk, struct err *err)
{
    desk->was_switched_on = false;
    return desk->source->disable(err);
}

/* The choice is final once every object was searched for a jemalloc. Until then (the kernel refused memory
 * for the search) it may change while the source is off. */
static struct desk *desk_for_heap(void)
{
    char why[300];
    const char *wanted = config_text("jemalloc", "auto");
    bool is_in_use = heap_desk.n_captures || heap_desk.was_switched_on;
    if (heap_desk.source && (is_in_use || jemalloc_looked_everywhere())) return &heap_desk;
    bool use_jemalloc =
        !strcmp(wanted, "auto") ? heap_jemalloc.usable(why, sizeof why) : config_flag("jemalloc", true);
    heap_desk.source = use_jemalloc ? &heap_jemalloc : &heap_own;
    if (use_jemalloc) jemalloc_started();
    return &heap_desk;
}

static struct desk *desk_for_allocs(void)
{
    char why[300];
    struct desk *desk = desk_for_heap();
    if (desk->source != &heap_jemalloc || jemalloc_accumulates() || !heap_own.usable(why, sizeof why))
        return desk;
    allocs_desk.source = &heap_own;
    return &allocs_desk;
}

typedef struct desk *desk_chooser(void);

/* Reads ?rate=65536 or ?interval=64k; 0 when there is none. */
static int query_period(const struct kind_options *options, uint64_t *ret_period, struct err *err)
{
    char text[32], *end;
    *ret_period = 0;
    if (!kind_query(options->query, "interval", text, sizeof text) &&
        !kind_query(options->query, "rate", text, sizeof text))
        return 0;
    unsigned long long value = strtoull(text, &end, 10);
    unsigned shift = *end == 'k' || *end == 'K' ? 10 : *end == 'm' || *end == 'M' ? 20 : 0;
    if (end == text || (shift ? end[1] : end[0]) || value == 0 || value > 1ull << 40)
        return err_set(err, ERR_INPUT,
                       "heap: \"%s\" is no interval: give bytes between samples, 1 to 2^40 (also 64k, 1M)",
                       text);
    *ret_period = value << shift;
    return 0;
}

static void describe(struct output *o)
{
    static const struct output_type types[] = {{"alloc_objects", "count"},
                                               {"alloc_space", "bytes"},
                                               {"inuse_objects", "count"},
                                               {"inuse_space", "bytes"}};
    memcpy(o->types, types, sizeof types);
    o->n_types = 4;
    o->default_type = "inuse_space";
    o->legacy = OUTPUT_LEGACY_HEAP;
    o->period_type = (struct output_type){"space", "bytes"};
}

static int snapshot_locked(desk_chooser *desk, const struct kind_options *options, struct output *o,
                           struct err *err)
{
    describe(o);
    pthread_mutex_lock(&lock);
    const struct heap_source *source = desk()->source;
    int status = source->snapshot(options, o, err);
    if (!status && !source->is_on())
        output_comment(o, "heap profiling is off: only what was allocated while it was on can be in here");
    pthread_mutex_unlock(&lock);
    return status;
}

static int heap_snapshot(const struct kind_options *options, struct output *o, struct err *err)
{
    return snapshot_locked(desk_for_heap, options, o, err);
}

static int allocs_snapshot(const struct kind_options *options, struct output *o, struct err *err)
{
    int status = snapshot_locked(desk_for_allocs, options, o, err);
    o->default_type = "alloc_space";
    return status;
}

/* What has grown since sampling began or was reset: of all samples since then, those still in use. */
static int growth_snapshot(const struct kind_options *options, struct output *o, struct err *err)
{
    struct kind_options plain = *options;
    struct output all = {.name = o->name};
    plain.raw = false; /* the samples are needed, not a text */
    int status = snapshot_locked(desk_for_heap, &plain, &all, err);
    if (status) return status;
    o->types[0] = (struct output_type){"objects", "count"};
    o->types[1] = (struct output_type){"space", "bytes"};
    o->n_types = 2;
    o->legacy = OUTPUT_LEGACY_GROWTH;
    o->period_type = all.period_type;
    o->period = all.period;
    for (unsigned i = 0; i < output_n_samples(&all); i++) {
        const struct output_sample *s = output_sample_at(&all, i);
        const int64_t *values = output_values(&all, s);
        if (values[2] | values[3])
            output_add(o, output_pcs(&all, s), s->n_pcs, s->leaf_is_return, values + 2, NULL, 0);
    }
    for (unsigned i = 0; i < all.n_comments; i++) output_comment(o, "%s", all.comments[i]);
    o->n_lost = all.n_lost;
    output_free(&all);
    return 0;
}

/* ?seconds=N while the profiler is off: switches it on for that long. */
static int capture_start(desk_chooser *desk_for, const struct kind_options *options, struct err *err)
{
    uint64_t period;
    int status = query_period(options, &period, err);
    if (status) return status;
    pthread_mutex_lock(&lock);
    struct desk *desk = desk_for();
    if (desk->n_captures || !desk->source->is_on()) {
        status = switch_on(desk, period, err);
        if (!status) desk->n_captures++;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

static void capture_stop(desk_chooser *desk_for)
{
    pthread_mutex_lock(&lock);
    struct desk *desk = desk_for();
    if (desk->n_captures && --desk->n_captures == 0) switch_off(desk, NULL);
    pthread_mutex_unlock(&lock);
}

static int heap_capture_start(const struct kind_options *options, struct err *err)
{
    return capture_start(desk_for_heap, options, err);
}

static void heap_capture_stop(void)
{
    capture_stop(desk_for_heap);
}

static int allocs_capture_start(const struct kind_options *options, struct err *err)
{
    return capture_start(desk_for_allocs, options, err);
}

static void allocs_capture_stop(void)
{
    capture_stop(desk_for_allocs);
}

static void status_text(const struct heap_source *source, struct pages_buf *reply)
{
    char own_why[300], jemalloc_why[300];
    bool own = heap_own.usable(own_why, sizeof own_why),
         jemalloc = heap_jemalloc.usable(jemalloc_why, sizeof jemalloc_why);
    bool usable = source == &heap_own ? own : jemalloc;
    pages_buf_format(reply, "heap profiler: %s\n", !usable ? "none" : source->is_on() ? "on" : "off");
    pages_buf_format(reply, "source: %s\n", usable ? source->name : "none");
    pages_buf_format(reply, "jemalloc: %s, %s\n", jemalloc ? "usable" : "not usable", jemalloc_why);
    pages_buf_format(reply, "procprof: %s, %s\n", own ? "usable" : "not usable", own_why);
    if (usable) source->status(reply);
}

static int dump_to_file(const struct heap_source *source, struct pages_buf *reply, struct err *err)
{
    static unsigned n_dumps;
    const struct kind_options options = {.legacy = true, .raw = true, .query = ""};
    struct output o = {.name = "heap"};
    struct pages_buf text = {0};
    char path[512];
    describe(&o);
    int status = source->snapshot(&options, &o, err);
    if (status) return status;
    if (o.has_raw) {
        text = o.raw;
        o.raw = (struct pages_buf){0};
    } else if (!(status = output_merge_stacks(&o, err))) {
        status = output_write_legacy(&o, &text, err);
    }
    snprintf(path, sizeof path, "%s/procprof.%d.%u.heap", config_text("dump_dir", "/tmp"), (int)getpid(),
             ++n_dumps);
    int fd = status ? -1 : open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (!status && fd < 0) status = err_errno(err, errno, "heap: cannot create %s (set dump_dir)", path);
    for (size_t done = 0; !status && done < text.size;) {
        ssize_t n = write(fd, text.data + done, text.size - done);
        if (n <= 0 && errno != EINTR) status = err_errno(err, errno, "heap: cannot write %s", path);
        if (n > 0) done += (size_t)n;
    }
    if (fd >= 0) close(fd);
    if (!status) pages_buf_format(reply, "%s\n", path);
    pages_buf_free(&text);
    output_free(&o);
    return status;
}

static int control(desk_chooser *desk_for, const char *verb, const struct kind_options *options,
                   struct pages_buf *reply, struct err *err)
{
    uint64_t period;
    int status = query_period(options, &period, err);
    if (status) return status;
    pthread_mutex_lock(&lock);
    struct desk *desk = desk_for();
    const struct heap_source *source = desk->source;
    if (!strcmp(verb, "enable")) {
        desk->n_captures = 0; /* from now on it stays on until "disable" */
        status = switch_on(desk, period, err);
        if (!status) pages_buf_format(reply, "heap profiling is on (%s)\n", source->name);
    } else if (!strcmp(verb, "disable")) {
        desk->n_captures = 0;
        status = switch_off(desk, err);
        if (!status) pages_buf_format(reply, "heap profiling is off (%s)\n", source->name);
    } else if (!strcmp(verb, "reset")) {
        status = source->reset(period, err);
        if (!status) pages_buf_text(reply, "heap profile is empty again\n");
    } else if (!strcmp(verb, "status")) {
        status_text(source, reply);
    } else if (!strcmp(verb, "dump")) {
        status = dump_to_file(source, reply, err);
    } else if (!strcmp(verb, "dumps")) {
        jemalloc_list_dumps(reply);
    } else {
        status = err_set(err, ERR_NOT_FOUND,
                         "heap knows enable, disable, status, reset, dump and dumps, not \"%s\"", verb);
    }
    pthread_mutex_unlock(&lock);
    return status;
}

static int heap_control(const char *verb, const struct kind_options *options, struct pages_buf *reply,
                        struct err *err)
{
    return control(desk_for_heap, verb, options, reply, err);
}

static int allocs_control(const char *verb, const struct kind_options *options, struct pages_buf *reply,
                          struct err *err)
{
    return control(desk_for_allocs, verb, options, reply, err);
}

static void heap_started(void)
{
    const char *heap = config_text("heap", "off");
    long period = config_number("heap_interval", 0);
    struct err err;
    pthread_mutex_lock(&lock);
    heap_desk = allocs_desk = (struct desk){0};
    struct desk *desk = desk_for_heap();
    if (config_flag("heap", false) || !strcmp(heap, "on")) {
        if (switch_on(desk, period > 0 ? (uint64_t)period : 0, &err) && !config_flag("quiet", false))
            dprintf(STDERR_FILENO, "procprof: %s\n", err.text);
    } else if (period > 0) {
        desk->source->reset((uint64_t)period, NULL);
    }
    pthread_mutex_unlock(&lock);
}

static void heap_stopped(void)
{
    struct desk *desks[] = {&heap_desk, &allocs_desk};
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < 2; i++) {
        desks[i]->n_captures = 0;
        if (desks[i]->was_switched_on) switch_off(desks[i], NULL);
    }
    heap_own_stopped();
    pthread_mutex_unlock(&lock);
}

/* A child is not profiled, so it goes back to the plain allocator. A thread of the parent may have held
 * the lock at the fork; that thread does not exist here, so the lock is made anew. */
static void heap_forked(void)
{
    pthread_mutex_init(&lock, NULL);
    heap_own_forked();
}

static const struct kind heap_kind = {
    .name = "heap",
    .title = "memory in use, by the stack that allocated it",
    .start = heap_capture_start,
    .stop = heap_capture_stop,
    .snapshot = heap_snapshot,
    .control = heap_control,
    .agent_started = heap_started,
    .agent_stopped = heap_stopped,
    .forked = heap_forked,
};
KIND_REGISTER(heap_kind);

static const struct kind allocs_kind = {
    .name = "allocs",
    .title = "all memory allocated since sampling began, freed or not",
    .start = allocs_capture_start,
    .stop = allocs_capture_stop,
    .snapshot = allocs_snapshot,
    .control = allocs_control,
};
KIND_REGISTER(allocs_kind);

static const struct kind growth_kind = {
    .name = "growth",
    .title = "memory allocated since sampling began or was reset, and still in use",
    .start = heap_capture_start,
    .stop = heap_capture_stop,
    .snapshot = growth_snapshot,
    .control = heap_control,
};
KIND_REGISTER(growth_kind);
