/* untabled_code.c - see untabled_code.h. */
#include "agent/hot/untabled_code.h"

#include <dlfcn.h>

#include "agent/hot/cfi_machine.h"

/* These buffers lie on the stack of the interrupted thread, so they are small. Longer entries have no rule
 * until the table is made. */
#define MAX_ENTRY_BYTES 768
#define MAX_CIE_BYTES   128
#define BLOCK_ENTRIES   32

_Atomic(untabled_find_fn *) untabled_find;

/* Reads all n_bytes or fails. With ret_n_bytes, it reads as many as there are. */
static bool read_memory(uintptr_t from, void *into, size_t n_bytes, size_t *ret_n_bytes)
{
    size_t n = safe_copy(from, into, n_bytes);
    if (ret_n_bytes) *ret_n_bytes = n;
    return ret_n_bytes ? n > 0 : n == n_bytes;
}

struct header { /* .eh_frame_hdr as every linker writes it: counted, sorted, relative to itself */
    uint8_t version, frames_encoding, count_encoding, table_encoding;
    int32_t frames;
    uint32_t n_entries;
};

struct header_entry {
    int32_t function, entry;
};

/* The last entry whose function begins at or before pc. */
static bool search_header(uintptr_t header, uintptr_t pc, uintptr_t *ret_entry)
{
    struct header h;
    if (!read_memory(header, &h, sizeof h, NULL) || h.version != 1 || h.frames_encoding != 0x1b ||
        h.count_encoding != 0x03 || h.table_encoding != 0x3b || !h.n_entries)
        return false;
    struct header_entry block[BLOCK_ENTRIES];
    uint32_t low = 0, high = h.n_entries;
    int64_t wanted = (int64_t)(pc - header);
    while (high - low > BLOCK_ENTRIES) {
        uint32_t middle = low + (high - low) / 2;
        if (!read_memory(header + sizeof h + (uintptr_t)middle * sizeof *block, block, sizeof *block, NULL))
            return false;
        if (block[0].function <= wanted)
            low = middle;
        else
            high = middle;
    }
    uint32_t n = high - low, i = 0;
    if (!read_memory(header + sizeof h + (uintptr_t)low * sizeof *block, block, n * sizeof *block, NULL))
        return false;
    while (i + 1 < n && block[i + 1].function <= wanted) i++;
    if (block[i].function > wanted) return false;
    *ret_entry = header + (uintptr_t)(intptr_t)block[i].entry;
    return true;
}

/* The first bytes of the entry at address; its content behind the length and the id. */
static bool read_entry(uintptr_t address, uint8_t *room, size_t n_room, struct cfi_section *s,
                       struct rd *ret_content, uint32_t *ret_id)
{
    bool is_64;
    size_t n;
    if (!read_memory(address, room, n_room, &n))
        return false; /* the entry may be the last one before an unmapped page */
    *s = (struct cfi_section){.bytes = room, .n_bytes = n, .address = address};
    struct rd r = rd_over(room, n);
    if (!cfi_next_entry(&r, ret_content, &is_64) || is_64)
        return false; /* false also when the entry is longer than the buffer */
    *ret_id = rd_u32(ret_content);
    return !ret_content->bad;
}

static void keep_row(void *context, uintptr_t from, const struct unwind_rule *rule)
{
    (void)from;
    *(struct unwind_rule *)context = *rule;
}

bool untabled_rule(uintptr_t pc, struct unwind_rule *ret_rule)
{
    untabled_find_fn *find = atomic_load_explicit(&untabled_find, memory_order_relaxed);
    struct dl_find_object object;
    uintptr_t entry_address, begin, length;
    if (!find || find((void *)pc, &object) || !object.dlfo_eh_frame) return false;
    if (!search_header((uintptr_t)object.dlfo_eh_frame, pc, &entry_address)) return false;
    uint8_t entry_bytes[MAX_ENTRY_BYTES], cie_bytes[MAX_CIE_BYTES];
    struct cfi_section entry_section, cie_section;
    struct rd entry, content;
    uint32_t distance, id;
    if (!read_entry(entry_address, entry_bytes, sizeof entry_bytes, &entry_section, &entry, &distance) ||
        !read_entry(entry_address + 4 - distance, cie_bytes, sizeof cie_bytes, &cie_section, &content, &id) ||
        !distance || id)
        return false;
    struct cfi_cie cie = {.position = 0};
    cfi_parse_cie(&cie_section, content, &cie);
    if (!cie.valid || !cfi_read_pointer(&entry_section, &entry, cie.pointer_encoding, &begin) ||
        !cfi_read_pointer(&entry_section, &entry, cie.pointer_encoding & 0x0f, &length) || pc < begin ||
        pc - begin >= length)
        return false;
    if (cie.has_augmentation_data) rd_skip(&entry, rd_varint(&entry));
    if (entry.bad) return false;
    *ret_rule = (struct unwind_rule){.cfa = UNWIND_CFA_NONE};
    cfi_program_run(&entry_section, CFI_OWN_MACHINE, &cie, entry, begin, pc + 1, keep_row, ret_rule);
    return ret_rule->cfa != UNWIND_CFA_NONE;
}
