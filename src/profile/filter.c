/* filter.c - see filter.h. Each regular expression is matched once per distinct string, and the samples
 * are then filtered with the results. */
#include "profile/filter.h"

#include <string.h>

#include "base/mem.h"

/* The results of one expression for the profile's strings: 0 not matched yet, 1 no, 2 yes. */
struct answers {
    struct regex *re;
    uint8_t *of_string;
};

static struct answers answers_new(const struct profile *p, struct regex *re)
{
    return (struct answers){re, re ? mem_zalloc(p->strings.n_items) : NULL};
}

static bool matches(struct answers *a, const struct profile *p, uint32_t string)
{
    uint8_t *known = &a->of_string[string];
    if (!*known) {
        struct str s = profile_str(p, string);
        *known = regex_match(a->re, s.s, s.len) ? 2 : 1;
    }
    return *known == 2;
}

static bool line_matches(struct answers *a, const struct profile *p, const struct line *line)
{
    const struct function *f = &p->functions[line->function];
    return matches(a, p, f->name) || matches(a, p, f->filename);
}

static bool mapping_matches(struct answers *a, const struct profile *p, const struct location *l)
{
    return l->mapping && matches(a, p, p->mappings[l->mapping - 1].filename);
}

static bool location_matches(struct answers *a, const struct profile *p, const struct location *l)
{
    for (uint32_t i = 0; i < l->n_lines; i++)
        if (line_matches(a, p, &p->lines[l->first_line + i])) return true;
    return mapping_matches(a, p, l);
}

/* Keeps the lines of l that match, or those that do not. The rest of its range stays unused. */
static void keep_lines(struct answers *a, struct profile *p, struct location *l, bool keep_matching)
{
    bool whole = mapping_matches(a, p, l);
    if (whole && !keep_matching) l->n_lines = 0;
    if (whole) return;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < l->n_lines; i++) {
        const struct line line = p->lines[l->first_line + i];
        if (line_matches(a, p, &line) == keep_matching) p->lines[l->first_line + kept++] = line;
    }
    l->n_lines = kept;
}

/* Rewrites the samples. For each sample, edit may change the frames in place and returns their new number,
 * or SIZE_MAX to drop the sample. */
typedef size_t edit_frames(void *context, size_t sample, uint32_t *frames, size_t n);

static void rewrite_samples(struct profile *p, edit_frames *edit, void *context)
{
    size_t kept = 0, n_types = p->n_sample_types;
    uint64_t frame_end = 0, label_end = 0;
    if (!p->n_samples) return;
    for (size_t s = 0; s < p->n_samples; s++) {
        uint64_t f0 = p->sample_location_start[s];
        size_t n = profile_sample_depth(p, s), now = edit(context, s, p->sample_locations + f0, n);
        if (now == SIZE_MAX) continue;
        uint64_t l0 = p->sample_label_start[s], l1 = p->sample_label_start[s + 1];
        memmove(p->sample_locations + frame_end, p->sample_locations + f0, now * sizeof *p->sample_locations);
        if (l1 > l0) memmove(p->labels + label_end, p->labels + l0, (size_t)(l1 - l0) * sizeof *p->labels);
        memmove(p->sample_values + kept * n_types, p->sample_values + s * n_types,
                n_types * sizeof *p->sample_values);
        p->sample_location_start[kept] = frame_end;
        p->sample_label_start[kept] = label_end;
        frame_end += now;
        label_end += l1 - l0;
        kept++;
    }
    p->sample_location_start[kept] = frame_end;
    p->sample_label_start[kept] = label_end;
    p->n_samples = kept;
}

enum { NEITHER = 0, FOCUSED = 1, IGNORED = 2, HIDDEN = 4 };

struct by_name {
    uint8_t *of_location;
    bool any_hidden;
};

static size_t edit_by_name(void *context, size_t sample, uint32_t *frames, size_t n)
{
    (void)sample;
    const struct by_name *b = context;
    bool focused = false;
    for (size_t i = 0; i < n; i++) {
        if (b->of_location[frames[i]] & IGNORED) return SIZE_MAX;
        focused |= b->of_location[frames[i]] & FOCUSED;
    }
    if (!focused) return SIZE_MAX;
    if (!b->any_hidden) return n;
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (!(b->of_location[frames[i]] & HIDDEN)) frames[kept++] = frames[i];
    return kept ? kept : SIZE_MAX;
}

struct filter_matched profile_filter_by_name(struct profile *p, struct regex *focus, struct regex *ignore,
                                             struct regex *hide, struct regex *show)
{
    struct filter_matched matched = {0};
    if (!focus && !ignore && !hide && !show) {
        matched.focus = true;
        return matched;
    }
    struct answers f = answers_new(p, focus), g = answers_new(p, ignore), h = answers_new(p, hide),
                   w = answers_new(p, show);
    struct by_name b = {.of_location = mem_zalloc(p->n_locations)};
    for (size_t i = 0; i < p->n_locations; i++) {
        struct location *l = &p->locations[i];
        if (ignore && location_matches(&g, p, l)) {
            matched.ignore = true;
            b.of_location[i] |= IGNORED;
        } else if (!focus || location_matches(&f, p, l)) {
            matched.focus = true;
            b.of_location[i] |= FOCUSED;
        }
        if (hide && location_matches(&h, p, l)) {
            matched.hide = true;
            keep_lines(&h, p, l, false);
            if (!l->n_lines) b.of_location[i] |= HIDDEN;
        }
        if (show) {
            keep_lines(&w, p, l, true);
            if (l->n_lines)
                matched.show = true;
            else
                b.of_location[i] |= HIDDEN;
        }
        b.any_hidden |= (b.of_location[i] & HIDDEN) != 0;
    }
    rewrite_samples(p, edit_by_name, &b);
    mem_free(f.of_string);
    mem_free(g.of_string);
    mem_free(h.of_string);
    mem_free(w.of_string);
    mem_free(b.of_location);
    return matched;
}

static size_t edit_show_from(void *context, size_t sample, uint32_t *frames, size_t n)
{
    (void)sample;
    const uint8_t *is_match = context;
    for (size_t i = n; i > 0; i--)
        if (is_match[frames[i - 1]]) return i;
    return SIZE_MAX;
}

bool profile_show_from(struct profile *p, struct regex *re)
{
    if (!re) return false;
    struct answers a = answers_new(p, re);
    uint8_t *is_match = mem_zalloc(p->n_locations);
    bool any = false;
    for (size_t i = 0; i < p->n_locations; i++) {
        struct location *l = &p->locations[i];
        if (mapping_matches(&a, p, l)) {
            is_match[i] = 1;
        } else {
            for (uint32_t k = l->n_lines; k > 0 && !is_match[i]; k--) {
                if (!line_matches(&a, p, &p->lines[l->first_line + k - 1])) continue;
                l->n_lines = k; /* the callers that it is inlined into are removed */
                is_match[i] = 1;
            }
        }
        any |= is_match[i];
    }
    rewrite_samples(p, edit_show_from, is_match);
    mem_free(is_match);
    mem_free(a.of_string);
    return any;
}

static size_t edit_by_answer(void *context, size_t sample, uint32_t *frames, size_t n)
{
    (void)frames;
    return ((const uint8_t *)context)[sample] ? n : SIZE_MAX;
}

void profile_filter_by_test(struct profile *p, sample_test *keep, void *context)
{
    uint8_t *answer = mem_zalloc(p->n_samples); /* match all names before any frame moves */
    for (size_t s = 0; s < p->n_samples; s++) answer[s] = keep(context, p, s);
    rewrite_samples(p, edit_by_answer, answer);
    mem_free(answer);
}

/* Keeps the labels whose key has a non-zero result. */
static void keep_labels(struct profile *p, const uint8_t *keep_key)
{
    uint64_t end = 0;
    if (!p->n_samples) return;
    uint64_t from = p->sample_label_start[0];
    for (size_t s = 0; s < p->n_samples; s++) {
        uint64_t to = p->sample_label_start[s + 1];
        p->sample_label_start[s] = end;
        for (uint64_t i = from; i < to; i++)
            if (keep_key[p->labels[i].key]) p->labels[end++] = p->labels[i];
        from = to;
    }
    p->sample_label_start[p->n_samples] = end;
}

void profile_filter_labels(struct profile *p, struct regex *show, struct regex *hide, bool *ret_show_matched,
                           bool *ret_hide_matched)
{
    *ret_show_matched = *ret_hide_matched = false;
    if (!show && !hide) return;
    struct answers w = answers_new(p, show), h = answers_new(p, hide);
    uint8_t *keep = mem_zalloc(p->strings.n_items);
    for (uint64_t i = 0, n = p->n_samples ? p->sample_label_start[p->n_samples] : 0; i < n; i++) {
        uint32_t key = p->labels[i].key;
        bool shown = !show || matches(&w, p, key), hidden = hide && matches(&h, p, key);
        *ret_show_matched |= shown;
        *ret_hide_matched |= hidden;
        keep[key] = shown && !hidden;
    }
    keep_labels(p, keep);
    mem_free(keep);
    mem_free(w.of_string);
    mem_free(h.of_string);
}

void profile_remove_label(struct profile *p, const char *key)
{
    uint32_t id = strtab_find(&p->strings, key, strlen(key));
    if (id == UINT32_MAX) return;
    uint8_t *keep = mem_alloc(p->strings.n_items);
    memset(keep, 1, p->strings.n_items);
    keep[id] = 0;
    keep_labels(p, keep);
    mem_free(keep);
}

void profile_set_label(struct profile *p, const char *key, const char *value)
{
    profile_remove_label(p, key);
    uint32_t key_id = profile_cstr(p, key), value_id = profile_cstr(p, value);
    if (!p->n_samples) return;
    uint64_t n = p->sample_label_start[p->n_samples];
    struct label *labels = mem_array(n + p->n_samples, sizeof *labels);
    uint64_t end = 0, from = 0;
    for (size_t s = 0; s < p->n_samples; s++) {
        uint64_t to = p->sample_label_start[s + 1];
        p->sample_label_start[s] = end;
        labels[end++] = (struct label){.key = key_id, .str = value_id};
        for (; from < to; from++) labels[end++] = p->labels[from];
    }
    p->sample_label_start[p->n_samples] = end;
    mem_free(p->labels);
    p->labels = labels;
    p->cap_labels = end;
}

void profile_aggregate(struct profile *p, struct aggregate keep)
{
    for (size_t i = 0; i < p->n_mappings; i++) {
        struct mapping *m = &p->mappings[i];
        m->has_inline_frames &= keep.inlines;
        m->has_functions &= keep.function;
        m->has_filenames &= keep.filename;
        m->has_line_numbers &= keep.line;
    }
    for (size_t i = 0; i < p->n_functions; i++) {
        struct function *f = &p->functions[i];
        if (!keep.function) f->name = f->system_name = 0;
        if (!keep.filename) f->filename = 0;
    }
    for (size_t i = 0; i < p->n_locations; i++) {
        struct location *l = &p->locations[i];
        if (!keep.inlines && l->n_lines > 1) {
            l->first_line += l->n_lines - 1;
            l->n_lines = 1;
        }
        for (uint32_t k = 0; k < l->n_lines; k++) {
            struct line *line = &p->lines[l->first_line + k];
            if (!keep.line) line->line = 0;
            if (!keep.line || !keep.column) line->column = 0;
        }
        if (!keep.address) l->address = 0;
    }
}

static void *copy_array(const void *items, size_t n, size_t item_bytes)
{
    void *copy = mem_array(n, item_bytes);
    if (n) memcpy(copy, items, n * item_bytes);
    return copy;
}

struct profile *profile_copy(const struct profile *p)
{
    struct profile *c = mem_alloc(sizeof *c);
    *c = *p;
    c->strings = (struct strtab){0};
    for (size_t i = 0; i < p->strings.n_items; i++)
        strtab_add(&c->strings, p->strings.items[i].s, p->strings.items[i].len);
    uint64_t n_frames = p->n_samples ? p->sample_location_start[p->n_samples] : 0;
    uint64_t n_labels = p->n_samples ? p->sample_label_start[p->n_samples] : 0;
    size_t n_starts = p->n_samples ? p->n_samples + 1 : 0;
    c->sample_types = copy_array(p->sample_types, p->n_sample_types, sizeof *p->sample_types);
    c->sample_location_start =
        copy_array(p->sample_location_start, n_starts, sizeof *p->sample_location_start);
    c->sample_label_start = copy_array(p->sample_label_start, n_starts, sizeof *p->sample_label_start);
    c->sample_locations = copy_array(p->sample_locations, n_frames, sizeof *p->sample_locations);
    c->sample_values =
        copy_array(p->sample_values, p->n_samples * p->n_sample_types, sizeof *p->sample_values);
    c->labels = copy_array(p->labels, n_labels, sizeof *p->labels);
    c->mappings = copy_array(p->mappings, p->n_mappings, sizeof *p->mappings);
    c->locations = copy_array(p->locations, p->n_locations, sizeof *p->locations);
    c->lines = copy_array(p->lines, p->n_lines, sizeof *p->lines);
    c->functions = copy_array(p->functions, p->n_functions, sizeof *p->functions);
    c->comments = copy_array(p->comments, p->n_comments, sizeof *p->comments);
    c->cap_sample_types = p->n_sample_types;
    c->cap_samples = p->n_samples;
    c->cap_sample_locations = n_frames;
    c->cap_labels = n_labels;
    c->cap_mappings = p->n_mappings;
    c->cap_locations = p->n_locations;
    c->cap_lines = p->n_lines;
    c->cap_functions = p->n_functions;
    c->cap_comments = p->n_comments;
    return c;
}
