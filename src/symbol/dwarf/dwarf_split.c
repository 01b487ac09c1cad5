/* dwarf_split.c - finds the split unit of a skeleton, in a .dwo file of its own or in a .dwp package beside
 * the program. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "symbol/dwarf/dwarf_int.h"

struct contribution { /* offsets of one unit's parts in the sections of a package */
    uint64_t info, abbrev, str_offsets, rnglists, line;
};

static struct elf *try_elf(char *path)
{
    struct elf *elf = NULL;
    if (access(path, R_OK) != 0 || elf_open(path, &elf, NULL) < 0) elf = NULL;
    mem_free(path);
    return elf;
}

static struct dwarf_file *open_package(struct dwarf *d)
{
    if (d->dwp_sought) return d->dwp;
    d->dwp_sought = true;
    char *real = realpath(d->main->elf->path, NULL);
    struct elf *elf = try_elf(mem_printf("%s.dwp", d->main->elf->path));
    if (!elf && real) elf = try_elf(mem_printf("%s.dwp", real));
    for (const char *const *p = d->places.search; p && *p && !elf; p++)
        elf = try_elf(mem_printf("%s/%s.dwp", *p, path_base_name(d->main->elf->path)));
    free(real);
    if (elf) d->dwp = dwarf_file_open(d, elf, true, true, NULL);
    return d->dwp;
}

/* Finds the unit with this id in the index of a package. The index is a hash table of ids, followed by a
 * table of offsets with one column for each section. Returns false if the package does not have the unit. */
static bool find_in_package(const struct dwarf_file *f, uint64_t id, struct contribution *ret)
{
    struct rd r = rd_over(f->s.cu_index.p, f->s.cu_index.n);
    uint32_t version = rd_u32(&r); /* the new format has a 16-bit version and two zero bytes */
    uint32_t n_columns = rd_u32(&r), n_units = rd_u32(&r), n_slots = rd_u32(&r);
    if (r.bad || (version != 2 && version != 5) || n_slots == 0 || n_columns > 16) return false;
    struct rd ids = rd_sub(&r, 8ull * n_slots), rows = rd_sub(&r, 4ull * n_slots),
              kinds = rd_sub(&r, 4ull * n_columns), offsets = rd_sub(&r, 4ull * n_columns * n_units);
    if (r.bad) return false;
    uint32_t row = 0;
    for (uint32_t i = 0; i < n_slots && !row; i++) {
        uint64_t have;
        memcpy(&have, ids.p + 8ull * i, 8);
        if (have == id) memcpy(&row, rows.p + 4ull * i, 4);
    }
    if (!row || row > n_units) return false;
    *ret = (struct contribution){.info = UINT64_MAX};
    for (uint32_t c = 0; c < n_columns; c++) {
        uint32_t kind, offset;
        memcpy(&kind, kinds.p + 4ull * c, 4);
        memcpy(&offset, offsets.p + 4ull * ((uint64_t)(row - 1) * n_columns + c), 4);
        switch (kind) {
        case DW_SECT_INFO:
            ret->info = offset;
            break;
        case DW_SECT_ABBREV:
            ret->abbrev = offset;
            break;
        case DW_SECT_LINE:
            ret->line = offset;
            break;
        case DW_SECT_STR_OFFSETS:
            ret->str_offsets = offset;
            break;
        case DW_SECT_RNGLISTS:
            if (version == 5) ret->rnglists = offset;
            break;
        default:
            break;
        }
    }
    return ret->info != UINT64_MAX;
}

/* Opens the .dwo file of a skeleton. It tries the path in the unit, the program's folder, and the user's
 * folders. */
static struct elf *open_loose(struct dwarf *d, const struct unit *u)
{
    const char *name = u->root.dwo_name, *dir = u->root.dir;
    const char *root = d->places.root ? d->places.root : "";
    struct elf *elf = name[0] == '/' ? try_elf(mem_printf("%s%s", root, name))
                      : dir          ? try_elf(mem_printf("%s%s/%s", root, dir, name))
                                     : NULL;
    char *folder = path_folder(d->main->elf->path);
    if (!elf && name[0] != '/') elf = try_elf(mem_printf("%s/%s", folder, name));
    if (!elf) elf = try_elf(mem_printf("%s/%s", folder, path_base_name(name)));
    mem_free(folder);
    for (const char *const *p = d->places.search; p && *p && !elf; p++) {
        elf = try_elf(mem_printf("%s/%s", *p, name));
        if (!elf) elf = try_elf(mem_printf("%s/%s", *p, path_base_name(name)));
    }
    return elf;
}

static struct unit *adopt(struct dwarf_file *f, struct unit *skeleton, const struct unit *found,
                          const struct contribution *at)
{
    struct unit *u = arena_zalloc(&f->dwarf->memory, sizeof *u);
    memcpy(u, found, sizeof *u);
    u->skeleton = skeleton;
    u->abbrev_offset += at->abbrev;
    /* The tables of DWARF 5 start with a header, the tables of GNU's version 4 do not. */
    u->root.str_offsets_base = at->str_offsets + (u->version >= 5 ? (u->offset_bytes == 8 ? 16 : 8) : 0);
    u->root.rnglists_base = at->rnglists + (u->offset_bytes == 8 ? 20 : 12);
    return u;
}

static struct unit *find_split(struct unit *skeleton)
{
    struct dwarf *d = skeleton->file->dwarf;
    struct dwarf_file *package = open_package(d);
    struct contribution at = {0};
    struct unit found;
    if (package && find_in_package(package, skeleton->dwo_id, &at) &&
        dwarf_file_one_unit(package, at.info, &found))
        return adopt(package, skeleton, &found, &at);
    struct elf *elf = open_loose(d, skeleton);
    if (!elf) return NULL;
    struct dwarf_file *f = dwarf_file_open(d, elf, true, true, NULL);
    if (!f) return NULL;
    f->next = d->split_files;
    d->split_files = f;
    dwarf_file_units(f);
    for (size_t i = 0; i < f->n_units; i++) {
        if (f->units[i].version >= 5 && f->units[i].type != DW_UT_split_compile) continue;
        struct unit *u = adopt(f, skeleton, &f->units[i], &(struct contribution){0});
        if (unit_root(u) && u->dwo_id == skeleton->dwo_id) return u;
    }
    return NULL;
}

struct unit *dwarf_split_unit(struct unit *skeleton)
{
    pthread_mutex_lock(&skeleton->file->dwarf->lock);
    if (!skeleton->split_sought) {
        skeleton->split_sought = true;
        skeleton->split = find_split(skeleton);
        if (!skeleton->split) skeleton->file->dwarf->incomplete = true;
    }
    struct unit *split = skeleton->split;
    pthread_mutex_unlock(&skeleton->file->dwarf->lock);
    return split && unit_root(split) ? split : NULL;
}
