/* unwind_table.c - see unwind_table.h. The section consists of
 *   version (1); three encodings, of the pointer, the number and the entries; pointer to .eh_frame; number of
 *   entries; entries
 * An entry is (start of a function, its FDE). Entries are sorted by start. The reader accepts only the
 * encodings that linkers write: entries of four signed bytes, relative to the section itself. */
#include "symbol/elf/unwind_table.h"

#include <string.h>

enum {
    DATAREL_SDATA4 = 0x3b, /* DW_EH_PE_datarel | DW_EH_PE_sdata4 */
    PCREL_SDATA4 = 0x1b,
    UDATA4 = 0x03,
    HEADER_BYTES = 12,
    ENTRY_BYTES = 8
};

static uint32_t read_u32(const uint8_t *p)
{
    uint32_t value;
    memcpy(&value, p, sizeof value);
    return value;
}

static uint64_t relative(uint64_t base, const uint8_t *p)
{
    return base + (uint64_t)(int64_t)(int32_t)read_u32(p);
}

/* Returns the length of the function from its FDE, or 0 if the FDE does not have the usual form (length, CIE,
 * start and range of four bytes each). */
static uint64_t range_of(const struct elf *elf, uint64_t fde_address, uint64_t start)
{
    struct elf_section *frames = elf_find(elf, ".eh_frame");
    struct span data;
    if (!frames || fde_address < frames->address || elf_data(elf, frames, &data, NULL)) return 0;
    uint64_t at = fde_address - frames->address;
    if (data.n < 16 || at > data.n - 16) return 0;
    bool is_usual = relative(fde_address + 8, data.p + at + 8) == start;
    return is_usual ? read_u32(data.p + at + 12) : 0;
}

bool unwind_table_start(const struct elf *elf, uint64_t address, uint64_t *ret_start)
{
    struct elf_section *header = elf_find(elf, ".eh_frame_hdr");
    struct span data;
    if (!header || elf_data(elf, header, &data, NULL) || data.n < HEADER_BYTES) return false;
    if (data.p[0] != 1 || data.p[1] != PCREL_SDATA4 || data.p[2] != UDATA4 || data.p[3] != DATAREL_SDATA4)
        return false;
    size_t n = read_u32(data.p + 8), room = (data.n - HEADER_BYTES) / ENTRY_BYTES;
    const uint8_t *entries = data.p + HEADER_BYTES;
    if (n > room) n = room;
    size_t low = 0, high = n; /* finds the first entry that begins behind the address */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (relative(header->address, entries + middle * ENTRY_BYTES) <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low) return false;
    const uint8_t *entry = entries + (low - 1) * ENTRY_BYTES;
    uint64_t start = relative(header->address, entry),
             range = range_of(elf, relative(header->address, entry + 4), start);
    /* An address just behind the function is accepted, because a call at the function's end returns there. */
    if (range ? address - start > range : low == n) return false;
    *ret_start = start;
    return true;
}
