/* compat.c - see compat.h. */
#include "profile/compat.h"

#include <string.h>

#include "base/mem.h"
#include "profile/filter.h"
#include "profile/unit.h"

static int find_type(const struct profile *p, const char *type)
{
    for (size_t i = 0; i < p->n_sample_types; i++)
        if (!strcmp(profile_text(p, p->sample_types[i].type), type)) return (int)i;
    return -1;
}

/* Keeps only the named sample types, in that order. */
static void select_types(struct profile *p, const char *const *types, size_t n)
{
    int *from = mem_array(n, sizeof *from);
    bool change = n != p->n_sample_types, has_default = false;
    for (size_t i = 0; i < n; i++) {
        from[i] = find_type(p, types[i]);
        change |= from[i] != (int)i;
        has_default |= p->sample_types[from[i]].type == p->default_sample_type;
    }
    if (change) {
        struct value_type *kept = mem_array(n, sizeof *kept);
        int64_t *values = mem_array(p->n_samples * n, sizeof *values);
        for (size_t i = 0; i < n; i++) kept[i] = p->sample_types[from[i]];
        for (size_t s = 0; s < p->n_samples; s++)
            for (size_t i = 0; i < n; i++)
                values[s * n + i] = p->sample_values[s * p->n_sample_types + (size_t)from[i]];
        mem_free(p->sample_types);
        mem_free(p->sample_values);
        p->sample_types = kept;
        p->sample_values = values;
        p->n_sample_types = p->cap_sample_types = n;
        p->cap_samples = p->n_samples; /* the values array has exactly this size now */
        if (!has_default) p->default_sample_type = kept[0].type;
    }
    mem_free(from);
}

static bool same_kind(const char *type_a, const char *unit_a, const char *type_b, const char *unit_b)
{
    size_t a = strlen(type_a), b = strlen(type_b);
    if (a && type_a[a - 1] == 's') a--; /* "sample" and "samples" are the same */
    if (b && type_b[b - 1] == 's') b--;
    if (a != b || memcmp(type_a, type_b, a)) return false;
    return !strcmp(unit_a, unit_b) || (unit_known(unit_a) && unit_known(unit_a) == unit_known(unit_b));
}

/* Returns the finest unit of one sample type over all profiles. i == -1 selects the period. */
static int finest_unit(struct profile *const *ps, size_t n, int i, const char **ret_unit, struct err *err)
{
    const char *type = NULL, *unit = NULL, *ignored;
    for (size_t k = 0; k < n; k++) {
        struct value_type t = i < 0 ? ps[k]->period_type : ps[k]->sample_types[i];
        const char *its_type = profile_text(ps[k], t.type), *its_unit = profile_text(ps[k], t.unit);
        if (i < 0 && !t.type && !t.unit) continue; /* says nothing */
        if (!type) {
            type = its_type;
            unit = its_unit;
        } else if (!same_kind(type, unit, its_type, its_unit)) {
            return err_set(err, ERR_INPUT, "%s: incompatible types: {%s %s} {%s %s}",
                           i < 0 ? "period type" : "sample types", type, unit, its_type, its_unit);
        } else if (unit_scale(1, its_unit, unit, &ignored) < 1) {
            unit = its_unit;
        }
    }
    *ret_unit = unit;
    return 0;
}

int profile_make_compatible(struct profile *const *ps, size_t n, struct err *err)
{
    const struct profile *first = ps[0];
    const char **types = mem_array(first->n_sample_types, sizeof *types);
    char **copies = mem_array(first->n_sample_types, sizeof *copies);
    size_t n_types = 0;
    int rc = 0;
    for (size_t i = 0; i < first->n_sample_types; i++) {
        const char *type = profile_text(first, first->sample_types[i].type);
        bool everywhere = true;
        for (size_t k = 1; k < n; k++) everywhere &= find_type(ps[k], type) >= 0;
        if (everywhere) types[n_types] = copies[n_types] = mem_strdup(type), n_types++;
    }
    if (!n_types) rc = err_set(err, ERR_INPUT, "profiles have empty common sample type list");
    for (size_t k = 0; k < n && !rc; k++) select_types(ps[k], types, n_types);
    for (size_t i = 0; i < n_types; i++) mem_free(copies[i]);
    mem_free(copies);
    mem_free(types);
    if (rc || n < 2) return rc;
    const char *unit, *ignored;
    rc = finest_unit(ps, n, -1, &unit, err);
    for (size_t k = 0; k < n && !rc && unit; k++) {
        const char *old = profile_text(ps[k], ps[k]->period_type.unit);
        if (!ps[k]->period_type.type || !strcmp(old, unit)) continue;
        ps[k]->period = (int64_t)unit_scale(ps[k]->period, old, unit, &ignored);
        ps[k]->period_type.unit = profile_cstr(ps[k], unit);
    }
    for (int i = 0; !rc && i < (int)n_types; i++) {
        rc = finest_unit(ps, n, i, &unit, err);
        for (size_t k = 0; k < n && !rc; k++) {
            struct value_type *t = &ps[k]->sample_types[i];
            const char *old = profile_text(ps[k], t->unit);
            t->type = profile_cstr(ps[k], profile_text(first, first->sample_types[i].type));
            if (!strcmp(old, unit)) continue;
            double *factors = mem_array(n_types, sizeof *factors);
            for (size_t f = 0; f < n_types; f++)
                factors[f] = (int)f == i ? unit_scale(1, old, unit, &ignored) : 1;
            profile_scale_each(ps[k], factors);
            mem_free(factors);
            t->unit = profile_cstr(ps[k], unit);
        }
    }
    return rc;
}

static void sum_values(const struct profile *p, double *sums)
{
    for (size_t i = 0; i < p->n_sample_types; i++) sums[i] = 0;
    for (size_t s = 0; s < p->n_samples; s++)
        for (size_t i = 0; i < p->n_sample_types; i++) sums[i] += (double)profile_sample_values(p, s)[i];
}

void profile_normalize(struct profile *p, const struct profile *base)
{
    double *sums = mem_array(p->n_sample_types, sizeof *sums),
           *factors = mem_array(p->n_sample_types, sizeof *factors);
    sum_values(p, sums);
    sum_values(base, factors);
    for (size_t i = 0; i < p->n_sample_types; i++) factors[i] = sums[i] != 0 ? factors[i] / sums[i] : 0;
    profile_scale_each(p, factors);
    mem_free(sums);
    mem_free(factors);
}

int profile_subtract(struct profile **p, struct profile *base, bool is_diff, bool normalize, struct err *err)
{
    struct profile *pair[2] = {*p, base}, *merged;
    if (is_diff) profile_set_label(base, "pprof::base", "true");
    if (normalize) profile_normalize(*p, base);
    profile_scale(base, -1);
    int rc = profile_make_compatible(pair, 2, err);
    if (!rc) rc = profile_merge(pair, 2, &merged, err);
    if (rc) return rc;
    profile_free(*p);
    *p = merged;
    return 0;
}
