/* heap.c - text heap profiles into a profile: the sampling undone record by record, before anything is added
 * up.
 *
 * A jemalloc dump says the numbers of each stack for all threads together (t*) and for each thread. Both are
 * rounded, so the threads do not add up to t*; t* is the better number. So each stack has t*'s value, divided
 * among its threads by their own shares, and every part is labelled with its thread.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "format/format.h"
#include "format/heap_text.h"
#include "format/legacy.h"

struct part {
    int64_t thread;
    int64_t values[4]; /* alloc count, alloc bytes, inuse count, inuse bytes, with the sampling undone */
};

struct building {
    struct legacy l;
    bool has_types, with_alloc;
    int64_t rate, only_thread; /* only_thread: of a jemalloc dump; -1 for all threads */
    struct idmap thread_names; /* thread -> string */
    uint32_t bytes_label, thread_label, thread_id_label;
    /* jemalloc: the stack being read */
    uint64_t *addresses;
    size_t n_addresses, cap_addresses;
    struct part *parts;
    size_t n_parts, cap_parts;
    bool has_whole;
    int64_t whole[4], block_bytes;
    double inuse_bytes; /* sum of the records as written, for warn_if_cut_off */
};

static void set_types(struct building *b, const struct heap_header *h)
{
    struct profile *p = b->l.p;
    b->has_types = true;
    const struct heap_counts *t = &h->total;
    if (h->kind == HEAP_JEMALLOC)
        b->with_alloc = t->alloc_count || t->alloc_bytes;
    else if (h->kind == HEAP_SAMPLED || h->kind == HEAP_EXACT)
        b->with_alloc = (t->alloc_count != t->inuse_count && t->alloc_count) ||
                        (t->alloc_bytes != t->inuse_bytes && t->alloc_bytes);
    if (b->with_alloc) { /* in-use comes last, because the last type is shown by default */
        profile_add_sample_type(p, "alloc_objects", "count");
        profile_add_sample_type(p, "alloc_space", "bytes");
    }
    bool plain = !b->with_alloc && h->kind != HEAP_JEMALLOC;
    profile_add_sample_type(p, plain ? "objects" : "inuse_objects", "count");
    profile_add_sample_type(p, plain ? "space" : "inuse_space", "bytes");
    p->period_type = (struct value_type){profile_cstr(p, "space"), profile_cstr(p, "bytes")};
    b->rate = h->version == 1 ? h->rate / 2 : h->rate;
    p->period = h->version ? b->rate : 1;
    if (!h->version) b->rate = 0;
}

/* Computes the alloc and in-use values with the sampling undone, in the order of the sample types, and the
 * size of one block, which old profiles show as a label. */
static void unsample(const struct building *b, const struct heap_counts *c, int64_t values[4],
                     int64_t *ret_block_bytes)
{
    int64_t pairs[4] = {c->alloc_count, c->alloc_bytes, c->inuse_count, c->inuse_bytes}, block = 0;
    for (size_t i = b->with_alloc ? 0 : 2; i < 4; i += 2) {
        if (!pairs[i]) continue; /* the count was rounded to 0, so there is nothing to divide by */
        block = pairs[i + 1] / pairs[i];
        if (b->rate) legacy_unsample(&pairs[i], &pairs[i + 1], b->rate);
    }
    memcpy(values, pairs, sizeof pairs);
    *ret_block_bytes = block;
}

static void add_sample(struct building *b, const uint64_t *addresses, size_t n, const int64_t values[4],
                       int64_t block_bytes)
{
    for (size_t i = 0; i < n; i++) legacy_frame(&b->l, addresses[i] - 1);
    legacy_sample(&b->l, b->with_alloc ? values : values + 2);
    if (!b->bytes_label) b->bytes_label = profile_cstr(b->l.p, "bytes");
    profile_add_label_num(b->l.p, b->bytes_label, block_bytes, 0);
}

static void label_thread(struct building *b, int64_t thread)
{
    struct profile *p = b->l.p;
    if (!b->thread_label) {
        b->thread_label = profile_cstr(p, "thread");
        b->thread_id_label = profile_cstr(p, "thread_id");
    }
    char number[32];
    snprintf(number, sizeof number, "%lld", (long long)thread);
    uint32_t name;
    if (!idmap_find(&b->thread_names, (uint64_t)thread, &name)) name = profile_cstr(p, number);
    profile_add_label_str(p, b->thread_label, name);
    profile_add_label_num(p, b->thread_id_label, thread, 0);
}

/* Distributes `whole` over parts[].values[v] in proportion. The largest part gets the rounding difference. */
static void share_out(struct building *b, size_t v)
{
    double sum = 0;
    size_t largest = 0;
    for (size_t i = 0; i < b->n_parts; i++) {
        sum += (double)b->parts[i].values[v];
        if (b->parts[i].values[v] > b->parts[largest].values[v]) largest = i;
    }
    int64_t left = b->whole[v];
    for (size_t i = 0; i < b->n_parts; i++) {
        double share = sum > 0 ? (double)b->parts[i].values[v] / sum : 1.0 / (double)b->n_parts;
        int64_t value = text_clamp_i64((double)b->whole[v] * share);
        if (value > left) value = left;
        if (value < 0) value = 0;
        b->parts[i].values[v] = value;
        left -= value;
    }
    b->parts[largest].values[v] += left;
}

static void end_stack(struct building *b)
{
    if (b->only_thread < 0 && b->has_whole && b->n_parts)
        for (size_t v = b->with_alloc ? 0 : 2; v < 4; v++) share_out(b, v);
    for (size_t i = 0; i < b->n_parts; i++) {
        add_sample(b, b->addresses, b->n_addresses, b->parts[i].values, b->block_bytes);
        label_thread(b, b->parts[i].thread);
    }
    if (b->only_thread < 0 && b->has_whole && !b->n_parts)
        add_sample(b, b->addresses, b->n_addresses, b->whole, b->block_bytes);
    b->n_parts = 0;
    b->has_whole = false;
}

static int take_record(void *context, const struct heap_header *h, const struct heap_record *record)
{
    struct building *b = context;
    if (!b->has_types) set_types(b, h);
    int64_t values[4], block_bytes;
    unsample(b, &record->counts, values, &block_bytes);
    if (h->kind != HEAP_JEMALLOC || record->thread == HEAP_ALL_THREADS)
        b->inuse_bytes += (double)record->counts.inuse_bytes;
    if (h->kind != HEAP_JEMALLOC) {
        add_sample(b, record->addresses, record->n_addresses, values, block_bytes);
        return 0;
    }
    if (!record->same_stack) {
        end_stack(b);
        if (record->n_addresses > b->cap_addresses)
            b->addresses =
                mem_grow(b->addresses, &b->cap_addresses, record->n_addresses, sizeof *b->addresses);
        if (record->n_addresses)
            memcpy(b->addresses, record->addresses, record->n_addresses * sizeof *record->addresses);
        b->n_addresses = record->n_addresses;
        b->block_bytes = 0;
    }
    if (record->thread == HEAP_ALL_THREADS) {
        b->has_whole = true;
        memcpy(b->whole, values, sizeof values);
        b->block_bytes = block_bytes;
    } else if (b->only_thread < 0 || b->only_thread == record->thread) {
        struct part *part = VEC_PUSH(b->parts, b->n_parts, b->cap_parts);
        part->thread = record->thread;
        memcpy(part->values, values, sizeof values);
        if (!b->has_whole || b->only_thread >= 0) b->block_bytes = block_bytes;
    }
    return 0;
}

static void take_thread_name(void *context, int64_t thread, struct piece name)
{
    struct building *b = context;
    *idmap_slot(&b->thread_names, (uint64_t)thread, NULL) = profile_string(b->l.p, name.s, name.n);
}

/* Every writer puts the total first and the memory map last. A dump without a map may come from a process
 * that could not read its own; a dump that also lacks records of its total has lost its end. Totals may
 * differ by rounding, hence the one percent. */
static void warn_if_cut_off(const struct building *b, const struct heap_header *h, struct piece maps,
                            struct err *ret_warning)
{
    bool has_total = h->kind == HEAP_JEMALLOC || h->kind == HEAP_SAMPLED || h->kind == HEAP_EXACT;
    if (!ret_warning || maps.n || !has_total) return;
    if (b->inuse_bytes >= (double)h->total.inuse_bytes * 0.99) return;
    err_set(ret_warning, ERR_INPUT,
            "the heap dump ends early: its records hold %.0f of the %lld bytes in use that its first lines "
            "state; fetch it again",
            b->inuse_bytes, (long long)h->total.inuse_bytes);
}

static int read_heap(const void *data, size_t len, const struct format_options *options, struct profile *into,
                     struct err *err)
{
    struct building b = {.l.p = into, .only_thread = -1};
    if (options->jemalloc_thread) {
        char *end;
        b.only_thread = strtoll(options->jemalloc_thread, &end, 10);
        if (*end || end == options->jemalloc_thread || b.only_thread < 0)
            return err_set(err, ERR_INPUT, "\"%s\" is not a thread number", options->jemalloc_thread);
    }
    struct heap_header header;
    struct piece maps;
    struct heap_handler handler = {.record = take_record, .thread = take_thread_name, .context = &b};
    int rc = heap_text_read((struct piece){data, len}, &handler, &header, &maps, err);
    if (!rc) {
        if (!b.has_types) set_types(&b, &header);
        end_stack(&b);
        warn_if_cut_off(&b, &header, maps, options->ret_warning);
        legacy_finish(&b.l, maps, header.kind == HEAP_JEMALLOC ? LEGACY_JEMALLOC : LEGACY_HEAP);
    }
    legacy_free(&b.l);
    idmap_free(&b.thread_names);
    mem_free(b.addresses);
    mem_free(b.parts);
    return rc;
}

const struct format_reader format_heap = {"heap text", read_heap};
