/* dwarf_unit.c - reads the sections of a file, its units, and their first entries. */
#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/parallel.h"
#include "symbol/dwarf/dwarf_int.h"

enum { MAX_UNITS = 16 << 20 };

/* ---- sections ---- */

struct section_wish {
    const char *name;
    size_t place; /* offset in struct dwarf_sections */
};

#define WISH(field)                                                                                          \
    {                                                                                                        \
#field, offsetof(struct dwarf_sections, field)                                                       \
    }
static const struct section_wish wishes[] = {WISH(info),     WISH(str),     WISH(line),    WISH(rnglists),
                                             WISH(ranges),   WISH(abbrev),  WISH(addr),    WISH(str_offsets),
                                             WISH(line_str), WISH(aranges), WISH(cu_index)};
enum { N_WISHES = sizeof wishes / sizeof *wishes };

struct section_load {
    struct dwarf_file *file;
    struct err errors[N_WISHES];
};

static struct elf_section *find_section(const struct dwarf_file *f, const char *name)
{
    char full[64];
    bool index = !strcmp(name, "cu_index");
    snprintf(full, sizeof full, ".debug_%s%s", name, f->is_split && !index ? ".dwo" : "");
    struct elf_section *s = elf_find(f->elf, full);
    if (s) return s;
    snprintf(full, sizeof full, ".zdebug_%s%s", name, f->is_split && !index ? ".dwo" : "");
    return elf_find(f->elf, full);
}

static void load_one(void *context, size_t i, unsigned worker)
{
    (void)worker;
    struct section_load *load = context;
    struct elf_section *s = find_section(load->file, wishes[i].name);
    struct span data = {0};
    if (!s || elf_data(load->file->elf, s, &data, &load->errors[i]) < 0) return;
    memcpy((char *)&load->file->s + wishes[i].place, &data, sizeof data);
}

bool dwarf_file_sections(struct dwarf_file *f, unsigned n_threads, struct err *err)
{
    struct section_load load = {.file = f};
    bool packed = false;
    for (size_t i = 0; i < N_WISHES; i++) {
        const struct elf_section *s = find_section(f, wishes[i].name);
        packed |= s && elf_is_packed(s) && s->size_bytes > 1 << 20;
    }
    parallel_for(N_WISHES, packed ? n_threads : 1, load_one, &load);
    for (size_t i = 0; i < N_WISHES; i++)
        if (load.errors[i].code) {
            if (err) *err = load.errors[i];
            return false;
        }
    return true;
}

static uint64_t lowest_code(const struct elf *elf)
{
    uint64_t lowest = UINT64_MAX;
    if (elf->type == ET_REL) return 0;
    for (size_t i = 0; i < elf->n_sections; i++) {
        const struct elf_section *s = &elf->sections[i];
        if ((s->flags & (SHF_ALLOC | SHF_EXECINSTR)) == (SHF_ALLOC | SHF_EXECINSTR) && s->address < lowest)
            lowest = s->address;
    }
    if (lowest != UINT64_MAX) return lowest;
    for (size_t i = 0; i < elf->n_segments; i++) {
        const struct elf_segment *s = &elf->segments[i];
        if (s->type == PT_LOAD && (s->flags & PF_X) && s->address < lowest) lowest = s->address;
    }
    return lowest == UINT64_MAX ? 0 : lowest;
}

/* ---- units ---- */

/* Reads the header at offset. Returns false at the end of the section, or if the header's length is wrong, so
 * that the next unit cannot be found. */
static bool read_header(struct dwarf_file *f, uint64_t offset, struct unit *u)
{
    struct rd r = rd_over(f->s.info.p, f->s.info.n);
    rd_skip(&r, offset);
    *u = (struct unit){.file = f, .offset = offset, .offset_bytes = 4, .type = DW_UT_compile};
    uint64_t length = rd_u32(&r);
    if (length == 0xffffffff) {
        length = rd_u64(&r);
        u->offset_bytes = 8;
    }
    if (r.bad || length > rd_left(&r) || length < 7) return false;
    u->end = (uint64_t)(r.p - f->s.info.p) + length;
    r.end = r.p + length;
    u->version = rd_u16(&r);
    if (u->version >= 5) {
        u->type = rd_u8(&r);
        u->address_bytes = rd_u8(&r);
        u->abbrev_offset = u->offset_bytes == 8 ? rd_u64(&r) : rd_u32(&r);
        if (u->type == DW_UT_skeleton || u->type == DW_UT_split_compile)
            u->dwo_id = rd_u64(&r);
        else if (u->type == DW_UT_type || u->type == DW_UT_split_type)
            rd_skip(&r, 8 + (uint64_t)u->offset_bytes);
    } else {
        u->abbrev_offset = u->offset_bytes == 8 ? rd_u64(&r) : rd_u32(&r);
        u->address_bytes = rd_u8(&r);
    }
    u->first_entry = (uint64_t)(r.p - f->s.info.p);
    if (r.bad || u->version < 2 || u->version > 5 || (u->address_bytes != 4 && u->address_bytes != 8))
        u->root_state = 2; /* this unit cannot be read, but the units behind it may be readable */
    return true;
}

int dwarf_file_units(struct dwarf_file *f)
{
    struct unit u;
    if (f->units_listed) return f->n_units ? 0 : -1;
    f->units_listed = true;
    for (uint64_t at = 0; at < f->s.info.n && f->n_units < MAX_UNITS && read_header(f, at, &u); at = u.end)
        *VEC_PUSH(f->units, f->n_units, f->cap_units) = u;
    return f->n_units ? 0 : -1;
}

static size_t units_up_to(const struct dwarf_file *f, uint64_t info_offset)
{
    size_t low = 0, high = f->n_units;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (f->units[middle].offset <= info_offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct unit *file_unit_starting(struct dwarf_file *f, uint64_t info_offset)
{
    size_t n = units_up_to(f, info_offset);
    return n && f->units[n - 1].offset == info_offset ? &f->units[n - 1] : NULL;
}

struct unit *file_unit_at(struct dwarf_file *f, uint64_t info_offset)
{
    /* The units are listed already, except in a lookup of a handful of addresses. Such a lookup runs in one
     * thread, so that listing them here needs no lock. */
    if (f == f->dwarf->main) dwarf_file_units(f);
    size_t n = units_up_to(f, info_offset);
    if (!n) return NULL;
    struct unit *u = &f->units[n - 1];
    return info_offset >= u->first_entry && info_offset < u->end ? u : NULL;
}

/* ---- the first entry ---- */

/* Returns the abbreviation table of a unit, which other units may share, or NULL. Several threads may look
 * for the same table. They parse it without the lock, so that nothing waits for a long table. Under the lock,
 * the first thread adds its copy to the file; a later thread finds that copy and drops its own. */
static struct abbrevs *find_table(struct unit *u)
{
    struct dwarf_file *f = u->file;
    uint32_t sizes = (uint32_t)u->version << 16 | (uint32_t)u->address_bytes << 8 | u->offset_bytes;
    uint64_t key = u->abbrev_offset << 20 ^ sizes;
    struct abbrevs *mine = NULL, *kept = NULL;
    uint64_t n_parsed = 0;
    for (;;) {
        uint32_t at;
        pthread_mutex_lock(&f->dwarf->lock);
        f->abbrev_budget -= n_parsed < f->abbrev_budget ? n_parsed : f->abbrev_budget;
        bool out_of_room = !f->abbrev_budget;
        if (idmap_find(&f->table_ids, key, &at)) {
            kept = f->tables[at];
            if (kept->offset != u->abbrev_offset || kept->key != sizes) kept = NULL;
        } else if (mine) {
            bool is_new;
            *idmap_slot(&f->table_ids, key, &is_new) = (uint32_t)f->n_tables;
            kept = *VEC_PUSH(f->tables, f->n_tables, f->cap_tables) = mine;
            mine = NULL;
        }
        pthread_mutex_unlock(&f->dwarf->lock);
        if (kept || mine) break;
        if (out_of_room) return NULL;
        mine = abbrevs_parse(f->s.abbrev, u->abbrev_offset, u);
        if (!mine) return NULL;
        n_parsed = mine->n_bytes;
        mine->offset = u->abbrev_offset;
        mine->key = sizes;
    }
    if (mine) abbrevs_free(mine);
    return kept;
}

static bool is_constant(uint16_t form)
{
    return form != DW_FORM_addr && form != DW_FORM_addrx &&
           (form < DW_FORM_addrx1 || form > DW_FORM_addrx4) && form != DW_FORM_GNU_addr_index;
}

static bool is_named_by_symbols(uint64_t language)
{
    switch (language) {
    case 0x31: /* assemblers write one entry for each name of an address */
    case 0x8001:
    case 0x04: /* C++, in its versions */
    case 0x1a:
    case 0x21:
    case 0x2b:
    case 0x2c:
    case 0x11: /* Objective C++ */
    case 0x13: /* D */
    case 0x1c: /* Rust */
    case 0x1e: /* Swift */
        return true;
    default:
        return false;
    }
}

static bool read_root(struct unit *u)
{
    struct abbrevs *t = find_table(u);
    if (!t) return false;
    u->abbrevs = t;
    struct rd r = rd_over(u->file->s.info.p + u->first_entry, (size_t)(u->end - u->first_entry));
    const struct abbrev *a = abbrev_find(t, rd_varint(&r));
    if (!a->kind) return false;
    struct unit_root *root = &u->root;
    struct value low = {0}, high = {0}, name = {0}, dir = {0}, dwo_name = {0};
    for (uint32_t i = 0; i < a->n_attrs; i++) {
        struct value v;
        form_read(u, &r, &t->attrs[a->first_attr + i], &v);
        if (r.bad) return false;
        switch (t->attrs[a->first_attr + i].at) {
        case DW_AT_name:
            name = v;
            break;
        case DW_AT_comp_dir:
            dir = v;
            break;
        case DW_AT_low_pc:
            low = v;
            break;
        case DW_AT_high_pc:
            high = v;
            break;
        case DW_AT_ranges:
            root->has_ranges = true;
            root->ranges = v.u;
            root->ranges_is_index = v.form == DW_FORM_rnglistx;
            break;
        case DW_AT_stmt_list:
            root->has_line = true;
            root->line = v.u;
            break;
        case DW_AT_str_offsets_base:
            root->str_offsets_base = v.u;
            break;
        case DW_AT_addr_base:
        case DW_AT_GNU_addr_base:
            root->addr_base = v.u;
            break;
        case DW_AT_rnglists_base:
            root->rnglists_base = v.u;
            break;
        case DW_AT_GNU_ranges_base:
            root->ranges_base = v.u;
            break;
        case DW_AT_dwo_name:
        case DW_AT_GNU_dwo_name:
            dwo_name = v;
            break;
        case DW_AT_language:
            root->is_named_by_symbols = is_named_by_symbols(v.u);
            break;
        case DW_AT_GNU_dwo_id:
            u->dwo_id = v.u;
            break;
        default:
            break;
        }
    }
    root->name = unit_string(u, &name);
    root->dir = unit_string(u, &dir);
    root->dwo_name = unit_string(u, &dwo_name);
    root->has_low = unit_address(u, &low, &root->low);
    if (high.form) {
        root->has_high = true;
        if (is_constant(high.form))
            root->high = root->low + high.u;
        else
            root->has_high = unit_address(u, &high, &root->high);
    }
    return true;
}

/* Several threads may read the root of the same unit. Each thread reads it into a copy without the lock.
 * Under the lock, the first thread stores its copy in *u and then sets root_state with release order. A
 * thread that loads root_state with acquire order and finds it set therefore sees the complete root. */
bool unit_root(struct unit *u)
{
    int state = atomic_load_explicit(&u->root_state, memory_order_acquire);
    if (state) return state == 1;
    struct unit copy = {.file = u->file,
                        .offset = u->offset,
                        .first_entry = u->first_entry,
                        .end = u->end,
                        .abbrev_offset = u->abbrev_offset,
                        .dwo_id = u->dwo_id,
                        .version = u->version,
                        .type = u->type,
                        .address_bytes = u->address_bytes,
                        .offset_bytes = u->offset_bytes,
                        .root = u->root,
                        .skeleton = u->skeleton};
    bool ok = read_root(&copy);
    pthread_mutex_lock(&u->file->dwarf->lock);
    if (!atomic_load_explicit(&u->root_state, memory_order_relaxed)) {
        u->root = copy.root;
        u->abbrevs = copy.abbrevs;
        u->dwo_id = copy.dwo_id;
        atomic_store_explicit(&u->root_state, ok ? 1 : 2, memory_order_release);
    }
    pthread_mutex_unlock(&u->file->dwarf->lock);
    return atomic_load_explicit(&u->root_state, memory_order_acquire) == 1;
}

const struct abbrevs *unit_abbrevs(struct unit *u)
{
    return unit_root(u) ? u->abbrevs : NULL;
}

/* ---- files ---- */

static struct dwarf_file *file_new(struct dwarf *d, struct elf *elf, bool owns, bool is_split)
{
    struct dwarf_file *f = mem_zalloc(sizeof *f);
    f->dwarf = d;
    f->elf = elf;
    f->owns_elf = owns;
    f->is_split = is_split;
    f->code_min = lowest_code(elf);
    return f;
}

void dwarf_file_free(struct dwarf_file *f)
{
    if (!f) return;
    for (size_t i = 0; i < f->n_tables; i++) abbrevs_free(f->tables[i]);
    mem_free(f->tables);
    idmap_free(&f->table_ids);
    if (f->owns_elf) elf_close(f->elf);
    mem_free(f->units);
    mem_free(f->path);
    mem_free(f);
}

struct dwarf_file *dwarf_file_open(struct dwarf *d, struct elf *elf, bool owns, bool is_split,
                                   struct err *err)
{
    struct dwarf_file *f = file_new(d, elf, owns, is_split);
    if (dwarf_file_sections(f, d->n_threads, err) && f->s.info.n && f->s.abbrev.n) {
        /* A table is parsed once for each combination of sizes of the units that share it. */
        f->abbrev_budget = 16 * (uint64_t)f->s.abbrev.n;
        return f;
    }
    if (err && !err->code) err_set(err, ERR_NOT_FOUND, "%s: no debug information", elf->path);
    dwarf_file_free(f);
    return NULL;
}

bool dwarf_file_one_unit(struct dwarf_file *f, uint64_t info_offset, struct unit *ret_unit)
{
    return info_offset < f->s.info.n && read_header(f, info_offset, ret_unit);
}

struct dwarf_file *dwarf_alt(struct dwarf *d)
{
    pthread_mutex_lock(&d->lock);
    if (!d->alt_sought) {
        d->alt_sought = true;
        struct elf *elf = debugfile_find_alt(d->main->elf, &d->places);
        if (elf) {
            d->alt = dwarf_file_open(d, elf, true, false, NULL);
            if (d->alt) dwarf_file_units(d->alt);
        }
        if (!d->alt) d->incomplete = true;
    }
    struct dwarf_file *alt = d->alt;
    pthread_mutex_unlock(&d->lock);
    return alt;
}
