/* output.c - see output.h: adding samples, subtracting, merging. */
#include "agent/write/output.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Copies bytes into data, aligned to 8 so that they can be read in place. Returns their offset. */
static uint64_t store(struct output *o, const void *bytes, size_t n_bytes)
{
    size_t padded = (n_bytes + 7) & ~(size_t)7;
    char *at = pages_buf_add(&o->data, padded ? padded : 8);
    if (!at) return 0;
    memset(at, 0, padded ? padded : 8);
    if (n_bytes) memcpy(at, bytes, n_bytes);
    return (uint64_t)(at - o->data.data);
}

void output_add(struct output *o, const uintptr_t *pcs, unsigned n_pcs, bool leaf_is_return,
                const int64_t *values, const struct output_label *labels, unsigned n_labels)
{
    if (o->data.size == 0) store(o, "", 0); /* keeps offset 0 free: a label whose str is 0 is a number */
    struct output_sample s = {.n_pcs = n_pcs, .n_labels = n_labels, .leaf_is_return = leaf_is_return};
    s.pcs = store(o, pcs, n_pcs * sizeof *pcs);
    s.values = store(o, values, o->n_types * sizeof *values);
    struct output_label stored[16];
    if (n_labels > 16) n_labels = s.n_labels = 16;
    for (unsigned i = 0; i < n_labels; i++) {
        stored[i] = labels[i];
        if (labels[i].str)
            stored[i].str = (const char *)(uintptr_t)store(o, labels[i].str, strlen(labels[i].str) + 1);
    }
    s.labels = store(o, stored, n_labels * sizeof *stored);
    pages_buf_bytes(&o->samples, &s, sizeof s);
}

const char *output_label_text(const struct output *o, const struct output_label *l)
{
    return l->str ? o->data.data + (uintptr_t)l->str : NULL;
}

void output_comment(struct output *o, const char *format, ...)
{
    if (o->n_comments == OUTPUT_MAX_COMMENTS) return;
    va_list args;
    va_start(args, format);
    vsnprintf(o->comments[o->n_comments++], sizeof o->comments[0], format, args);
    va_end(args);
}

void output_free(struct output *o)
{
    pages_buf_free(&o->samples);
    pages_buf_free(&o->data);
    pages_buf_free(&o->raw);
}

static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * 0xff51afd7ed558ccdu;
    return h ^ h >> 32;
}

static uint64_t text_hash(const char *text)
{
    uint64_t h = 1;
    for (; *text; text++) h = mix(h, (unsigned char)*text);
    return h;
}

static uint64_t sample_hash(const struct output *o, const struct output_sample *s, bool with_labels)
{
    uint64_t h = s->n_pcs * 2 + s->leaf_is_return;
    const uintptr_t *pcs = output_pcs(o, s);
    for (unsigned i = 0; i < s->n_pcs; i++) h = mix(h, pcs[i]);
    const struct output_label *labels = output_labels(o, s);
    for (unsigned i = 0; with_labels && i < s->n_labels; i++) {
        const char *text = output_label_text(o, &labels[i]);
        h = mix(h, text_hash(labels[i].key));
        h = mix(h, text ? text_hash(text) : (uint64_t)labels[i].num);
    }
    return h;
}

static bool same_labels(const struct output *a, const struct output_sample *sa, const struct output *b,
                        const struct output_sample *sb)
{
    if (sa->n_labels != sb->n_labels) return false;
    const struct output_label *la = output_labels(a, sa), *lb = output_labels(b, sb);
    for (unsigned i = 0; i < sa->n_labels; i++) {
        const char *ta = output_label_text(a, &la[i]), *tb = output_label_text(b, &lb[i]);
        if (strcmp(la[i].key, lb[i].key) || !ta != !tb) return false;
        if (ta ? strcmp(ta, tb) : la[i].num != lb[i].num) return false;
    }
    return true;
}

static bool same_sample(const struct output *a, const struct output_sample *sa, const struct output *b,
                        const struct output_sample *sb, bool with_labels)
{
    return sa->n_pcs == sb->n_pcs && sa->leaf_is_return == sb->leaf_is_return &&
           !memcmp(output_pcs(a, sa), output_pcs(b, sb), sa->n_pcs * sizeof(uintptr_t)) &&
           (!with_labels || same_labels(a, sa, b, sb));
}

/* A hash index over the samples of one output. A slot is a sample's index + 1, or 0 when it is free. */
struct sample_index {
    uint32_t *slots;
    uint32_t mask;
};

static int index_new(struct sample_index *x, unsigned n_samples, struct err *err)
{
    uint32_t n = 64;
    while (n < n_samples * 2u) n *= 2;
    x->mask = n - 1;
    x->slots = pages_map(n * sizeof *x->slots);
    return x->slots ? 0 : err_set(err, ERR_LIMIT, "no memory for %u samples", n_samples);
}

static void index_free(struct sample_index *x)
{
    pages_unmap(x->slots, ((size_t)x->mask + 1) * sizeof *x->slots);
}

/* The slot of an equal sample in `in`, or the free slot for it. */
static uint32_t *index_slot(struct sample_index *x, const struct output *in, const struct output *o,
                            const struct output_sample *s, bool with_labels)
{
    uint32_t at = (uint32_t)(sample_hash(o, s, with_labels) >> 16) & x->mask;
    while (x->slots[at] && !same_sample(in, output_sample_at(in, x->slots[at] - 1), o, s, with_labels))
        at = (at + 1) & x->mask;
    return &x->slots[at];
}

static int64_t *values_of(struct output *o, unsigned sample)
{
    return (int64_t *)(void *)(o->data.data + output_sample_at(o, sample)->values);
}

/* Adds up equal samples and keeps the first of each. */
static int fold(struct output *o, bool with_labels, bool drop_zero, struct err *err)
{
    unsigned n = output_n_samples(o), n_kept = 0;
    struct sample_index x;
    int status = index_new(&x, n, err);
    if (status) return status;
    struct output_sample *samples = (struct output_sample *)(void *)o->samples.data;
    for (unsigned i = 0; i < n; i++) {
        uint32_t *slot = index_slot(&x, o, o, &samples[i], with_labels);
        if (*slot) {
            int64_t *into = values_of(o, *slot - 1);
            const int64_t *from = output_values(o, &samples[i]);
            for (unsigned v = 0; v < o->n_types; v++) into[v] += from[v];
            continue;
        }
        samples[n_kept] = samples[i];
        if (!with_labels) samples[n_kept].n_labels = 0;
        *slot = ++n_kept;
    }
    index_free(&x);
    unsigned n_left = 0;
    for (unsigned i = 0; i < n_kept; i++) {
        const int64_t *values = output_values(o, &samples[i]);
        bool zero = drop_zero;
        for (unsigned v = 0; v < o->n_types; v++) zero = zero && values[v] == 0;
        if (!zero) samples[n_left++] = samples[i];
    }
    o->samples.size = n_left * sizeof *samples;
    return 0;
}

int output_merge_stacks(struct output *o, struct err *err)
{
    return fold(o, false, false, err);
}

int output_subtract(struct output *end, const struct output *begin, struct err *err)
{
    if (end->n_types != begin->n_types || end->has_raw || begin->has_raw)
        return err_set(err, ERR_UNSUPPORTED,
                       "%s: two profiles of this format cannot be subtracted; ask without seconds",
                       end->name);
    unsigned n = output_n_samples(begin);
    for (unsigned i = 0; i < n; i++) {
        const struct output_sample *s = output_sample_at(begin, i);
        int64_t negative[OUTPUT_MAX_TYPES];
        for (unsigned v = 0; v < end->n_types; v++) negative[v] = -output_values(begin, s)[v];
        struct output_label labels[16];
        for (unsigned l = 0; l < s->n_labels; l++) {
            labels[l] = output_labels(begin, s)[l];
            labels[l].str = output_label_text(begin, &labels[l]);
        }
        output_add(end, output_pcs(begin, s), s->n_pcs, s->leaf_is_return, negative, labels, s->n_labels);
    }
    if (end->samples.failed || end->data.failed)
        return err_set(err, ERR_LIMIT, "%s: the profile does not fit in memory", end->name);
    end->duration_ns = end->time_ns - begin->time_ns;
    end->n_lost = end->n_lost > begin->n_lost ? end->n_lost - begin->n_lost : 0;
    return fold(end, true, true, err);
}
