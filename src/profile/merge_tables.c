/* merge_tables.c - strings, mappings, functions and locations of a source into the result; see merge_int.h.
 *
 * A record is looked up by content: a hash of it, then the content itself.
 */
#include <string.h>

#include "base/mem.h"
#include "profile/merge_int.h"

/* ---- the index ---- */

static void content_index_grow(struct content_index *x)
{
    struct content_index old = *x;
    x->n_slots = old.n_slots ? old.n_slots * 2 : 1024;
    x->slots = mem_zalloc(x->n_slots * sizeof *x->slots);
    for (size_t i = 0; i < old.n_slots; i++) {
        if (!old.slots[i]) continue;
        size_t at = (old.slots[i] >> 32) & (x->n_slots - 1);
        while (x->slots[at]) at = (at + 1) & (x->n_slots - 1);
        x->slots[at] = old.slots[i];
    }
    mem_free(old.slots);
}

uint64_t *content_index_slot(struct content_index *x, uint32_t hash, same_content *same, const void *context)
{
    if (x->n_items * 2 >= x->n_slots) content_index_grow(x);
    size_t at = hash & (x->n_slots - 1);
    for (; x->slots[at]; at = (at + 1) & (x->n_slots - 1))
        if (x->slots[at] >> 32 == hash && same(context, (uint32_t)x->slots[at] - 1)) return &x->slots[at];
    x->slots[at] = (uint64_t)hash << 32;
    x->n_items++;
    return &x->slots[at];
}

void content_index_free(struct content_index *x)
{
    mem_free(x->slots);
}

/* ---- what is used ---- */

static inline void note_use(struct merge_source *s, uint8_t *seen, uint32_t index, bool is_string)
{
    if (seen[index]) return;
    seen[index] = 1;
    *VEC_PUSH(s->uses, s->n_uses, s->cap_uses) = (struct merge_use){index, is_string};
}

void merge_look_over(struct merge_source *s)
{
    const struct profile *p = s->p;
    uint8_t *seen_location = mem_zalloc(p->n_locations), *seen_string = mem_zalloc(p->strings.n_items);
    seen_string[0] = 1;
    for (size_t i = 0; i < p->n_samples; i++) {
        if (merge_all_zero(profile_sample_values(p, i), p->n_sample_types)) continue;
        const uint32_t *frames = profile_sample_frames(p, i);
        for (size_t k = 0, n = profile_sample_depth(p, i); k < n; k++)
            note_use(s, seen_location, frames[k], false);
        for (uint64_t k = p->sample_label_start[i]; k < p->sample_label_start[i + 1]; k++) {
            note_use(s, seen_string, p->labels[k].key, true);
            note_use(s, seen_string, p->labels[k].str, true);
            note_use(s, seen_string, p->labels[k].unit, true);
        }
    }
    mem_free(seen_location);
    mem_free(seen_string);
    s->string_of = mem_zalloc(p->strings.n_items * sizeof *s->string_of);
    s->mapping_of = mem_zalloc(p->n_mappings * sizeof *s->mapping_of);
    s->function_of = mem_zalloc(p->n_functions * sizeof *s->function_of);
    s->location_of = mem_zalloc(p->n_locations * sizeof *s->location_of);
}

/* ---- looking up ---- */

struct lookup {
    struct merge *m;
    const struct merge_source *s;
    /* what is being looked up */
    const struct mapping *mapping;
    struct function function;
    struct location location;
    uint64_t location_offset;
};

static uint32_t map_string(struct lookup *l, uint32_t id)
{
    if (!id) return 0;
    uint32_t *known = &l->s->string_of[id];
    if (!*known) {
        struct str s = profile_str(l->s->p, id);
        *known = strtab_add_hashed(&l->m->to->strings, s.s, s.len, s.hash) + 1;
    }
    return *known - 1;
}

/* Two mappings are equal if they have the same size and file, because each process loads a library at
 * another address. */
static uint64_t rounded_size(const struct mapping *map)
{
    uint64_t size = map->limit - map->start;
    return (size + 0xfff) & ~(uint64_t)0xfff;
}

static bool same_mapping(const void *context, uint32_t record)
{
    const struct lookup *l = context;
    const struct mapping *a = &l->m->to->mappings[record], *b = l->mapping;
    if (rounded_size(a) != rounded_size(b) || a->file_offset != b->file_offset || a->build_id != b->build_id)
        return false;
    return a->build_id || a->filename == b->filename;
}

static uint32_t map_mapping(struct lookup *l, uint32_t index_plus_1)
{
    if (!index_plus_1) return 0;
    uint32_t *known = &l->s->mapping_of[index_plus_1 - 1];
    if (*known) return *known;
    struct profile *to = l->m->to;
    struct mapping map = l->s->p->mappings[index_plus_1 - 1];
    map.filename = map_string(l, map.filename);
    map.build_id = map_string(l, map.build_id);
    l->mapping = &map;
    uint64_t key[3] = {rounded_size(&map), map.file_offset,
                       map.build_id ? (uint64_t)map.build_id << 32 : map.filename};
    uint64_t *slot = content_index_slot(&l->m->mappings, hash_bytes(key, sizeof key), same_mapping, l);
    if (!(uint32_t)*slot) {
        content_index_set(slot, (uint32_t)to->n_mappings);
        map.id = to->n_mappings + 1;
        *VEC_PUSH(to->mappings, to->n_mappings, to->cap_mappings) = map;
    }
    return *known = (uint32_t)*slot;
}

static bool same_function(const void *context, uint32_t record)
{
    const struct lookup *l = context;
    const struct function *a = &l->m->to->functions[record], *b = &l->function;
    return a->name == b->name && a->system_name == b->system_name && a->filename == b->filename &&
           a->start_line == b->start_line;
}

static uint32_t map_function(struct lookup *l, uint32_t index)
{
    uint32_t *known = &l->s->function_of[index];
    if (*known) return *known - 1;
    struct profile *to = l->m->to;
    struct function f = l->s->p->functions[index];
    f.name = map_string(l, f.name);
    f.system_name = map_string(l, f.system_name);
    f.filename = map_string(l, f.filename);
    l->function = f;
    uint64_t key[3] = {(uint64_t)f.name << 32 | f.system_name, f.filename, (uint64_t)f.start_line};
    uint64_t *slot = content_index_slot(&l->m->functions, hash_bytes(key, sizeof key), same_function, l);
    if (!(uint32_t)*slot) {
        content_index_set(slot, (uint32_t)to->n_functions);
        f.id = to->n_functions + 1;
        *VEC_PUSH(to->functions, to->n_functions, to->cap_functions) = f;
    }
    *known = (uint32_t)*slot;
    return *known - 1;
}

static uint64_t offset_in_mapping(const struct profile *p, const struct location *l)
{
    return l->mapping ? l->address - p->mappings[l->mapping - 1].start : l->address;
}

static bool same_location(const void *context, uint32_t record)
{
    const struct lookup *l = context;
    const struct merge *m = l->m;
    const struct location *a = &m->to->locations[record], *b = &l->location;
    if (a->mapping != b->mapping || a->is_folded != b->is_folded || a->n_lines != m->n_lines) return false;
    if (offset_in_mapping(m->to, a) != l->location_offset) return false;
    const struct line *x = m->to->lines + a->first_line;
    for (size_t i = 0; i < m->n_lines; i++) {
        const struct line *y = &m->lines[i];
        if (x[i].function != y->function || x[i].line != y->line || x[i].column != y->column) return false;
    }
    return true;
}

static uint32_t add_location(struct lookup *l)
{
    struct profile *to = l->m->to;
    struct location new = l->location;
    new.id = to->n_locations + 1;
    new.first_line = (uint32_t)to->n_lines;
    new.n_lines = (uint32_t)l->m->n_lines;
    new.address = l->location_offset + (new.mapping ? to->mappings[new.mapping - 1].start : 0);
    for (size_t i = 0; i < l->m->n_lines; i++)
        *VEC_PUSH(to->lines, to->n_lines, to->cap_lines) = l->m->lines[i];
    *VEC_PUSH(to->locations, to->n_locations, to->cap_locations) = new;
    return (uint32_t)to->n_locations - 1;
}

static void map_location(struct lookup *l, uint32_t index)
{
    uint32_t *known = &l->s->location_of[index];
    if (*known) return;
    struct merge *m = l->m;
    const struct profile *p = l->s->p;
    const struct location *from = &p->locations[index];
    l->location_offset = offset_in_mapping(p, from);
    l->location = (struct location){.mapping = map_mapping(l, from->mapping), .is_folded = from->is_folded};
    m->n_lines = 0;
    for (uint32_t i = 0; i < from->n_lines; i++) {
        struct line line = p->lines[from->first_line + i];
        line.function = map_function(l, line.function);
        *VEC_PUSH(m->lines, m->n_lines, m->cap_lines) = line;
    }
    uint64_t key[4] = {l->location_offset, (uint64_t)l->location.mapping << 1 | from->is_folded,
                       from->n_lines, 0};
    for (size_t i = 0; i < m->n_lines; i++)
        key[3] = hash_u64(key[3] ^ m->lines[i].function ^ (uint64_t)m->lines[i].line << 32 ^
                          (uint64_t)m->lines[i].column << 20);
    uint64_t *slot = content_index_slot(&m->locations, hash_bytes(key, sizeof key), same_location, l);
    if (!(uint32_t)*slot) content_index_set(slot, add_location(l));
    *known = (uint32_t)*slot;
}

/* ---- records that equal those of the previous source ---- */

static bool equal_strings(const struct profile *p, const struct profile *q, uint32_t id)
{
    const struct str *a = &p->strings.items[id], *b = &q->strings.items[id];
    return a->hash == b->hash && a->len == b->len && !memcmp(a->s, b->s, a->len);
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Goes through the tables in memory order. A record reuses the index that it had in the previous source
 * only if all records that it refers to do. An index of 0 was unknown in the previous source, too. */
static void take_over_places(struct merge_source *s, const struct merge_source *before)
{
    const struct profile *p = s->p, *q = before->p;
    s->string_of[0] = 1;
    for (size_t i = 1, n = smaller(p->strings.n_items, q->strings.n_items); i < n; i++)
        if (before->string_of[i] && equal_strings(p, q, (uint32_t)i)) s->string_of[i] = before->string_of[i];
    for (size_t i = 0, n = smaller(p->n_mappings, q->n_mappings); i < n; i++) {
        const struct mapping *a = &p->mappings[i], *b = &q->mappings[i];
        if (a->start == b->start && a->limit == b->limit && a->file_offset == b->file_offset &&
            a->filename == b->filename && a->build_id == b->build_id && s->string_of[a->filename] &&
            s->string_of[a->build_id])
            s->mapping_of[i] = before->mapping_of[i];
    }
    for (size_t i = 0, n = smaller(p->n_functions, q->n_functions); i < n; i++) {
        const struct function *a = &p->functions[i], *b = &q->functions[i];
        if (a->name == b->name && a->system_name == b->system_name && a->filename == b->filename &&
            a->start_line == b->start_line && s->string_of[a->name] && s->string_of[a->system_name] &&
            s->string_of[a->filename])
            s->function_of[i] = before->function_of[i];
    }
    for (size_t i = 0, n = smaller(p->n_locations, q->n_locations); i < n; i++) {
        const struct location *a = &p->locations[i], *b = &q->locations[i];
        if (a->address != b->address || a->mapping != b->mapping || a->is_folded != b->is_folded ||
            a->n_lines != b->n_lines || (a->mapping && !s->mapping_of[a->mapping - 1]))
            continue;
        uint32_t n_same = 0;
        for (; n_same < a->n_lines; n_same++) {
            const struct line *x = &p->lines[a->first_line + n_same], *y = &q->lines[b->first_line + n_same];
            if (x->function != y->function || x->line != y->line || x->column != y->column ||
                !s->function_of[x->function])
                break;
        }
        if (n_same == a->n_lines) s->location_of[i] = before->location_of[i];
    }
}

void merge_tables(struct merge *m, struct merge_source *s)
{
    struct lookup l = {.m = m, .s = s};
    if (s->before) take_over_places(s, s->before);
    if (!m->to->n_mappings && s->p->n_mappings)
        map_mapping(&l, 1); /* the first mapping is the main program and stays first */
    for (size_t i = 0; i < s->n_uses; i++) {
        if (s->uses[i].is_string)
            map_string(&l, s->uses[i].index);
        else
            map_location(&l, s->uses[i].index);
    }
}
