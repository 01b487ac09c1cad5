/* capture.c - see capture.h. */
#include "agent/sample/capture.h"

#include <string.h>

#include "agent/host/config.h"
#include "agent/host/pages.h"
#include "agent/host/profsignal.h"
#include "agent/hot/unwind.h"
#include "agent/sample/labels.h"
#include "agent/unwind/tables.h"

#define TABLE_SLOTS 131072u
#define TABLE_WORDS ((uint64_t)8 << 20)
#define PCS_BYTES   (CAPTURE_MAX_THREADS * UNWIND_MAX_FRAMES * sizeof(uintptr_t))

int capture_begin(struct capture *c, unsigned which, const struct kind_options *options, struct err *err)
{
    (void)options;
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
    /* Who never comes out (a handler that a debugger left, a thread that ends and is given no CPU) would
     * still write: then all of it is kept. */
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
    /* One by one: whose entry this was may have touched the atomic ones last. */
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

static int64_t value_since(const struct stack_table *t, uint32_t id, uint32_t counter,
                           const struct capture_mark *since)
{
    return stack_table_value(t, id, counter) -
           (since ? since->values[(size_t)id * t->n_counters + counter] : 0);
}

void capture_output(struct capture *c, const struct capture_mark *since, bool with_state, struct output *o)
{
    for (uint32_t i = 0; i < c->n_threads; i++) /* names change: the last one is the one people know */
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
