/* cfi_entry.c - the entries of .eh_frame and .debug_frame: where one ends, what a CIE says, encoded pointers.
 */
#include "agent/hot/cfi_machine.h"

bool cfi_read_pointer(const struct cfi_section *s, struct rd *r, uint8_t encoding, uintptr_t *ret_value)
{
    uintptr_t here = s->address + (uintptr_t)(r->p - s->bytes), value;
    switch (encoding & 0x0f) {
    case 0x00:
    case 0x04:
    case 0x0c:
        value = (uintptr_t)rd_u64(r);
        break;
    case 0x01:
        value = (uintptr_t)rd_varint(r);
        break;
    case 0x02:
        value = rd_u16(r);
        break;
    case 0x03:
        value = rd_u32(r);
        break;
    case 0x09:
        value = (uintptr_t)rd_sleb(r);
        break;
    case 0x0a:
        value = (uintptr_t)(intptr_t)(int16_t)rd_u16(r);
        break;
    case 0x0b:
        value = (uintptr_t)(intptr_t)(int32_t)rd_u32(r);
        break;
    default:
        return false;
    }
    switch (encoding & 0x70) {
    case 0x00:
        value += s->bias;
        break;
    case 0x10:
        value += here;
        break;
    case 0x30:
        value += s->data_base;
        break;
    default:
        return false;
    }
    *ret_value = value;
    return !r->bad && !(encoding & 0x80);
}

static void parse_augmentation(const char *augmentation, struct rd data, const struct cfi_section *s,
                               struct cfi_cie *cie)
{
    for (const char *c = augmentation + 1; *c; c++) {
        uintptr_t ignored;
        switch (*c) {
        case 'R':
            cie->pointer_encoding = rd_u8(&data);
            break;
        case 'L':
            rd_skip(&data, 1);
            break;
        case 'P': {
            uint8_t encoding = rd_u8(&data);
            (void)cfi_read_pointer(s, &data, encoding, &ignored);
            break;
        }
        case 'S':
            cie->is_signal = true;
            break;
        default:
            break; /* 'B' marks signed return addresses; other letters carry no data that is needed after them
                    */
        }
    }
    if (data.bad) cie->valid = false;
}

void cfi_parse_cie(const struct cfi_section *s, struct rd r, struct cfi_cie *cie)
{
    uint8_t version = rd_u8(&r);
    const char *augmentation = (const char *)r.p; /* a string; memchr may not be called here */
    while (rd_u8(&r)) continue;
    if (r.bad || (version != 1 && version != 3 && version != 4)) return;
    if (version == 4) {
        uint8_t address_size = rd_u8(&r), segment_size = rd_u8(&r);
        if (address_size != sizeof(uintptr_t) || segment_size) return;
    }
    cie->code_align = rd_varint(&r);
    cie->data_align = rd_sleb(&r);
    cie->ra_register = version == 1 ? rd_u8(&r) : rd_varint(&r);
    cie->valid = true;
    if (augmentation[0] == 'z') {
        cie->has_augmentation_data = true;
        parse_augmentation(augmentation, rd_sub(&r, rd_varint(&r)), s, cie);
    } else if (augmentation[0]) {
        cie->valid = false;
    }
    cie->instructions = r;
    if (r.bad || cie->code_align > 64 || cie->data_align > 64 || cie->data_align < -64) cie->valid = false;
}

bool cfi_next_entry(struct rd *r, struct rd *ret_entry, bool *ret_is_64)
{
    uint64_t length = rd_u32(r);
    *ret_is_64 = length == 0xffffffff;
    if (*ret_is_64) length = rd_u64(r);
    if (r->bad || length == 0) return false;
    *ret_entry = rd_sub(r, length);
    return !r->bad;
}
