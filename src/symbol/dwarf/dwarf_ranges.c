/* dwarf_ranges.c - lists of address ranges: .debug_ranges (DWARF 2-4) and .debug_rnglists (DWARF 5). */
#include <string.h>

#include "base/mem.h"
#include "symbol/dwarf/dwarf_int.h"

/* The debug information of code that the linker dropped stays in the file. Its addresses are near 0 or are
 * the highest ones. */
bool range_is_code(const struct unit *u, uint64_t low, uint64_t high)
{
    const struct unit *holder = u->skeleton ? u->skeleton : u;
    return low < high && low >= holder->file->code_min &&
           low < (u->address_bytes == 4 ? 0xfffffff0u : UINT64_MAX - 15);
}

static void add(const struct unit *u, struct range_list *into, uint64_t low, uint64_t high)
{
    if (!range_is_code(u, low, high)) return;
    *VEC_PUSH(into->items, into->n, into->cap) = (struct range){low, high};
}

static uint64_t read_address(struct rd *r, unsigned address_bytes)
{
    return address_bytes == 4 ? rd_u32(r) : rd_u64(r);
}

static void read_old(struct unit *u, struct rd *r, uint64_t base, struct range_list *into)
{
    uint64_t top = u->address_bytes == 4 ? UINT32_MAX : UINT64_MAX;
    while (into->budget) {
        into->budget--;
        uint64_t low = read_address(r, u->address_bytes), high = read_address(r, u->address_bytes);
        if (r->bad || (!low && !high)) return;
        if (low == top)
            base = high;
        else
            add(u, into, base + low, base + high);
    }
}

static uint64_t indexed(struct unit *u, uint64_t index)
{
    struct value v = {.u = index, .form = DW_FORM_addrx};
    uint64_t address = 0;
    return unit_address(u, &v, &address) ? address : 0;
}

static void read_new(struct unit *u, struct rd *r, uint64_t base, struct range_list *into)
{
    while (into->budget) {
        into->budget--;
        uint64_t low, high;
        switch (rd_u8(r)) {
        case DW_RLE_end_of_list:
            return;
        case DW_RLE_base_addressx:
            base = indexed(u, rd_varint(r));
            continue;
        case DW_RLE_startx_endx:
            low = indexed(u, rd_varint(r));
            high = indexed(u, rd_varint(r));
            break;
        case DW_RLE_startx_length:
            low = indexed(u, rd_varint(r));
            high = low + rd_varint(r);
            break;
        case DW_RLE_offset_pair:
            low = base + rd_varint(r);
            high = base + rd_varint(r);
            break;
        case DW_RLE_base_address:
            base = read_address(r, u->address_bytes);
            continue;
        case DW_RLE_start_end:
            low = read_address(r, u->address_bytes);
            high = read_address(r, u->address_bytes);
            break;
        case DW_RLE_start_length:
            low = read_address(r, u->address_bytes);
            high = low + rd_varint(r);
            break;
        default:
            return;
        }
        if (r->bad) return;
        add(u, into, low, high);
    }
}

void ranges_read(struct unit *u, uint64_t offset, bool is_index, struct range_list *into)
{
    const struct unit *holder = u->skeleton ? u->skeleton : u;
    uint64_t base = holder->root.has_low ? holder->root.low : 0;
    if (u->version < 5) {
        if (u->skeleton) offset += holder->root.ranges_base; /* a GNU split unit's lists are in the program */
        struct span s = holder->file->s.ranges;
        struct rd r = rd_over(s.p, s.n);
        rd_skip(&r, offset);
        if (!r.bad) read_old(u, &r, base, into);
        return;
    }
    struct span s = u->file->s.rnglists;
    struct rd r = rd_over(s.p, s.n);
    if (is_index) {
        uint64_t list_base = u->root.rnglists_base;
        if (!list_base) list_base = u->offset_bytes == 8 ? 20 : 12; /* behind the first header */
        struct rd table = r;
        rd_skip(&table, list_base);
        uint64_t left = rd_left(&table) / u->offset_bytes;
        if (table.bad || offset >= left) return;
        rd_skip(&table, offset * u->offset_bytes);
        offset = list_base + (u->offset_bytes == 8 ? rd_u64(&table) : rd_u32(&table));
    }
    rd_skip(&r, offset);
    if (!r.bad) read_new(u, &r, base, into);
}
