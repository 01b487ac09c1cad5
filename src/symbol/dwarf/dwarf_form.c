/* dwarf_form.c - reads and skips the values of attributes in all their forms, with bounds checks. */
#include <string.h>

#include "base/mem.h"
#include "symbol/dwarf/dwarf_int.h"

int form_size(const struct unit *u, uint16_t form)
{
    switch (form) {
    case DW_FORM_flag_present:
    case DW_FORM_implicit_const:
        return 0;
    case DW_FORM_data1:
    case DW_FORM_ref1:
    case DW_FORM_flag:
    case DW_FORM_strx1:
    case DW_FORM_addrx1:
        return 1;
    case DW_FORM_data2:
    case DW_FORM_ref2:
    case DW_FORM_strx2:
    case DW_FORM_addrx2:
        return 2;
    case DW_FORM_strx3:
    case DW_FORM_addrx3:
        return 3;
    case DW_FORM_data4:
    case DW_FORM_ref4:
    case DW_FORM_strx4:
    case DW_FORM_addrx4:
    case DW_FORM_ref_sup4:
        return 4;
    case DW_FORM_data8:
    case DW_FORM_ref8:
    case DW_FORM_ref_sig8:
    case DW_FORM_ref_sup8:
        return 8;
    case DW_FORM_data16:
        return 16;
    case DW_FORM_addr:
        return u->address_bytes;
    case DW_FORM_ref_addr:
        return u->version <= 2 ? u->address_bytes : u->offset_bytes;
    case DW_FORM_strp:
    case DW_FORM_sec_offset:
    case DW_FORM_line_strp:
    case DW_FORM_strp_sup:
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_GNU_strp_alt:
        return u->offset_bytes;
    default:
        return -1;
    }
}

const uint8_t *form_skip(const struct unit *u, const uint8_t *p, const uint8_t *end, uint16_t form)
{
    struct rd r = {.p = p, .end = end};
    for (int rounds = 0; form == DW_FORM_indirect && rounds < 4; rounds++) {
        uint64_t real = rd_varint(&r);
        form = real > UINT16_MAX ? UINT16_MAX : (uint16_t)real;
    }
    int size = form_size(u, form);
    if (size >= 0 && form != DW_FORM_implicit_const) {
        rd_skip(&r, (uint64_t)size);
        return r.bad ? NULL : r.p;
    }
    switch (form) {
    case DW_FORM_string:
        rd_cstr(&r);
        break;
    case DW_FORM_block1:
        rd_skip(&r, rd_u8(&r));
        break;
    case DW_FORM_block2:
        rd_skip(&r, rd_u16(&r));
        break;
    case DW_FORM_block4:
        rd_skip(&r, rd_u32(&r));
        break;
    case DW_FORM_block:
    case DW_FORM_exprloc:
        rd_skip(&r, rd_varint(&r));
        break;
    case DW_FORM_sdata:
    case DW_FORM_udata:
    case DW_FORM_ref_udata:
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_loclistx:
    case DW_FORM_rnglistx:
    case DW_FORM_GNU_addr_index:
    case DW_FORM_GNU_str_index:
        rd_varint(&r);
        break;
    default:
        return NULL; /* the size of an unknown form is unknown too */
    }
    return r.bad ? NULL : r.p;
}

const uint8_t *abbrev_skip_slow(const struct unit *u, const struct abbrevs *t, const struct abbrev *a,
                                const uint8_t *p, const uint8_t *end)
{
    for (const struct abbrev_step *s = &t->steps[a->first_step];; s++) {
        if ((size_t)(end - p) < s->n_bytes) return NULL;
        p += s->n_bytes;
        switch (s->form) {
        case 0:
            return p;
        case DW_FORM_string: /* most are so short that a loop is quicker than a call */
            while (p < end && *p) p++;
            if (p++ >= end) return NULL;
            break;
        case DW_FORM_exprloc:
            if (p < end && *p < 0x80) {
                if ((size_t)(end - p) <= *p) return NULL;
                p += 1 + *p;
                break;
            }
            p = form_skip(u, p, end, s->form);
            break;
        case DW_FORM_udata:
        case DW_FORM_sdata:
        case DW_FORM_strx:
        case DW_FORM_addrx:
            while (p < end && *p >= 0x80) p++;
            if (p++ >= end) return NULL;
            break;
        default:
            p = form_skip(u, p, end, s->form);
        }
        if (!p) return NULL;
    }
}

static uint64_t read_bytes(struct rd *r, int n)
{
    uint64_t value = 0;
    const uint8_t *p = rd_bytes(r, (uint64_t)n);
    if (p) memcpy(&value, p, (size_t)n);
    return value;
}

void form_read(const struct unit *u, struct rd *r, const struct abbrev_attr *a, struct value *v)
{
    uint16_t form = a->form;
    for (int rounds = 0; form == DW_FORM_indirect && rounds < 4; rounds++) {
        uint64_t real = rd_varint(r);
        form = real > UINT16_MAX ? UINT16_MAX : (uint16_t)real;
    }
    *v = (struct value){.form = form};
    switch (form) {
    case DW_FORM_implicit_const:
        v->u = (uint64_t)a->implicit;
        return;
    case DW_FORM_flag_present:
        v->u = 1;
        return;
    case DW_FORM_string:
        v->text = rd_cstr(r);
        return;
    case DW_FORM_sdata:
        v->u = (uint64_t)rd_sleb(r);
        return;
    case DW_FORM_udata:
    case DW_FORM_ref_udata:
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_loclistx:
    case DW_FORM_rnglistx:
    case DW_FORM_GNU_addr_index:
    case DW_FORM_GNU_str_index:
        v->u = rd_varint(r);
        return;
    default:
        break;
    }
    int size = form_size(u, form);
    if (size >= 0 && size <= 8) {
        v->u = read_bytes(r, size);
        return;
    }
    const uint8_t *p = form_skip(u, r->p, r->end, form);
    if (p)
        r->p = p;
    else
        rd_fail(r);
}

const char *span_text(struct span s, uint64_t offset)
{
    if (offset >= s.n) return NULL;
    /* In a complete file the section ends with a zero byte, which ends every string. Only in a truncated file
     * must the end of this string be searched for. */
    if (s.p[s.n - 1] != 0 && !memchr(s.p + offset, 0, s.n - (size_t)offset)) return NULL;
    return (const char *)s.p + offset;
}

static uint64_t table_entry(struct span s, uint64_t base, uint64_t index, unsigned entry_bytes, bool *ret_ok)
{
    uint64_t value = 0;
    *ret_ok = entry_bytes && base <= s.n && index < (s.n - base) / entry_bytes;
    if (*ret_ok) memcpy(&value, s.p + base + index * entry_bytes, entry_bytes);
    return value;
}

const char *unit_string(struct unit *u, const struct value *v)
{
    const struct dwarf_sections *s = &u->file->s;
    bool ok;
    switch (v->form) {
    case DW_FORM_string:
        return v->text;
    case DW_FORM_strp:
        return span_text(s->str, v->u);
    case DW_FORM_line_strp:
        return span_text(s->line_str, v->u);
    case DW_FORM_strp_sup:
    case DW_FORM_GNU_strp_alt: {
        struct dwarf_file *alt = dwarf_alt(u->file->dwarf);
        return alt ? span_text(alt->s.str, v->u) : NULL;
    }
    case DW_FORM_strx:
    case DW_FORM_strx1:
    case DW_FORM_strx2:
    case DW_FORM_strx3:
    case DW_FORM_strx4:
    case DW_FORM_GNU_str_index: {
        uint64_t at = table_entry(s->str_offsets, u->root.str_offsets_base, v->u, u->offset_bytes, &ok);
        return ok ? span_text(s->str, at) : NULL;
    }
    default:
        return NULL;
    }
}

bool unit_address(struct unit *u, const struct value *v, uint64_t *ret_address)
{
    switch (v->form) {
    case DW_FORM_addr:
        *ret_address = v->u;
        return true;
    case DW_FORM_addrx:
    case DW_FORM_addrx1:
    case DW_FORM_addrx2:
    case DW_FORM_addrx3:
    case DW_FORM_addrx4:
    case DW_FORM_GNU_addr_index: {
        const struct unit *holder = u->skeleton ? u->skeleton : u; /* addresses are never in the split file */
        bool ok;
        uint64_t address =
            table_entry(holder->file->s.addr, holder->root.addr_base, v->u, u->address_bytes, &ok);
        if (ok) *ret_address = address;
        return ok;
    }
    default:
        return false;
    }
}
