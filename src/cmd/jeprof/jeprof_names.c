/* jeprof_names.c - see jeprof_names.h. */
#include "cmd/jeprof/jeprof_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "symbol/demangle/demangle.h"

const struct jeprof_object *jeprof_names_object(const struct jeprof_names *names, uint32_t name)
{
    for (size_t i = 0; i < names->n_objects; i++)
        if (names->objects[i].name == name) return &names->objects[i];
    return NULL;
}

/* Returns the path of the file below one of the --lib_prefix folders, or its path in the map. The caller
 * frees it with mem_free. */
static char *library_path(const char *path, const char *prefixes)
{
    while (*prefixes) {
        size_t n = strcspn(prefixes, ",");
        char *under = mem_printf("%.*s%s%s", (int)n, prefixes, *path == '/' ? "" : "/", path);
        if (access(under, R_OK) == 0) return under;
        mem_free(under);
        prefixes += n + (prefixes[n] == ',');
    }
    return mem_strdup(path);
}

static bool is_file_name(const char *name)
{
    return *name && *name != '[' && *name != '\1' && strncmp(name, "//anon", 6) && strncmp(name, "/dev/", 5);
}

static struct jeprof_object *open_object(struct jeprof_names *names, const struct jeprof_profile *p,
                                         uint32_t name, const struct jeprof_options *o,
                                         void (*warn)(const char *line))
{
    struct jeprof_object *made = VEC_PUSH(names->objects, names->n_objects, names->cap_objects);
    *made = (struct jeprof_object){.name = name};
    const char *text = strtab_get(&p->text, name).s;
    if (!is_file_name(text)) return made;
    char *path = library_path(text, o->lib_prefix);
    struct err err;
    if (symbolizer_open(names->symbolizer, path, NULL, &made->opened, &err))
        warn(err.text);
    else if (!elf_open(symbol_object_path(made->opened), &made->elf, &err))
        symtab_read(made->elf, &made->symtab);
    mem_free(path);
    return made;
}

/* Returns the last symbol that begins at or before the address. An address before all symbols gets the first
 * symbol, as in jeprof. In a stripped libjemalloc this is malloc, which is correct. */
static const struct symtab_entry *symbol_below(const struct symtab *t, uint64_t address)
{
    size_t low = 0, high = t->n_entries;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (t->entries[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &t->entries[low - 1] : t->n_entries ? &t->entries[0] : NULL;
}

static bool in_code(const struct elf *elf, uint64_t address)
{
    enum { EXECUTABLE = 4 };
    for (size_t i = 0; i < elf->n_sections; i++) {
        const struct elf_section *s = &elf->sections[i];
        if (s->flags & EXECUTABLE && address >= s->address && address - s->address < s->size_bytes)
            return true;
    }
    return false;
}

/* Returns the start address by which jeprof distinguishes functions with the same name, or 0. jeprof uses it
 * only if the `nm` symbol there begins with the short name. */
static uint64_t distinguishing_start(const struct jeprof_object *o, uint64_t address, const char *full)
{
    const struct symtab_entry *e = symbol_below(&o->symtab, address);
    if (!e) return 0;
    char *symbol = symbol_demangle(e->name), *shorter = jeprof_short_name(full, strlen(full));
    bool same = !strncmp(symbol, shorter, strlen(shorter));
    mem_free(symbol);
    mem_free(shorter);
    return same ? e->start : 0;
}

static void name_by_symbol_below(struct jeprof_profile *p, const struct jeprof_object *o, uint32_t place)
{
    uint64_t address = p->places[place].object_address;
    const struct symtab_entry *e =
        o->elf && in_code(o->elf, address) ? symbol_below(&o->symtab, address) : NULL;
    if (!e) return;
    char *full = symbol_demangle(e->name);
    jeprof_place_begin_frames(p, place);
    jeprof_place_add_frame(p, place, full, NULL, 0, e->start);
    mem_free(full);
}

static void name_places(struct jeprof_profile *p, const struct jeprof_object *o, const uint32_t *places,
                        size_t n)
{
    uint64_t *addresses = mem_array(n, sizeof *addresses);
    struct symbol_result found;
    for (size_t i = 0; i < n; i++) {
        struct jeprof_place *at = &p->places[places[i]];
        addresses[i] = at->object_address =
            symbol_object_address(o->opened, at->address, at->map_start, at->map_limit, at->map_offset);
    }
    symbol_lookup(o->opened, addresses, n, &found);
    for (size_t i = 0; i < n; i++) {
        bool any = false;
        for (size_t f = found.first_frame[i]; f < found.first_frame[i + 1]; f++) {
            const struct symbol_frame *frame = &found.frames[f];
            if (!frame->function) continue;
            if (!any) jeprof_place_begin_frames(p, places[i]);
            any = true;
            bool outermost = f + 1 == found.first_frame[i + 1];
            jeprof_place_add_frame(p, places[i], frame->function, frame->file, frame->line,
                                   outermost ? distinguishing_start(o, addresses[i], frame->function) : 0);
        }
        if (!any) name_by_symbol_below(p, o, places[i]);
    }
    symbol_result_free(&found);
    mem_free(addresses);
}

/* Names addresses outside the memory map with the library of --add_lib, as if it were loaded at address 0. */
static void name_from_extra(struct jeprof_names *names, struct jeprof_profile *p,
                            const struct jeprof_options *options, void (*warn)(const char *line))
{
    uint32_t *places = NULL, name = strtab_add_cstr(&p->text, options->add_lib);
    size_t n = 0, cap = 0;
    for (size_t i = 0; i < p->n_places; i++) {
        if (p->places[i].n_frames || p->places[i].object) continue;
        p->places[i].map_limit = UINT64_MAX;
        *VEC_PUSH(places, n, cap) = (uint32_t)i;
    }
    const struct jeprof_object *o = open_object(names, p, name, options, warn);
    if (n && o->opened) name_places(p, o, places, n);
    mem_free(places);
}

void jeprof_names_find(struct jeprof_names *names, struct jeprof_profile *p,
                       const struct jeprof_options *options, void (*warn)(const char *line))
{
    struct symbol_options how = {0};
    if (!names->symbolizer) names->symbolizer = symbolizer_new(&how);
    /* Group the places by object, in the order of the objects' names. */
    uint32_t *first = mem_zalloc((p->text.n_items + 2) * sizeof *first),
             *sorted = mem_array(p->n_places + 1, sizeof *sorted);
    size_t n_objects = p->text.n_items + 1;
    for (size_t i = 0; i < p->n_places; i++)
        if (!p->places[i].n_frames) first[p->places[i].object + 1]++;
    for (size_t i = 1; i <= n_objects; i++) first[i] += first[i - 1];
    uint32_t *next = mem_array(n_objects + 1, sizeof *next);
    memcpy(next, first, (n_objects + 1) * sizeof *next);
    for (size_t i = 0; i < p->n_places; i++)
        if (!p->places[i].n_frames) sorted[next[p->places[i].object]++] = (uint32_t)i;
    for (uint32_t object = 1; object < n_objects; object++) {
        uint32_t n = first[object + 1] - first[object];
        if (!n) continue;
        const struct jeprof_object *o = open_object(names, p, object, options, warn);
        if (o->opened) name_places(p, o, sorted + first[object], n);
    }
    mem_free(first);
    mem_free(next);
    mem_free(sorted);
    if (*options->add_lib) name_from_extra(names, p, options, warn);
}

void jeprof_names_free(struct jeprof_names *names)
{
    for (size_t i = 0; i < names->n_objects; i++) {
        symtab_free(&names->objects[i].symtab);
        elf_close(names->objects[i].elf);
    }
    mem_free(names->objects);
    symbolizer_free(names->symbolizer);
}
