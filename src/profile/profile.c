/* profile.c - building and checking a profile; see profile.h. */
#include "profile/profile.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/idmap.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "base/text.h"

struct profile *profile_new(void)
{
    struct profile *p = mem_zalloc(sizeof *p);
    strtab_add(&p->strings, "", 0);
    return p;
}

void profile_free(struct profile *p)
{
    if (!p) return;
    strtab_free(&p->strings);
    mem_free(p->sample_types);
    mem_free(p->sample_location_start);
    mem_free(p->sample_locations);
    mem_free(p->sample_values);
    mem_free(p->sample_label_start);
    mem_free(p->labels);
    mem_free(p->mappings);
    mem_free(p->locations);
    mem_free(p->lines);
    mem_free(p->functions);
    mem_free(p->comments);
    mem_free(p);
}

uint32_t profile_string(struct profile *p, const char *s, size_t len)
{
    return strtab_add(&p->strings, s, len);
}

uint32_t profile_cstr(struct profile *p, const char *s)
{
    return strtab_add(&p->strings, s, strlen(s));
}

void profile_add_sample_type(struct profile *p, const char *type, const char *unit)
{
    struct value_type *t = VEC_PUSH(p->sample_types, p->n_sample_types, p->cap_sample_types);
    *t = (struct value_type){profile_cstr(p, type), profile_cstr(p, unit)};
}

void profile_add_comment(struct profile *p, const char *text)
{
    *VEC_PUSH(p->comments, p->n_comments, p->cap_comments) = profile_cstr(p, text);
}

uint32_t profile_add_mapping(struct profile *p, uint64_t start, uint64_t limit, uint64_t file_offset,
                             uint32_t filename, uint32_t build_id)
{
    uint32_t index = (uint32_t)p->n_mappings;
    *VEC_PUSH(p->mappings, p->n_mappings, p->cap_mappings) = (struct mapping){.id = index + 1,
                                                                              .start = start,
                                                                              .limit = limit,
                                                                              .file_offset = file_offset,
                                                                              .filename = filename,
                                                                              .build_id = build_id};
    return index;
}

uint32_t profile_add_function(struct profile *p, uint32_t name, uint32_t system_name, uint32_t filename,
                              int64_t start_line)
{
    uint32_t index = (uint32_t)p->n_functions;
    *VEC_PUSH(p->functions, p->n_functions, p->cap_functions) = (struct function){.id = index + 1,
                                                                                  .name = name,
                                                                                  .system_name = system_name,
                                                                                  .filename = filename,
                                                                                  .start_line = start_line};
    return index;
}

uint32_t profile_add_location(struct profile *p, uint64_t address, uint32_t mapping_plus_1)
{
    uint32_t index = (uint32_t)p->n_locations;
    *VEC_PUSH(p->locations, p->n_locations, p->cap_locations) = (struct location){
        .id = index + 1, .address = address, .mapping = mapping_plus_1, .first_line = (uint32_t)p->n_lines};
    return index;
}

void profile_add_line(struct profile *p, uint32_t function, int64_t line, int64_t column)
{
    *VEC_PUSH(p->lines, p->n_lines, p->cap_lines) = (struct line){function, line, column};
    p->locations[p->n_locations - 1].n_lines++;
}

void profile_add_sample(struct profile *p, const uint32_t *locations, size_t n_locations,
                        const int64_t *values)
{
    size_t s = p->n_samples, n_types = p->n_sample_types;
    if (s + 1 >= p->cap_samples) {
        size_t cap = p->cap_samples ? p->cap_samples * 2 : 64;
        p->sample_location_start =
            mem_realloc(p->sample_location_start, (cap + 1) * sizeof *p->sample_location_start);
        p->sample_label_start = mem_realloc(p->sample_label_start, (cap + 1) * sizeof *p->sample_label_start);
        p->sample_values = mem_realloc(p->sample_values, cap * n_types * sizeof *p->sample_values);
        if (!s) p->sample_location_start[0] = p->sample_label_start[0] = 0;
        p->cap_samples = cap;
    }
    uint64_t start = p->sample_location_start[s], end = start + n_locations;
    if (end > p->cap_sample_locations)
        p->sample_locations =
            mem_grow(p->sample_locations, &p->cap_sample_locations, end, sizeof *p->sample_locations);
    if (n_locations) memcpy(p->sample_locations + start, locations, n_locations * sizeof *locations);
    if (n_types) memcpy(p->sample_values + s * n_types, values, n_types * sizeof *values);
    p->sample_location_start[s + 1] = end;
    p->sample_label_start[s + 1] = p->sample_label_start[s];
    p->n_samples++;
}

static void add_label(struct profile *p, struct label label)
{
    uint64_t *end = &p->sample_label_start[p->n_samples];
    if (*end == p->cap_labels) p->labels = mem_grow(p->labels, &p->cap_labels, *end + 1, sizeof *p->labels);
    p->labels[(*end)++] = label;
}

void profile_add_label_str(struct profile *p, uint32_t key, uint32_t str)
{
    add_label(p, (struct label){.key = key, .str = str});
}

void profile_add_label_num(struct profile *p, uint32_t key, int64_t num, uint32_t unit)
{
    add_label(p, (struct label){.key = key, .num = num, .unit = unit});
}

void profile_name_location(struct profile *p, size_t location, uint32_t function)
{
    struct location *l = &p->locations[location];
    l->first_line = (uint32_t)p->n_lines;
    l->n_lines = 1;
    *VEC_PUSH(p->lines, p->n_lines, p->cap_lines) = (struct line){.function = function};
    if (l->mapping) p->mappings[l->mapping - 1].has_functions = true;
}

int64_t profile_total(const struct profile *p, size_t sample_index)
{
    uint64_t total =
        0; /* unsigned, so that the values of a hostile file wrap around instead of overflowing */
    for (size_t s = 0; s < p->n_samples; s++) total += (uint64_t)profile_sample_values(p, s)[sample_index];
    return (int64_t)total;
}

size_t profile_default_sample_index(const struct profile *p)
{
    if (p->default_sample_type)
        for (size_t i = 0; i < p->n_sample_types; i++)
            if (p->sample_types[i].type == p->default_sample_type) return i;
    return p->n_sample_types ? p->n_sample_types - 1 : 0;
}

int profile_sample_index(const struct profile *p, const char *name)
{
    int64_t number;
    if (text_to_int(name, INT64_MIN, INT64_MAX, &number))
        return number >= 0 && (size_t)number < p->n_sample_types ? (int)number : -1;
    for (int pass = 0; pass < 2; pass++) {
        const char *wanted = name;
        if (pass == 1) {
            if (strncmp(name, "inuse_", 6)) break;
            wanted += 6;
        }
        for (size_t i = 0; i < p->n_sample_types; i++)
            if (!strcmp(profile_text(p, p->sample_types[i].type), wanted)) return (int)i;
    }
    return -1;
}

int profile_choose_sample(const struct profile *p, const char *name, size_t *ret_index, struct err *err)
{
    if (!p->n_sample_types) return err_set(err, ERR_INPUT, "profile has no samples");
    int index = *name ? profile_sample_index(p, name) : (int)profile_default_sample_index(p);
    if (index >= 0) {
        *ret_index = (size_t)index;
        return 0;
    }
    if (!name[strspn(name, "+-0123456789")])
        return err_set(err, ERR_INPUT, "sample_index %s is outside the range [0..%zu]", name,
                       p->n_sample_types - 1);
    struct buf names = {0};
    for (size_t i = 0; i < p->n_sample_types; i++)
        buf_printf(&names, "%s%s", i ? " " : "", profile_text(p, p->sample_types[i].type));
    int rc = err_set(err, ERR_INPUT, "sample_index \"%s\" must be one of: [%s]", name, buf_cstr(&names));
    buf_free(&names);
    return rc;
}

static int check_ids(const char *kind, size_t n, const void *first, size_t stride, struct err *err)
{
    struct idmap seen = {0};
    int rc = 0;
    for (size_t i = 0; i < n && !rc; i++) {
        uint64_t id;
        bool is_new;
        memcpy(&id, (const char *)first + i * stride, sizeof id); /* id is the first field of each record */
        if (!id) rc = err_set(err, ERR_INPUT, "found %s with reserved ID=0", kind);
        idmap_slot(&seen, id, &is_new);
        if (!rc && !is_new)
            rc = err_set(err, ERR_INPUT, "multiple %ss with same id: %llu", kind, (unsigned long long)id);
    }
    idmap_free(&seen);
    return rc;
}

static bool strings_are_known(const struct profile *p)
{
    uint32_t largest = 0;
#define SEE(id) largest = (id) > largest ? (id) : largest
    for (size_t i = 0; i < p->n_sample_types; i++) SEE(p->sample_types[i].type), SEE(p->sample_types[i].unit);
    for (size_t i = 0; i < p->n_mappings; i++) SEE(p->mappings[i].filename), SEE(p->mappings[i].build_id);
    for (size_t i = 0; i < p->n_functions; i++)
        SEE(p->functions[i].name), SEE(p->functions[i].system_name), SEE(p->functions[i].filename);
    for (size_t i = 0; p->n_samples && i < p->sample_label_start[p->n_samples]; i++)
        SEE(p->labels[i].key), SEE(p->labels[i].str), SEE(p->labels[i].unit);
    for (size_t i = 0; i < p->n_comments; i++) SEE(p->comments[i]);
#undef SEE
    return !largest || largest < p->strings.n_items;
}

enum { RUN_FRAMES = 1 << 20 };

struct frames_check {
    const struct profile *p;
    atomic_bool is_wrong;
};

static void check_frames(void *context, size_t run, unsigned worker)
{
    (void)worker;
    struct frames_check *c = context;
    uint64_t first = (uint64_t)run * RUN_FRAMES, n_frames = c->p->sample_location_start[c->p->n_samples];
    uint64_t end = first + RUN_FRAMES < n_frames ? first + RUN_FRAMES : n_frames;
    size_t n_wrong = 0;
    for (uint64_t i = first; i < end; i++) n_wrong += c->p->sample_locations[i] >= c->p->n_locations;
    if (n_wrong) c->is_wrong = true;
}

static bool frames_are_known(const struct profile *p) /* there may be a hundred million entries */
{
    struct frames_check c = {.p = p};
    size_t n_runs = (size_t)((p->sample_location_start[p->n_samples] + RUN_FRAMES - 1) / RUN_FRAMES);
    parallel_for(n_runs, n_runs > 1 ? parallel_width() : 1, check_frames, &c);
    return !c.is_wrong;
}

int profile_check(const struct profile *p, struct err *err)
{
    if (!p->n_sample_types && p->n_samples) return err_set(err, ERR_INPUT, "missing sample type information");
    int rc = check_ids("mapping", p->n_mappings, p->mappings, sizeof *p->mappings, err);
    if (!rc) rc = check_ids("location", p->n_locations, p->locations, sizeof *p->locations, err);
    if (!rc) rc = check_ids("function", p->n_functions, p->functions, sizeof *p->functions, err);
    if (rc) return rc;
    if (p->strings.n_items && strtab_get(&p->strings, 0).len)
        return err_set(err, ERR_INPUT, "string 0 is not empty");
    if (!strings_are_known(p)) return err_set(err, ERR_INPUT, "a name is not in the string table");
    for (size_t i = 0; i < p->n_locations; i++) {
        const struct location *l = &p->locations[i];
        if (l->mapping > p->n_mappings) return err_set(err, ERR_INPUT, "location %zu: no such mapping", i);
        if ((uint64_t)l->first_line + l->n_lines > p->n_lines)
            return err_set(err, ERR_INPUT, "location %zu: no such line", i);
    }
    for (size_t i = 0; i < p->n_lines; i++)
        if (p->lines[i].function >= p->n_functions)
            return err_set(err, ERR_INPUT, "line %zu: no such function", i);
    if (p->n_samples) {
        if (p->sample_location_start[0] || p->sample_label_start[0])
            return err_set(err, ERR_INPUT, "sample 0: frames before the first");
        for (size_t s = 0; s < p->n_samples; s++) {
            if (p->sample_location_start[s] > p->sample_location_start[s + 1] ||
                p->sample_label_start[s] > p->sample_label_start[s + 1])
                return err_set(err, ERR_INPUT, "sample %zu: frames out of order", s);
        }
        if (!frames_are_known(p)) return err_set(err, ERR_INPUT, "a sample has no such location");
    }
    return 0;
}
