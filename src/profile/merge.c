/* merge.c - several profiles into one; see profile.h.
 *
 * Every record of a source is looked up in the result by content (a hash of it, then the content itself) and
 * added when it is new. Only what samples refer to comes along, and samples whose values are all zero do not.
 */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/parallel.h"
#include "profile/profile.h"

/* An index of records by the hash of their content; the records live elsewhere. */
struct content_index {
    uint32_t *slots; /* record + 1 */
    uint32_t *hashes;
    size_t n_slots, n_items;
};

static void content_index_grow(struct content_index *x)
{
    struct content_index old = *x;
    x->n_slots = old.n_slots ? old.n_slots * 2 : 1024;
    x->slots = mem_zalloc(x->n_slots * sizeof *x->slots);
    x->hashes = mem_array(x->n_slots, sizeof *x->hashes);
    for (size_t i = 0; i < old.n_slots; i++) {
        if (!old.slots[i]) continue;
        size_t at = old.hashes[i] & (x->n_slots - 1);
        while (x->slots[at]) at = (at + 1) & (x->n_slots - 1);
        x->slots[at] = old.slots[i];
        x->hashes[at] = old.hashes[i];
    }
    mem_free(old.slots);
    mem_free(old.hashes);
}

typedef bool same_content(const void *context, uint32_t record);

/* The slot of the record with this content: its value is record + 1, or 0 when there is none yet (then store
 * it there). */
static uint32_t *content_index_slot(struct content_index *x, uint32_t hash, same_content *same,
                                    const void *context)
{
    if (x->n_items * 2 >= x->n_slots) content_index_grow(x);
    size_t at = hash & (x->n_slots - 1);
    for (; x->slots[at]; at = (at + 1) & (x->n_slots - 1))
        if (x->hashes[at] == hash && same(context, x->slots[at] - 1)) return &x->slots[at];
    x->hashes[at] = hash;
    x->n_items++;
    return &x->slots[at];
}

static void content_index_free(struct content_index *x)
{
    mem_free(x->slots);
    mem_free(x->hashes);
}

struct merge {
    struct profile *to;
    const struct profile *from;
    struct content_index mappings, functions, locations, samples;
    /* of the current source: index there -> index in the result + 1, 0 when not looked up yet */
    uint32_t *string_of, *mapping_of, *function_of, *location_of;
    const uint32_t *frames; /* of the current sample */
    const struct label *labels;
    size_t n_labels;
    struct line *lines;
    size_t n_lines, cap_lines;
    size_t n_frames;
    /* what is being looked up */
    const struct mapping *mapping;
    uint64_t mapping_size;
    struct function function;
    struct location location;
    uint64_t location_offset;
};

static uint32_t map_string(struct merge *m, uint32_t id)
{
    if (!id) return 0;
    if (!m->string_of[id]) {
        struct str s = profile_str(m->from, id);
        m->string_of[id] = profile_string(m->to, s.s, s.len) + 1;
    }
    return m->string_of[id] - 1;
}

static uint32_t translated_string(const struct merge *m, uint32_t id) /* of one that was looked up */
{
    return id ? m->string_of[id] - 1 : 0;
}

/* Two mappings are one when they are the same size and file: a library is loaded at another address in each
 * process. */
static uint64_t rounded_size(const struct mapping *map)
{
    uint64_t size = map->limit - map->start;
    return (size + 0xfff) & ~(uint64_t)0xfff;
}

static bool same_mapping(const void *context, uint32_t record)
{
    const struct merge *m = context;
    const struct mapping *a = &m->to->mappings[record], *b = m->mapping;
    if (rounded_size(a) != rounded_size(b) || a->file_offset != b->file_offset || a->build_id != b->build_id)
        return false;
    return a->build_id || a->filename == b->filename;
}

static uint32_t map_mapping(struct merge *m, uint32_t index_plus_1)
{
    if (!index_plus_1) return 0;
    uint32_t *known = &m->mapping_of[index_plus_1 - 1];
    if (*known) return *known;
    struct mapping map = m->from->mappings[index_plus_1 - 1];
    map.filename = map_string(m, map.filename);
    map.build_id = map_string(m, map.build_id);
    m->mapping = &map;
    uint64_t key[3] = {rounded_size(&map), map.file_offset,
                       map.build_id ? (uint64_t)map.build_id << 32 : map.filename};
    uint32_t *slot = content_index_slot(&m->mappings, hash_bytes(key, sizeof key), same_mapping, m);
    if (!*slot) {
        map.id = m->to->n_mappings + 1;
        *VEC_PUSH(m->to->mappings, m->to->n_mappings, m->to->cap_mappings) = map;
        *slot = (uint32_t)m->to->n_mappings;
    }
    return *known = *slot;
}

static bool same_function(const void *context, uint32_t record)
{
    const struct merge *m = context;
    const struct function *a = &m->to->functions[record], *b = &m->function;
    return a->name == b->name && a->system_name == b->system_name && a->filename == b->filename &&
           a->start_line == b->start_line;
}

static uint32_t map_function(struct merge *m, uint32_t index)
{
    uint32_t *known = &m->function_of[index];
    if (*known) return *known - 1;
    struct function f = m->from->functions[index];
    f.name = map_string(m, f.name);
    f.system_name = map_string(m, f.system_name);
    f.filename = map_string(m, f.filename);
    f.id = 0;
    m->function = f;
    uint64_t key[3] = {(uint64_t)f.name << 32 | f.system_name, f.filename, (uint64_t)f.start_line};
    uint32_t *slot = content_index_slot(&m->functions, hash_bytes(key, sizeof key), same_function, m);
    if (!*slot) {
        f.id = m->to->n_functions + 1;
        *VEC_PUSH(m->to->functions, m->to->n_functions, m->to->cap_functions) = f;
        *slot = (uint32_t)m->to->n_functions;
    }
    *known = *slot;
    return *slot - 1;
}

static uint64_t offset_in_mapping(const struct profile *p, const struct location *l)
{
    return l->mapping ? l->address - p->mappings[l->mapping - 1].start : l->address;
}

static bool same_location(const void *context, uint32_t record)
{
    const struct merge *m = context;
    const struct location *a = &m->to->locations[record], *b = &m->location;
    if (a->mapping != b->mapping || a->is_folded != b->is_folded || a->n_lines != m->n_lines) return false;
    if (offset_in_mapping(m->to, a) != m->location_offset) return false;
    const struct line *x = m->to->lines + a->first_line;
    for (size_t i = 0; i < m->n_lines; i++) {
        const struct line *y = &m->lines[i];
        if (x[i].function != y->function || x[i].line != y->line || x[i].column != y->column) return false;
    }
    return true;
}

static uint32_t map_location(struct merge *m, uint32_t index)
{
    uint32_t *known = &m->location_of[index];
    if (*known) return *known - 1;
    const struct location *from = &m->from->locations[index];
    m->location_offset = offset_in_mapping(m->from, from);
    m->n_lines = 0;
    uint32_t mapping = map_mapping(m, from->mapping);
    uint64_t key[4] = {m->location_offset, (uint64_t)mapping << 1 | from->is_folded, from->n_lines, 0};
    for (uint32_t i = 0; i < from->n_lines; i++) {
        struct line line = m->from->lines[from->first_line + i];
        line.function = map_function(m, line.function);
        key[3] = hash_u64(key[3] ^ line.function ^ (uint64_t)line.line << 32 ^ (uint64_t)line.column << 20);
        *VEC_PUSH(m->lines, m->n_lines, m->cap_lines) = line;
    }
    m->location = (struct location){.mapping = mapping, .is_folded = from->is_folded};
    uint32_t *slot = content_index_slot(&m->locations, hash_bytes(key, sizeof key), same_location, m);
    if (!*slot) {
        struct location l = {.id = m->to->n_locations + 1,
                             .mapping = mapping,
                             .is_folded = from->is_folded,
                             .first_line = (uint32_t)m->to->n_lines,
                             .n_lines = (uint32_t)m->n_lines};
        l.address = m->location_offset + (mapping ? m->to->mappings[mapping - 1].start : 0);
        for (size_t i = 0; i < m->n_lines; i++)
            *VEC_PUSH(m->to->lines, m->to->n_lines, m->to->cap_lines) = m->lines[i];
        *VEC_PUSH(m->to->locations, m->to->n_locations, m->to->cap_locations) = l;
        *slot = (uint32_t)m->to->n_locations;
    }
    *known = *slot;
    return *slot - 1;
}

static bool same_sample(const void *context, uint32_t s)
{
    const struct merge *m = context;
    const struct profile *to = m->to;
    uint64_t n_labels = to->sample_label_start[s + 1] - to->sample_label_start[s];
    if (profile_sample_depth(to, s) != m->n_frames || n_labels != m->n_labels) return false;
    if (memcmp(profile_sample_frames(to, s), m->frames, m->n_frames * sizeof *m->frames)) return false;
    for (size_t i = 0; i < m->n_labels; i++) {
        const struct label *a = &to->labels[to->sample_label_start[s] + i], *b = &m->labels[i];
        if (a->key != b->key || a->str != b->str || a->num != b->num || a->unit != b->unit) return false;
    }
    return true;
}

static bool all_zero(const int64_t *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (values[i]) return false;
    return true;
}

/* A run of samples of the source, made ready side by side on all cores: frames and labels translated, hash
 * computed. What is left is to look each up in the result, in order. */
enum { RUN_SAMPLES = 2048 };

struct ready {
    struct merge *m;
    uint32_t *frames;     /* of all samples, at the source's own positions */
    struct label *labels; /* likewise */
    uint32_t *hashes;     /* by sample */
};

static void make_ready(void *context, size_t run, unsigned worker)
{
    (void)worker;
    struct ready *r = context;
    const struct merge *m = r->m;
    const struct profile *from = m->from;
    size_t end = (run + 1) * RUN_SAMPLES < from->n_samples ? (run + 1) * RUN_SAMPLES : from->n_samples;
    for (size_t s = run * RUN_SAMPLES; s < end; s++) {
        uint64_t first = from->sample_location_start[s], n = from->sample_location_start[s + 1] - first;
        for (uint64_t i = 0; i < n; i++)
            r->frames[first + i] = m->location_of[from->sample_locations[first + i]] - 1;
        uint32_t hash = hash_bytes(r->frames + first, n * sizeof *r->frames);
        for (uint64_t i = from->sample_label_start[s]; i < from->sample_label_start[s + 1]; i++) {
            struct label l = from->labels[i];
            l.key = translated_string(m, l.key);
            l.str = translated_string(m, l.str);
            l.unit = translated_string(m, l.unit);
            hash = (uint32_t)hash_u64(hash ^ (uint64_t)l.key << 32 ^ (uint64_t)l.str << 16 ^
                                      (uint64_t)l.num * 31);
            r->labels[i] = l;
        }
        r->hashes[s] = hash;
    }
}

/* Looks up, in the order of the samples, everything they refer to. */
static void map_references(struct merge *m)
{
    const struct profile *from = m->from;
    for (size_t s = 0; s < from->n_samples; s++) {
        if (all_zero(profile_sample_values(from, s), m->to->n_sample_types)) continue;
        const uint32_t *frames = profile_sample_frames(from, s);
        for (size_t i = 0, n = profile_sample_depth(from, s); i < n; i++)
            if (!m->location_of[frames[i]]) map_location(m, frames[i]);
        for (uint64_t i = from->sample_label_start[s]; i < from->sample_label_start[s + 1]; i++) {
            map_string(m, from->labels[i].key);
            map_string(m, from->labels[i].str);
            map_string(m, from->labels[i].unit);
        }
    }
}

static void merge_sample(struct merge *m, const struct ready *r, size_t s)
{
    const struct profile *from = m->from;
    const int64_t *values = profile_sample_values(from, s);
    size_t n_types = m->to->n_sample_types;
    if (all_zero(values, n_types)) return;
    m->frames = r->frames + from->sample_location_start[s];
    m->n_frames = profile_sample_depth(from, s);
    m->labels = r->labels + from->sample_label_start[s];
    m->n_labels = from->sample_label_start[s + 1] - from->sample_label_start[s];
    uint32_t *slot = content_index_slot(&m->samples, r->hashes[s], same_sample, m);
    if (*slot) {
        int64_t *sum = m->to->sample_values + (size_t)(*slot - 1) * n_types;
        for (size_t i = 0; i < n_types; i++) sum[i] = (int64_t)((uint64_t)sum[i] + (uint64_t)values[i]);
        return;
    }
    profile_add_sample(m->to, m->frames, m->n_frames, values);
    *slot = (uint32_t)m->to->n_samples;
    for (size_t i = 0; i < m->n_labels; i++) {
        if (m->labels[i].str)
            profile_add_label_str(m->to, m->labels[i].key, m->labels[i].str);
        else
            profile_add_label_num(m->to, m->labels[i].key, m->labels[i].num, m->labels[i].unit);
    }
}

static void merge_source(struct merge *m, const struct profile *from)
{
    m->from = from;
    m->string_of = mem_zalloc(from->strings.n_items * sizeof *m->string_of);
    m->mapping_of = mem_zalloc(from->n_mappings * sizeof *m->mapping_of);
    m->function_of = mem_zalloc(from->n_functions * sizeof *m->function_of);
    m->location_of = mem_zalloc(from->n_locations * sizeof *m->location_of);
    if (!m->to->n_mappings && from->n_mappings)
        map_mapping(m, 1); /* the first mapping is the main program: it stays first */
    if (from->n_samples) {
        struct ready r = {.m = m,
                          .frames = mem_array(from->sample_location_start[from->n_samples], sizeof *r.frames),
                          .labels = mem_array(from->sample_label_start[from->n_samples], sizeof *r.labels),
                          .hashes = mem_array(from->n_samples, sizeof *r.hashes)};
        map_references(m);
        parallel_for((from->n_samples + RUN_SAMPLES - 1) / RUN_SAMPLES, parallel_width(), make_ready, &r);
        for (size_t s = 0; s < from->n_samples; s++) merge_sample(m, &r, s);
        mem_free(r.frames);
        mem_free(r.labels);
        mem_free(r.hashes);
    }
    mem_free(m->string_of);
    mem_free(m->mapping_of);
    mem_free(m->function_of);
    mem_free(m->location_of);
}

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

static uint32_t copy_string(struct profile *to, const struct profile *from, uint32_t id)
{
    struct str s = profile_str(from, id);
    return profile_string(to, s.s, s.len);
}

static void merge_headers(struct profile *to, struct profile *const *sources, size_t n_sources)
{
    const struct profile *first = sources[0];
    for (size_t i = 0; i < first->n_sample_types; i++)
        profile_add_sample_type(to, profile_text(first, first->sample_types[i].type),
                                profile_text(first, first->sample_types[i].unit));
    to->period_type.type = copy_string(to, first, first->period_type.type);
    to->period_type.unit = copy_string(to, first, first->period_type.unit);
    to->has_period_type = first->has_period_type;
    to->drop_frames = copy_string(to, first, first->drop_frames);
    to->keep_frames = copy_string(to, first, first->keep_frames);
    for (size_t i = 0; i < n_sources; i++) {
        const struct profile *p = sources[i];
        if (!to->time_ns || (p->time_ns && p->time_ns < to->time_ns)) to->time_ns = p->time_ns;
        to->duration_ns += p->duration_ns;
        if (p->period > to->period) to->period = p->period;
        if (!to->default_sample_type) to->default_sample_type = copy_string(to, p, p->default_sample_type);
        if (!to->doc_url) to->doc_url = copy_string(to, p, p->doc_url);
        for (size_t c = 0; c < p->n_comments; c++) {
            uint32_t id = copy_string(to, p, p->comments[c]);
            bool known = false;
            for (size_t k = 0; k < to->n_comments; k++) known |= to->comments[k] == id;
            if (!known) *VEC_PUSH(to->comments, to->n_comments, to->cap_comments) = id;
        }
    }
}

int profile_merge(struct profile *const *sources, size_t n_sources, struct profile **ret_merged,
                  struct err *err)
{
    if (!n_sources) return err_set(err, ERR_INPUT, "no profiles to merge");
    for (size_t i = 1; i < n_sources; i++) {
        int rc = check_compatible(sources[0], sources[i], err);
        if (rc) return rc;
    }
    struct merge m = {.to = profile_new()};
    merge_headers(m.to, sources, n_sources);
    for (size_t i = 0; i < n_sources; i++) merge_source(&m, sources[i]);
    content_index_free(&m.mappings);
    content_index_free(&m.functions);
    content_index_free(&m.locations);
    content_index_free(&m.samples);
    mem_free(m.lines);
    /* Opposite values may have met (a diff): such samples say nothing any more. One more pass takes them, and
     * what only they used, out. */
    for (size_t s = 0; s < m.to->n_samples; s++) {
        if (!all_zero(profile_sample_values(m.to, s), m.to->n_sample_types)) continue;
        struct profile *with_zeros = m.to;
        int rc = profile_merge(&with_zeros, 1, ret_merged, err);
        profile_free(with_zeros);
        return rc;
    }
    *ret_merged = m.to;
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
