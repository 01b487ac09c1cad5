/* name_places.c - see name_places.h. */
#include "report/name_places.h"

#include <stdio.h>
#include <string.h>

#include "base/idmap.h"
#include "base/mem.h"
#include "base/path.h"

struct object {
    bool is_sought;
    struct symbol_object *found; /* NULL: not here */
};

/* Memory without a file, and the kernel: an offset would say nothing. */
static bool is_file(const char *name)
{
    return *name && strncmp(name, "//", 2) && (*name != '[' || !strcmp(name, "[vdso]"));
}

static struct symbol_object *object_of(const struct profile *p, const struct mapping *m, struct symbolizer *s,
                                       struct object *o)
{
    if (!o->is_sought && s)
        if (symbolizer_open(s, profile_text(p, m->filename), profile_text(p, m->build_id), &o->found, NULL))
            o->found = NULL;
    o->is_sought = true;
    return o->found;
}

void profile_name_places(struct profile *p, struct symbolizer *s)
{
    struct object *objects = mem_zalloc((p->n_mappings + 1) * sizeof *objects);
    struct idmap functions = {0}; /* by name */
    for (size_t i = 0; i < p->n_locations; i++) {
        struct location *l = &p->locations[i];
        if (l->n_lines || !l->address || !l->mapping || l->mapping > p->n_mappings) continue;
        const struct mapping *m = &p->mappings[l->mapping - 1];
        const char *file = profile_text(p, m->filename);
        if (!is_file(file) || l->address < m->start || (m->limit && l->address >= m->limit)) continue;
        uint64_t offset = l->address - m->start + m->file_offset, start;
        struct symbol_object *o = object_of(p, m, s, &objects[l->mapping - 1]);
        if (o) {
            uint64_t inside = symbol_object_address(o, l->address, m->start, m->limit, m->file_offset);
            if (symbol_function_start(o, inside, &start) && inside - start <= offset)
                offset -= inside - start;
        }
        char text[300];
        snprintf(text, sizeof text, "%.250s+0x%llx", path_base_name(file), (unsigned long long)offset);
        bool is_new;
        uint32_t name = profile_cstr(p, text), *slot = idmap_slot(&functions, name, &is_new);
        if (is_new) *slot = profile_add_function(p, name, name, 0, 0);
        l->first_line = (uint32_t)p->n_lines;
        l->n_lines = 1;
        *VEC_PUSH(p->lines, p->n_lines, p->cap_lines) = (struct line){.function = *slot};
    }
    idmap_free(&functions);
    mem_free(objects);
}
