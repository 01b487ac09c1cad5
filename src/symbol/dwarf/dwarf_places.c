/* dwarf_places.c - which unit has the code at an address.
 *
 * .debug_aranges lists the addresses of many units, so that these units need not be read. Other units have
 * their addresses in their first entry. A lookup tries units without any addresses last.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "symbol/dwarf/dwarf_int.h"

struct place_list {
    struct place *items;
    size_t n, cap;
};

static void add(struct place_list *list, const struct unit *u, uint64_t low, uint64_t high)
{
    if (!range_is_code(u, low, high)) return;
    uint32_t unit = (uint32_t)(u - u->file->units);
    /* Ranges of one unit often adjoin, and become one place then. */
    struct place *last = list->n ? &list->items[list->n - 1] : NULL;
    if (last && last->unit == unit && last->high == low)
        last->high = high;
    else
        *VEC_PUSH(list->items, list->n, list->cap) = (struct place){.low = low, .high = high, .unit = unit};
}

/* Calls use(context, offset of the unit, low, high) for each entry of .debug_aranges. */
static void each_arange(const struct dwarf_file *f, void (*use)(void *, uint64_t, uint64_t, uint64_t),
                        void *context)
{
    struct rd r = rd_over(f->s.aranges.p, f->s.aranges.n);
    while (rd_left(&r) > 12) {
        const uint8_t *start = r.p;
        unsigned offset_bytes = 4;
        uint64_t length = rd_u32(&r);
        if (length == 0xffffffff) {
            length = rd_u64(&r);
            offset_bytes = 8;
        }
        if (r.bad || length > rd_left(&r)) return;
        struct rd set = {.p = r.p, .end = r.p + length};
        r.p += length;
        uint16_t version = rd_u16(&set);
        uint64_t info = offset_bytes == 8 ? rd_u64(&set) : rd_u32(&set);
        unsigned address_bytes = rd_u8(&set), segment_bytes = rd_u8(&set);
        if (set.bad || version != 2 || segment_bytes || (address_bytes != 4 && address_bytes != 8)) continue;
        unsigned pair = 2 * address_bytes;
        size_t used = (size_t)(set.p - start);
        rd_skip(&set, (pair - used % pair) % pair);
        while (rd_left(&set) >= pair) {
            uint64_t low, n;
            if (address_bytes == 8) {
                memcpy(&low, set.p, 8);
                memcpy(&n, set.p + 8, 8);
            } else {
                low = n = 0;
                memcpy(&low, set.p, 4);
                memcpy(&n, set.p + 4, 4);
            }
            set.p += pair;
            if (!low && !n) break;
            use(context, info, low, low + n);
        }
    }
}

struct all {
    struct dwarf_file *file;
    struct unit *unit; /* the unit of the previous entry */
    struct place_list *list;
};

static void add_arange(void *context, uint64_t unit_offset, uint64_t low, uint64_t high)
{
    struct all *all = context;
    if (!all->unit || all->unit->offset != unit_offset)
        all->unit = file_unit_starting(all->file, unit_offset);
    if (!all->unit || all->unit->root_state == 2) return;
    all->unit->in_aranges = true;
    add(all->list, all->unit, low, high);
}

struct few {
    const struct query *queries;
    size_t n;
    uint64_t *offsets_plus_1; /* of units; 0: none */
    uint64_t code_min, first, last;
};

static void find_few(void *context, uint64_t unit_offset, uint64_t low, uint64_t high)
{
    struct few *few = context;
    if (low > few->last || high <= few->first || low < few->code_min) return;
    for (size_t i = 0; i < few->n; i++)
        if (few->queries[i].address >= low && few->queries[i].address < high &&
            (!few->offsets_plus_1[i] || unit_offset < few->offsets_plus_1[i] - 1))
            few->offsets_plus_1[i] = unit_offset + 1;
}

/* Reads the unit at offset without reading the units before it. The offset comes from .debug_aranges and may
 * be wrong. Returns NULL if there is no unit at offset or if its first entry is not that of a unit with code.
 */
static struct unit *lone_unit(struct dwarf *d, uint64_t offset)
{
    struct dwarf_file *f = d->main;
    if (f->units_listed) return file_unit_starting(f, offset);
    struct unit *u = arena_zalloc(&d->memory, sizeof *u);
    if (!dwarf_file_one_unit(f, offset, u) || !unit_root(u)) return NULL;
    struct rd r = rd_over(f->s.info.p + u->first_entry, (size_t)(u->end - u->first_entry));
    uint16_t tag = abbrev_find(u->abbrevs, rd_varint(&r))->tag;
    return tag == DW_TAG_compile_unit || tag == DW_TAG_skeleton_unit ? u : NULL;
}

void dwarf_units_of_few(struct dwarf *d, const struct query *queries, size_t n, struct unit **units)
{
    uint64_t *offsets_plus_1 = mem_zalloc((n + 1) * sizeof *offsets_plus_1);
    struct few few = {
        queries, n, offsets_plus_1, d->main->code_min, queries[0].address, queries[n - 1].address};
    each_arange(d->main, find_few, &few);
    for (size_t i = 0; i < n; i++) {
        if (!offsets_plus_1[i]) continue;
        for (size_t k = 0; k < i && !units[i]; k++)
            if (offsets_plus_1[k] == offsets_plus_1[i]) units[i] = units[k];
        if (!units[i]) units[i] = lone_unit(d, offsets_plus_1[i] - 1);
    }
    mem_free(offsets_plus_1);
}

static int by_low(const void *a_, const void *b_)
{
    const struct place *a = a_, *b = b_;
    if (a->low != b->low) return a->low < b->low ? -1 : 1;
    if (a->high != b->high) return a->high > b->high ? -1 : 1; /* the longer range first */
    return a->unit < b->unit ? -1 : a->unit > b->unit;
}

static bool is_sorted(const struct place_list *list)
{
    for (size_t i = 1; i < list->n; i++)
        if (by_low(&list->items[i - 1], &list->items[i]) > 0) return false;
    return true;
}

void dwarf_find_places(struct dwarf *d)
{
    if (d->placed) return;
    d->placed = true;
    struct dwarf_file *f = d->main;
    struct place_list list = {0};
    size_t cap_unplaced = 0;
    dwarf_file_units(f);
    each_arange(f, add_arange, &(struct all){.file = f, .list = &list});
    /* The budget is for all units together. It is as many entries as the sections have bytes. Each entry has
     * at least one byte, so that every undamaged file stays below it. */
    struct range_list ranges = {.budget = f->s.ranges.n + f->s.rnglists.n + (1 << 16)};
    for (size_t i = 0; i < f->n_units; i++) {
        struct unit *u = &f->units[i];
        if (u->in_aranges || u->type == DW_UT_type || u->type == DW_UT_partial || !unit_root(u)) continue;
        size_t before = list.n;
        if (u->root.has_ranges) {
            ranges.n = 0;
            ranges_read(u, u->root.ranges, u->root.ranges_is_index, &ranges);
            for (size_t k = 0; k < ranges.n; k++) add(&list, u, ranges.items[k].low, ranges.items[k].high);
        } else if (u->root.has_low && u->root.has_high) {
            add(&list, u, u->root.low, u->root.high);
        }
        bool has_addresses = u->root.has_ranges || u->root.has_high;
        if (list.n == before && !has_addresses && u->root.has_line)
            *VEC_PUSH(d->unplaced, d->n_unplaced, cap_unplaced) = u;
    }
    mem_free(ranges.items);
    if (!is_sorted(&list)) qsort(list.items, list.n, sizeof *list.items, by_low);
    uint64_t max_high = 0;
    for (size_t i = 0; i < list.n; i++) {
        if (list.items[i].high > max_high) max_high = list.items[i].high;
        list.items[i].max_high = max_high;
    }
    d->places_of_code = list.items;
    d->n_places = list.n;
}

struct unit *dwarf_unit_at(struct dwarf *d, uint64_t address, unsigned k)
{
    size_t low = 0, high = d->n_places;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (d->places_of_code[middle].low <= address)
            low = middle + 1;
        else
            high = middle;
    }
    uint32_t found[16];
    size_t n = 0, tries = 0;
    for (size_t i = low; i > 0 && d->places_of_code[i - 1].max_high > address && tries < 4096 && n < 16;
         i--, tries++) {
        const struct place *p = &d->places_of_code[i - 1];
        if (p->high <= address) continue;
        size_t at = n;
        while (at > 0 && found[at - 1] > p->unit) at--;
        if (at > 0 && found[at - 1] == p->unit) continue;
        memmove(found + at + 1, found + at, (n - at) * sizeof *found);
        found[at] = p->unit;
        n++;
    }
    if (k < n) return &d->main->units[found[k]];
    return NULL;
}
