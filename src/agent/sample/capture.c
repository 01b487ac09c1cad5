/* capture.c - see capture.h. */
#include "agent/sample/capture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "agent/host/config.h"
#include "agent/host/pages.h"
#include "agent/host/profsignal.h"
#include "agent/hot/raw_clock.h"
#include "agent/hot/unwind.h"
#include "agent/sample/labels.h"
#include "agent/unwind/tables.h"

#define TICK_NS    20000000
#define PATIENCE_S 10.0 /* how long a caller waits for a running capture that does not fit */
#define JOIN_S                                                                                               \
    600.0 /* a capture older than this takes no new readers, so that its table is emptied some time */

#define TABLE_SLOTS 131072u
#define TABLE_WORDS ((uint64_t)8 << 20)
#define PCS_BYTES   (CAPTURE_MAX_THREADS * UNWIND_MAX_FRAMES * sizeof(uintptr_t))

/* ---- memory */

int capture_begin(struct capture *c, unsigned which, struct err *err)
{
    *c = (struct capture){.which = which};
    int status = tables_hold(err);
    if (status) return status;
    c->signal_number = profsignal_take(err);
    if (c->signal_number < 0) {
        tables_release();
        return c->signal_number;
    }
    c->table_bytes = stack_table_bytes(TABLE_SLOTS, TABLE_WORDS, SAMPLER_N_COUNTERS);
    void *memory = pages_map(c->table_bytes);
    c->counts = pages_map(CAPTURE_MAX_THREADS * sizeof *c->counts);
    c->threads = pages_map(CAPTURE_MAX_THREADS * sizeof *c->threads);
    c->index_of = pages_map(THREADS_MAX_TIDS * sizeof *c->index_of);
    c->name_of = pages_map(THREADS_MAX_TIDS * sizeof *c->name_of);
    c->pcs = pages_map(PCS_BYTES);
    if (!memory || !c->counts || !c->threads || !c->pcs || !c->index_of || !c->name_of) {
        tables_release();
        pages_unmap(memory, c->table_bytes);
        capture_free(c);
        return err_set(err, ERR_LIMIT, "no memory for a capture");
    }
    c->table = stack_table_init(memory, TABLE_SLOTS, TABLE_WORDS, SAMPLER_N_COUNTERS);
    struct sampler *s = &sampler_of[which];
    long frames = config_number("frames", UNWIND_MAX_FRAMES);
    s->max_frames = frames >= 1 && frames < UNWIND_MAX_FRAMES ? (uint32_t)frames : UNWIND_MAX_FRAMES;
    s->threads = c->counts;
    s->pcs = c->pcs;
    s->n_threads = CAPTURE_MAX_THREADS;
    atomic_store(&s->n_incomplete, 0);
    atomic_store(&s->n_lost, 0);
    atomic_store(&s->n_no_stack, 0);
    atomic_store(&s->table, c->table);
    return 0;
}

void capture_end(struct capture *c)
{
    atomic_store(&sampler_of[c->which].table, NULL);
    /* Handlers, and threads that end, write into the table and the counts while they are inside
     * sampler_epoch. One of them may stay inside: a debugger stopped its handler, or it gets no CPU. Freed
     * memory under it would be written to later, so the memory is kept then. */
    c->is_kept = !epoch_drain(&sampler_epoch, 2000);
    tables_release();
}

bool capture_free(struct capture *c)
{
    if (c->is_kept) return false;
    pages_unmap(c->table, c->table_bytes);
    pages_unmap(c->counts, CAPTURE_MAX_THREADS * sizeof *c->counts);
    pages_unmap(c->pcs, PCS_BYTES);
    pages_unmap(c->threads, CAPTURE_MAX_THREADS * sizeof *c->threads);
    pages_unmap(c->index_of, THREADS_MAX_TIDS * sizeof *c->index_of);
    pages_unmap(c->name_of, THREADS_MAX_TIDS * sizeof *c->name_of);
    pages_buf_free(&c->names);
    *c = (struct capture){0};
    return true;
}

/* ---- threads */

int64_t capture_thread_find(const struct capture *c, uint32_t tid)
{
    return tid < THREADS_MAX_TIDS ? (int64_t)c->index_of[tid] - 1 : -1;
}

int64_t capture_thread_add(struct capture *c, uint32_t tid)
{
    uint32_t i = c->first_free;
    while (i < c->n_threads && c->threads[i].used) i++;
    if (i == CAPTURE_MAX_THREADS || tid >= THREADS_MAX_TIDS) return -1;
    if (i == c->n_threads) c->n_threads++;
    c->first_free = i + 1;
    struct capture_thread *t = &c->threads[i];
    /* The thread that had this entry before may still store into the atomic members as it ends, so the entry
     * is not assigned as a whole: these three are stored one by one. */
    atomic_store(&t->is_free, false);
    atomic_store(&t->has_ended, false);
    atomic_store(&t->end_cpu_ns, 0);
    t->used = t->seen = true;
    t->has_timer = t->is_refused = false;
    t->event = (struct cpu_event){.fd = -1};
    t->n_before = t->seemed_n_samples = 0;
    t->seemed_cpu_ns = t->begin_cpu_ns = t->last_cpu_ns = 0;
    c->counts[i].tid = tid;
    atomic_store(&c->counts[i].rests, true);
    atomic_store(&c->counts[i].n_samples, 0);
    atomic_store(&c->counts[i].last_stack, STACK_NONE);
    c->index_of[tid] = i + 1;
    threads_name(tid, c->threads[i].name);
    struct threads_status status;
    threads_status(tid, c->status_text, &status);
    c->threads[i].blocked = status.blocked;
    if (status.has_filter) tables_filter_seen();
    return i;
}

static void remember_name(struct capture *c, uint32_t tid, const char *name)
{
    struct capture_name n = {.tid = tid};
    memcpy(n.name, name, sizeof n.name);
    size_t count = c->names.size / sizeof n;
    if (count >= 65536) return;
    pages_buf_bytes(&c->names, &n, sizeof n);
    if (!c->names.failed) c->name_of[tid] = (uint32_t)count + 1;
}

void capture_thread_remove(struct capture *c, uint32_t index)
{
    uint32_t tid = c->counts[index].tid;
    if (atomic_load(&c->counts[index].n_samples)) remember_name(c, tid, c->threads[index].name);
    c->threads[index].used = false;
    c->index_of[tid] = 0;
    if (index < c->first_free) c->first_free = index;
}

static const char *name_of(const struct capture *c, uint32_t tid)
{
    int64_t i = capture_thread_find(c, tid);
    if (i >= 0) return c->threads[i].name;
    if (tid >= THREADS_MAX_TIDS || !c->name_of[tid]) return "";
    return ((const struct capture_name *)(const void *)c->names.data)[c->name_of[tid] - 1].name;
}

/* ---- marks and output */

static const char *state_name(enum sampler_state state)
{
    return state == SAMPLER_RUNNING ? "running" : state == SAMPLER_SLEEPING ? "sleeping" : "waiting";
}

struct capture_mark *capture_mark(const struct capture *c)
{
    const struct stack_table *t = c->table;
    size_t n_bytes = sizeof(struct capture_mark) + (size_t)t->n_slots * t->n_counters * sizeof(int64_t);
    struct capture_mark *mark = pages_map(n_bytes);
    if (!mark) return NULL;
    mark->n_bytes = n_bytes;
    for (uint32_t id = 0; id < t->n_slots; id++)
        for (uint32_t k = 0; k < t->n_counters; k++) {
            int64_t value = stack_table_value(t, id, k);
            if (value) mark->values[(size_t)id * t->n_counters + k] = value; /* zero is there already */
        }
    return mark;
}

void capture_mark_free(struct capture_mark *mark)
{
    if (mark) pages_unmap(mark, mark->n_bytes);
}

/* A tally may have shrunk since the mark: samples that were missing then have come. */
void capture_tallies_since(uint64_t *tallies, unsigned n, const struct capture_mark *since)
{
    for (unsigned i = 0; since && i < n; i++)
        tallies[i] -= since->tallies[i] < tallies[i] ? since->tallies[i] : tallies[i];
}

static int64_t value_since(const struct stack_table *t, uint32_t id, uint32_t counter,
                           const struct capture_mark *since)
{
    return stack_table_value(t, id, counter) -
           (since ? since->values[(size_t)id * t->n_counters + counter] : 0);
}

void capture_output(struct capture *c, const struct capture_mark *since, bool with_state, struct output *o)
{
    for (uint32_t i = 0; i < c->n_threads;
         i++) /* names change, and the last one is the one that users know */
        if (c->threads[i].used) {
            char name[THREAD_NAME_BYTES];
            if (threads_name(c->counts[i].tid, name)) memcpy(c->threads[i].name, name, sizeof name);
        }
    for (uint32_t id = 0; id < c->table->n_slots; id++) {
        const uintptr_t *pcs;
        uint32_t n_pcs;
        uint64_t tag;
        if (!stack_table_get(c->table, id, &pcs, &n_pcs, &tag)) continue;
        int64_t values[2] = {value_since(c->table, id, SAMPLER_COUNTER_SAMPLES, since),
                             value_since(c->table, id, SAMPLER_COUNTER_VALUE, since)};
        if (!(values[0] | values[1])) continue;
        struct output_label labels[3 + LABELS_MAX_PER_SET];
        unsigned n = 0;
        const char *name = name_of(c, sampler_tag_tid(tag));
        if (*name) labels[n++] = (struct output_label){.key = "thread", .str = name};
        labels[n++] = (struct output_label){.key = "tid", .num = sampler_tag_tid(tag)};
        if (with_state)
            labels[n++] = (struct output_label){.key = "state", .str = state_name(sampler_tag_state(tag))};
        struct labels_pair pairs[LABELS_MAX_PER_SET];
        unsigned n_pairs = labels_get(sampler_tag_labels(tag), pairs);
        for (unsigned p = 0; p < n_pairs; p++)
            labels[n++] = (struct output_label){.key = pairs[p].key, .str = pairs[p].value};
        output_add(o, pcs, n_pcs, false, values, labels, n);
    }
}

/* ---- readers: several callers of capture_take at once
 *
 * A capture kind has one sampler, which only ever adds to its counters. The first reader starts it and the
 * last one to leave stops it. A reader that comes while it runs marks the counters and reads the difference
 * in the end, so each gets the samples, and the losses, of its own time. */

struct reader { /* on the stack of capture_take */
    int64_t begin_ns, end_ns;
    struct capture_mark *mark; /* NULL: from the start */
    struct reader *next;
};

struct session { /* one for each capture kind, by the number of the kind */
    pthread_mutex_t lock;
    int64_t begin_ns;
    _Atomic(struct reader *) readers; /* the first of the list ticks; NULL: no capture runs */
};
static struct session sessions[KINDS_MAX] = {[0 ... KINDS_MAX - 1] = {.lock = PTHREAD_MUTEX_INITIALIZER}};

static int64_t date_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t ns(double seconds)
{
    return (int64_t)(seconds * 1e9);
}

static bool is_cancelled(const _Atomic bool *cancel)
{
    return cancel && atomic_load(cancel);
}

/* Waits until end_ns and keeps the unwinder's tables fresh meanwhile. Several readers wait here at the same
 * time. Only the first of the list calls tick, so the sampler is not ticked once for each of them. The list
 * is read without the session's lock: if it changes just then, one tick is missed or comes from two readers,
 * and tick allows both. */
static void wait_until(int64_t end_ns, const _Atomic bool *cancel, const struct kind *k,
                       const struct session *s, const struct reader *r)
{
    for (int64_t left; (left = end_ns - clock_now_ns()) > 0 && !is_cancelled(cancel);) {
        nanosleep(&(struct timespec){.tv_nsec = left < TICK_NS ? left : TICK_NS}, NULL);
        tables_refresh();
        if (r && k->tick && atomic_load(&s->readers) == r) k->tick();
    }
}

/* Waits a little. False when the caller has waited long enough. */
static bool waits_on(int64_t give_up_ns, const _Atomic bool *cancel)
{
    if (clock_now_ns() >= give_up_ns || is_cancelled(cancel)) return false;
    nanosleep(&(struct timespec){.tv_nsec = TICK_NS}, NULL);
    return true;
}

static int snapshot(const struct kind *k, const struct kind_options *options, struct output *output,
                    struct err *err)
{
    *output = (struct output){.name = k->name, .time_ns = date_ns()};
    int status = k->snapshot(options, output, err);
    if (!status && (output->samples.failed || output->data.failed || output->raw.failed))
        status = err_set(err, ERR_LIMIT, "%s: the profile does not fit in memory", k->name);
    if (status) output_free(output);
    return status;
}

/* Starts the sampler, or joins the running capture with a mark. ERR_BUSY when the running capture does not
 * fit the options; *ret_free_ns is then when it will end, as far as that is known. */
static int enter(const struct kind *k, struct session *s, struct reader *r,
                 const struct kind_options *options, int64_t *ret_free_ns, struct err *err)
{
    int status = 0;
    pthread_mutex_lock(&s->lock);
    int64_t time_ns = clock_now_ns();
    *ret_free_ns = 0;
    if (!s->readers) {
        status = k->start(options, err);
        s->begin_ns = time_ns;
    } else if (k->fits && k->fits(options) && time_ns - s->begin_ns < ns(JOIN_S)) {
        r->mark = k->mark();
        if (!r->mark) status = err_set(err, ERR_LIMIT, "%s: no memory for a second reader", k->name);
    } else {
        for (const struct reader *other = s->readers; other; other = other->next)
            if (other->end_ns > *ret_free_ns) *ret_free_ns = other->end_ns;
        int64_t left_ns = *ret_free_ns - time_ns;
        status =
            err_set(err, ERR_BUSY,
                    "a %s is being taken already, with other settings; it ends in %lld s, ask again then",
                    k->name, left_ns < 0 ? 0 : (long long)(left_ns / 1000000000 + 1));
    }
    if (!status) {
        r->begin_ns = clock_now_ns();
        r->end_ns = r->begin_ns + ns(options->seconds);
        r->next = s->readers;
        s->readers = r;
    }
    pthread_mutex_unlock(&s->lock);
    return status;
}

static void unlink_reader(struct session *s, struct reader *r)
{
    if (s->readers == r) {
        s->readers = r->next;
        return;
    }
    struct reader *before = s->readers;
    while (before->next != r) before = before->next;
    before->next = r->next;
}

static int leave(const struct kind *k, struct session *s, struct reader *r,
                 const struct kind_options *options, struct output *output, struct err *err)
{
    struct kind_options mine = *options;
    mine.since = r->mark;
    pthread_mutex_lock(&s->lock);
    unlink_reader(s, r);
    bool is_last = !s->readers;
    if (is_last) k->stop();
    int64_t duration_ns = clock_now_ns() - r->begin_ns;
    int status = snapshot(k, &mine, output, err);
    if (!status) output->duration_ns = duration_ns;
    if (is_last && k->free_capture) k->free_capture();
    pthread_mutex_unlock(&s->lock);
    capture_mark_free(r->mark);
    return status;
}

static int capture_between(const struct kind *k, const struct kind_options *options,
                           const _Atomic bool *cancel, struct output *output, struct err *err)
{
    struct session *s = &sessions[kind_number(k)];
    struct reader r = {0};
    int64_t give_up_ns = clock_now_ns() + ns(PATIENCE_S), free_ns;
    int status;
    do status = enter(k, s, &r, options, &free_ns, err);
    while (status == ERR_BUSY && free_ns < give_up_ns && waits_on(give_up_ns, cancel));
    if (status) return status;
    int64_t begin_ns = date_ns();
    wait_until(r.end_ns, cancel, k, s, &r);
    status = leave(k, s, &r, options, output, err);
    if (!status) output->time_ns = begin_ns;
    return status;
}

/* A counter kind counts all the time that it is on, so its capture is the difference of two snapshots. */
static int capture_difference(const struct kind *k, const struct kind_options *options,
                              const _Atomic bool *cancel, struct output *output, struct err *err)
{
    struct output begin;
    int status = snapshot(k, options, &begin, err);
    if (status) return status;
    wait_until(clock_now_ns() + ns(options->seconds), cancel, k, NULL, NULL);
    status = snapshot(k, options, output, err);
    if (!status) {
        status = output_subtract(output, &begin, err);
        if (status) output_free(output);
    }
    output_free(&begin);
    return status;
}

int capture_take(const struct kind *k, const struct kind_options *options, const _Atomic bool *cancel,
                 struct output *output, struct err *err)
{
    if (k->is_capture) return capture_between(k, options, cancel, output, err);
    int status;
    if (!options->has_seconds || options->seconds <= 0) {
        int64_t give_up_ns = clock_now_ns() + ns(PATIENCE_S);
        do status = snapshot(k, options, output, err);
        while (status == ERR_BUSY && waits_on(give_up_ns, cancel));
        return status;
    }
    status = k->start ? k->start(options, err) : 0;
    if (status) return status;
    status = capture_difference(k, options, cancel, output, err);
    if (k->stop) k->stop();
    return status;
}

void captures_forked(void)
{
    for (unsigned i = 0; i < KINDS_MAX; i++)
        sessions[i] = (struct session){.lock = PTHREAD_MUTEX_INITIALIZER};
}
