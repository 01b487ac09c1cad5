/* merge_samples.c - adds the samples of a source to the result; see merge_int.h. */
#include <string.h>

#include "base/mem.h"
#include "base/parallel.h"
#include "profile/merge_int.h"

enum { RUN_SAMPLES = 16384 };

static uint32_t string_in_result(const struct merge_source *s, uint32_t id)
{
    return id ? s->string_of[id] - 1 : 0;
}

static struct label translated(const struct merge_source *s, struct label l)
{
    l.key = string_in_result(s, l.key);
    l.str = string_in_result(s, l.str);
    l.unit = string_in_result(s, l.unit);
    if (l.str) l.num = 0, l.unit = 0; /* text has neither */
    return l;
}

static void translate_run(void *context, size_t run, unsigned worker)
{
    (void)worker;
    struct merge_source *source = context;
    const struct profile *p = source->p;
    size_t end = (run + 1) * RUN_SAMPLES < p->n_samples ? (run + 1) * RUN_SAMPLES : p->n_samples;
    for (size_t s = run * RUN_SAMPLES; s < end; s++) {
        if (merge_all_zero(profile_sample_values(p, s), p->n_sample_types)) continue;
        uint64_t first = p->sample_location_start[s], n = p->sample_location_start[s + 1] - first;
        for (uint64_t i = first; i < first + n; i++)
            source->frames[i] = source->location_of[p->sample_locations[i]] - 1;
        uint32_t hash = hash_bytes(source->frames + first, n * sizeof *source->frames);
        for (uint64_t i = p->sample_label_start[s]; i < p->sample_label_start[s + 1]; i++) {
            struct label l = source->labels[i] = translated(source, p->labels[i]);
            hash = (uint32_t)hash_u64(hash ^ (uint64_t)l.key << 32 ^ (uint64_t)l.str << 16 ^
                                      (uint64_t)l.num * 31);
        }
        source->hashes[s] = hash;
    }
}

void merge_translate(struct merge_source *s)
{
    const struct profile *p = s->p;
    if (!p->n_samples) return;
    s->frames = mem_array((size_t)p->sample_location_start[p->n_samples], sizeof *s->frames);
    s->labels = mem_array((size_t)p->sample_label_start[p->n_samples], sizeof *s->labels);
    s->hashes = mem_array(p->n_samples, sizeof *s->hashes);
    parallel_for((p->n_samples + RUN_SAMPLES - 1) / RUN_SAMPLES, parallel_width(), translate_run, s);
}

struct wanted {
    const struct profile *to;
    const uint32_t *frames;
    const struct label *labels;
    size_t n_frames, n_labels;
};

static bool same_sample(const void *context, uint32_t s)
{
    const struct wanted *w = context;
    const struct profile *to = w->to;
    uint64_t n_labels = to->sample_label_start[s + 1] - to->sample_label_start[s];
    if (profile_sample_depth(to, s) != w->n_frames || n_labels != w->n_labels) return false;
    if (memcmp(profile_sample_frames(to, s), w->frames, w->n_frames * sizeof *w->frames)) return false;
    for (size_t i = 0; i < w->n_labels; i++) {
        const struct label *a = &to->labels[to->sample_label_start[s] + i], *b = &w->labels[i];
        if (a->key != b->key || a->str != b->str || a->num != b->num || a->unit != b->unit) return false;
    }
    return true;
}

static void merge_sample(struct merge *m, const struct merge_source *source, size_t s, const int64_t *values)
{
    const struct profile *p = source->p;
    struct profile *to = m->to;
    struct wanted w = {.to = to,
                       .frames = source->frames + p->sample_location_start[s],
                       .n_frames = profile_sample_depth(p, s),
                       .labels = source->labels + p->sample_label_start[s],
                       .n_labels = (size_t)(p->sample_label_start[s + 1] - p->sample_label_start[s])};
    uint64_t *slot = content_index_slot(&m->samples, source->hashes[s], same_sample, &w);
    if ((uint32_t)*slot) {
        int64_t *sum = to->sample_values + (size_t)((uint32_t)*slot - 1) * to->n_sample_types;
        for (size_t i = 0; i < to->n_sample_types; i++)
            sum[i] = (int64_t)((uint64_t)sum[i] + (uint64_t)values[i]);
        return;
    }
    content_index_set(slot, (uint32_t)to->n_samples);
    profile_add_sample(to, w.frames, w.n_frames, values);
    for (size_t i = 0; i < w.n_labels; i++) {
        if (w.labels[i].str)
            profile_add_label_str(to, w.labels[i].key, w.labels[i].str);
        else
            profile_add_label_num(to, w.labels[i].key, w.labels[i].num, w.labels[i].unit);
    }
}

void merge_samples(struct merge *m, const struct merge_source *source)
{
    for (size_t s = 0; s < source->p->n_samples; s++) {
        const int64_t *values = profile_sample_values(source->p, s);
        if (!merge_all_zero(values, m->to->n_sample_types)) merge_sample(m, source, s, values);
    }
}
