/* jfr_join.c - merges what several threads read from one file; see jfr.h. */
#include <string.h>

#include "base/mem.h"
#include "format/jfr/jfr.h"

/* Maps the functions of `from` to those of `into`, by identity. The caller frees the map. */
static uint32_t *join_functions(struct jfr_world *into, const struct jfr_world *from)
{
    uint32_t *map = mem_array(from->p->n_functions + 1, sizeof *map);
    for (uint32_t id = 1; id < from->function_names.n_items; id++) {
        struct str identity = strtab_get(&from->function_names, id);
        uint32_t own_id = strtab_add(&into->function_names, identity.s, identity.len);
        if (own_id > into->p->n_functions) {
            const struct function *f = &from->p->functions[from->function_of[id]];
            into->function_of =
                mem_grow(into->function_of, &into->cap_function_of, own_id + 1, sizeof *into->function_of);
            into->function_of[own_id] =
                profile_add_function(into->p, profile_copy_string(into->p, from->p, f->name),
                                     profile_copy_string(into->p, from->p, f->system_name),
                                     profile_copy_string(into->p, from->p, f->filename), 0);
        }
        map[from->function_of[id]] = into->function_of[own_id];
    }
    return map;
}

static uint32_t *join_locations(struct jfr_world *into, const struct jfr_world *from)
{
    uint32_t *functions = join_functions(into, from), *map = mem_array(from->p->n_locations + 1, sizeof *map);
    for (size_t i = 0; i < from->locations.n_slots; i++) {
        if (!from->locations.used[i]) continue;
        uint64_t key = from->locations.keys[i];
        bool is_new;
        uint32_t *slot =
            idmap_slot(&into->locations, (uint64_t)functions[key >> 32] << 32 | (key & 0xffffffff), &is_new);
        if (is_new) {
            const struct location *l = &from->p->locations[from->locations.values[i]];
            struct str mapping = {.s = ""};
            if (l->mapping) mapping = profile_str(from->p, from->p->mappings[l->mapping - 1].filename);
            *slot = profile_add_location(into->p, 0, jfr_mapping_named(into, mapping.s, mapping.len));
            profile_add_line(into->p, functions[key >> 32], from->p->lines[l->first_line].line, 0);
        }
        map[from->locations.values[i]] = *slot;
    }
    mem_free(functions);
    return map;
}

void jfr_join(struct jfr_world *into, struct jfr_counts *into_counts, const struct jfr_world *from,
              const struct jfr_counts *from_counts)
{
    uint32_t *locations = join_locations(into, from), *stacks = mem_array(from->n_stacks + 1, sizeof *stacks);
    for (size_t s = 0; s < from->n_stacks; s++) {
        uint64_t start = from->stack_start[s], n = from->stack_start[s + 1] - start;
        into->frames_scratch = mem_grow(into->frames_scratch, &into->cap_frames_scratch, (size_t)n + 1,
                                        sizeof *into->frames_scratch);
        for (uint64_t i = 0; i < n; i++) into->frames_scratch[i] = locations[from->stack_frames[start + i]];
        stacks[s] = jfr_intern_stack(into, into->frames_scratch, (size_t)n);
    }
    for (size_t i = 0; i < from_counts->n_items; i++) {
        const struct jfr_count *c = &from_counts->items[i];
        struct jfr_count key = {.kind = c->kind,
                                .stack = stacks[c->stack],
                                .thread = profile_copy_string(into->p, from->p, (uint32_t)c->thread),
                                .class_id = profile_copy_string(into->p, from->p, (uint32_t)c->class_id),
                                .state = profile_copy_string(into->p, from->p, c->state),
                                .n = c->n,
                                .value = c->value};
        jfr_count_add(into_counts, &key);
    }
    into->n_truncated += from->n_truncated;
    into->n_unresolved += from->n_unresolved;
    mem_free(stacks);
    mem_free(locations);
}
