/* merge.c - merges several profiles into one; see profile.h and merge_int.h. */
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "profile/merge_int.h"

static bool same_value_type(const struct profile *a, struct value_type x, const struct profile *b,
                            struct value_type y)
{
    return !strcmp(profile_text(a, x.type), profile_text(b, y.type)) &&
           !strcmp(profile_text(a, x.unit), profile_text(b, y.unit));
}

static int check_compatible(const struct profile *a, const struct profile *b, struct err *err)
{
    if (!same_value_type(a, a->period_type, b, b->period_type))
        return err_set(err, ERR_INPUT, "incompatible period types %s/%s and %s/%s",
                       profile_text(a, a->period_type.type), profile_text(a, a->period_type.unit),
                       profile_text(b, b->period_type.type), profile_text(b, b->period_type.unit));
    if (a->n_sample_types != b->n_sample_types)
        return err_set(err, ERR_INPUT, "incompatible sample types: %zu and %zu of them", a->n_sample_types,
                       b->n_sample_types);
    for (size_t i = 0; i < a->n_sample_types; i++) {
        if (!same_value_type(a, a->sample_types[i], b, b->sample_types[i]))
            return err_set(err, ERR_INPUT, "incompatible sample types %s/%s and %s/%s",
                           profile_text(a, a->sample_types[i].type), profile_text(a, a->sample_types[i].unit),
                           profile_text(b, b->sample_types[i].type),
                           profile_text(b, b->sample_types[i].unit));
    }
    return 0;
}

static void merge_header(struct merge *m, const struct profile *p, bool is_first)
{
    struct profile *to = m->to;
    if (is_first) {
        for (size_t i = 0; i < p->n_sample_types; i++)
            profile_add_sample_type(to, profile_text(p, p->sample_types[i].type),
                                    profile_text(p, p->sample_types[i].unit));
        to->period_type.type = profile_copy_string(to, p, p->period_type.type);
        to->period_type.unit = profile_copy_string(to, p, p->period_type.unit);
        to->has_period_type = p->has_period_type;
        to->drop_frames = profile_copy_string(to, p, p->drop_frames);
        to->keep_frames = profile_copy_string(to, p, p->keep_frames);
    }
    if (!to->time_ns || (p->time_ns && p->time_ns < to->time_ns)) to->time_ns = p->time_ns;
    if (__builtin_add_overflow(to->duration_ns, p->duration_ns, &to->duration_ns))
        to->duration_ns = p->duration_ns < 0 ? INT64_MIN : INT64_MAX;
    if (p->period > to->period) to->period = p->period;
    if (!to->default_sample_type)
        to->default_sample_type = profile_copy_string(to, p, p->default_sample_type);
    if (!to->doc_url) to->doc_url = profile_copy_string(to, p, p->doc_url);
    for (size_t c = 0; c < p->n_comments; c++) {
        uint32_t id = profile_copy_string(to, p, p->comments[c]);
        bool is_new;
        (void)idmap_slot(&m->comments, id, &is_new);
        if (is_new) *VEC_PUSH(to->comments, to->n_comments, to->cap_comments) = id;
    }
}

/* ---- the sources in order ---- */

struct profile_merger {
    struct merge m;
    pthread_mutex_t lock;
    pthread_cond_t moved;
    size_t tables_turn, samples_turn; /* the next place of each step */
    struct merge_source *last;        /* the last source whose tables are in the result */
};

struct profile_merger *profile_merger_new(void)
{
    struct profile_merger *x = mem_zalloc(sizeof *x);
    x->m.to = profile_new();
    pthread_mutex_init(&x->lock, NULL);
    pthread_cond_init(&x->moved, NULL);
    return x;
}

static void wait_for_turn(struct profile_merger *x, const size_t *turn, size_t place)
{
    pthread_mutex_lock(&x->lock);
    while (*turn != place) pthread_cond_wait(&x->moved, &x->lock);
    pthread_mutex_unlock(&x->lock);
}

static void end_turn(struct profile_merger *x, size_t *turn)
{
    pthread_mutex_lock(&x->lock);
    ++*turn;
    pthread_cond_broadcast(&x->moved);
    pthread_mutex_unlock(&x->lock);
}

static void free_source(struct merge_source *s)
{
    if (!s) return;
    profile_free(s->owned);
    mem_free(s->uses);
    mem_free(s->string_of);
    mem_free(s->mapping_of);
    mem_free(s->function_of);
    mem_free(s->location_of);
    mem_free(s);
}

static void free_samples(struct merge_source *s)
{
    mem_free(s->frames);
    mem_free(s->labels);
    mem_free(s->hashes);
}

static int add(struct profile_merger *x, size_t place, const struct profile *p, struct profile *owned,
               struct err *err)
{
    struct merge_source *s = mem_zalloc(sizeof *s);
    *s = (struct merge_source){.p = p, .owned = owned};
    int rc = 0;
    if (p) merge_look_over(s);
    wait_for_turn(x, &x->tables_turn, place);
    if (p && x->last) rc = check_compatible(x->m.to, p, err);
    bool takes_part = p && !rc;
    if (takes_part) {
        s->before = x->last;
        merge_header(&x->m, p, !x->last);
        merge_tables(&x->m, s);
        x->last = s;
    }
    end_turn(x, &x->tables_turn);
    if (takes_part) merge_translate(s);
    wait_for_turn(x, &x->samples_turn, place);
    if (takes_part) merge_samples(&x->m, s);
    struct merge_source *done = s->before; /* its samples and tables are merged: nothing needs it any more */
    free_samples(s);
    end_turn(x, &x->samples_turn);
    free_source(done);
    if (!takes_part) free_source(s);
    return rc;
}

int profile_merger_add(struct profile_merger *x, size_t place, const struct profile *p, struct err *err)
{
    return add(x, place, p, NULL, err);
}

int profile_merger_take(struct profile_merger *x, size_t place, struct profile *p, struct err *err)
{
    return add(x, place, p, p, err);
}

struct profile *profile_merger_end(struct profile_merger *x)
{
    struct merge *m = &x->m;
    struct profile *merged = m->to;
    content_index_free(&m->mappings);
    content_index_free(&m->functions);
    content_index_free(&m->locations);
    content_index_free(&m->samples);
    idmap_free(&m->comments);
    mem_free(m->lines);
    free_source(x->last);
    pthread_mutex_destroy(&x->lock);
    pthread_cond_destroy(&x->moved);
    mem_free(x);
    /* In a diff, opposite values may have cancelled out. One more pass removes such samples and the
     * records that only they used. */
    for (size_t s = 0; s < merged->n_samples; s++) {
        if (!merge_all_zero(profile_sample_values(merged, s), merged->n_sample_types)) continue;
        struct profile_merger *again = profile_merger_new();
        profile_merger_add(again, 0, merged, NULL);
        profile_free(merged);
        return profile_merger_end(again);
    }
    ASSERT(!profile_check(merged, NULL));
    return merged;
}

struct all {
    struct profile_merger *merger;
    struct profile *const *sources;
};

static void add_one(void *context, size_t i, unsigned worker)
{
    (void)worker;
    struct all *all = context;
    profile_merger_add(all->merger, i, all->sources[i], NULL);
}

int profile_merge(struct profile *const *sources, size_t n_sources, struct profile **ret_merged,
                  struct err *err)
{
    if (!n_sources) return err_set(err, ERR_INPUT, "no profiles to merge");
    for (size_t i = 1; i < n_sources; i++) {
        int rc = check_compatible(sources[0], sources[i], err);
        if (rc) return rc;
    }
    struct all all = {profile_merger_new(), sources};
    parallel_for(n_sources, parallel_width(), add_one, &all);
    *ret_merged = profile_merger_end(all.merger);
    return 0;
}

static int64_t scaled(int64_t value, double factor)
{
    double v = (double)value * factor;
    if (v >= 9.2233720368547748e18) return INT64_MAX;
    if (v <= -9.2233720368547748e18) return INT64_MIN;
    return isnan(v) ? 0 : (int64_t)round(v);
}

void profile_scale_each(struct profile *p, const double *factor_per_type)
{
    bool all_one = true;
    for (size_t i = 0; i < p->n_sample_types; i++) all_one &= factor_per_type[i] == 1;
    if (all_one) return;
    size_t kept = 0;
    uint64_t frame_end = 0, label_end = 0;
    for (size_t s = 0; s < p->n_samples; s++) {
        int64_t *values = p->sample_values + s * p->n_sample_types;
        bool any = false;
        for (size_t i = 0; i < p->n_sample_types; i++) {
            if (factor_per_type[i] != 1) values[i] = scaled(values[i], factor_per_type[i]);
            any |= values[i] != 0;
        }
        if (!any) continue;
        uint64_t f0 = p->sample_location_start[s], f1 = p->sample_location_start[s + 1];
        uint64_t l0 = p->sample_label_start[s], l1 = p->sample_label_start[s + 1];
        memmove(p->sample_locations + frame_end, p->sample_locations + f0,
                (size_t)(f1 - f0) * sizeof *p->sample_locations);
        if (l1 > l0) memmove(p->labels + label_end, p->labels + l0, (size_t)(l1 - l0) * sizeof *p->labels);
        memmove(p->sample_values + kept * p->n_sample_types, values, p->n_sample_types * sizeof *values);
        p->sample_location_start[kept] = frame_end;
        p->sample_label_start[kept] = label_end;
        frame_end += f1 - f0;
        label_end += l1 - l0;
        kept++;
    }
    if (p->n_samples) {
        p->sample_location_start[kept] = frame_end;
        p->sample_label_start[kept] = label_end;
    }
    p->n_samples = kept;
}

void profile_scale(struct profile *p, double factor)
{
    double *each = mem_array(p->n_sample_types, sizeof *each);
    for (size_t i = 0; i < p->n_sample_types; i++) each[i] = factor;
    profile_scale_each(p, each);
    mem_free(each);
}
