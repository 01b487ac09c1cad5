/* dwarf_abbrev.c - parses abbreviation tables. For each abbreviation it works out how long its entries are
 * and at which offset they have the few attributes that the walk reads. */
#include <string.h>

#include "base/mem.h"
#include "symbol/dwarf/dwarf_int.h"

enum { MAX_ATTRS = 4096, MAX_DENSE = 1 << 20 };

static bool is_type_tag(uint64_t tag)
{
    switch (tag) {
    case DW_TAG_array_type:
    case DW_TAG_class_type:
    case DW_TAG_enumeration_type:
    case DW_TAG_structure_type:
    case DW_TAG_subroutine_type:
    case DW_TAG_union_type:
    case DW_TAG_interface_type:
        return true;
    default:
        return false;
    }
}

/* Notes the offset of an attribute that the walk reads. Clears a->quick if low_pc, high_pc or ranges is not
 * in the part of fixed size or has a form that extent_read does not expect. */
static void note_place(const struct unit *u, struct abbrev *a, const struct abbrev_attr *attr, bool in_fixed,
                       uint32_t at)
{
    int16_t place = in_fixed && at < INT16_MAX ? (int16_t)at : -1;
    int size = form_size(u, attr->form);
    switch (attr->at) {
    case DW_AT_sibling:
        if (attr->form == DW_FORM_ref4) a->sibling = place;
        break;
    case DW_AT_low_pc:
        a->has_low = true;
        a->low = place;
        if (attr->form != DW_FORM_addr || size != 8 || place < 0) a->quick = false;
        break;
    case DW_AT_high_pc:
        a->high_is_address = attr->form == DW_FORM_addr;
        a->high = place;
        a->high_bytes = (uint8_t)size;
        if ((size != 8 && size != 4) || place < 0 ||
            (attr->form != DW_FORM_addr && attr->form != DW_FORM_data4 && attr->form != DW_FORM_data8))
            a->quick = false;
        break;
    case DW_AT_ranges:
        a->has_ranges = true;
        a->ranges = place;
        if (size != 4 || place < 0 || (attr->form != DW_FORM_sec_offset && attr->form != DW_FORM_data4))
            a->quick = false;
        break;
    default:
        break;
    }
}

static void compile(const struct unit *u, struct abbrevs *t, struct abbrev *a)
{
    uint32_t run = 0, at = 0, sibling_run = UINT32_MAX;
    bool in_fixed = true;
    a->first_step = (uint32_t)t->n_steps;
    a->sibling = a->sibling_from_end = a->low = a->high = a->ranges = -1;
    a->quick = true;
    for (uint32_t i = 0; i < a->n_attrs; i++) {
        const struct abbrev_attr *attr = &t->attrs[a->first_attr + i];
        int size = form_size(u, attr->form);
        note_place(u, a, attr, in_fixed, at);
        if (attr->at == DW_AT_sibling && attr->form == DW_FORM_ref4) sibling_run = run;
        if (size >= 0) {
            run += (uint32_t)size;
            if (in_fixed) at += (uint32_t)size;
            continue;
        }
        in_fixed = false;
        *VEC_PUSH(t->steps, t->n_steps, t->cap_steps) = (struct abbrev_step){run, attr->form};
        run = 0;
        sibling_run = UINT32_MAX;
    }
    if (sibling_run != UINT32_MAX && run - sibling_run < INT16_MAX)
        a->sibling_from_end = (int16_t)(run - sibling_run);
    *VEC_PUSH(t->steps, t->n_steps, t->cap_steps) = (struct abbrev_step){run, 0};
    a->fixed = in_fixed;
    a->n_fixed = at;
    bool has_code = a->has_low || a->has_ranges;
    if (a->tag == DW_TAG_subprogram)
        a->kind = has_code ? KIND_FUNCTION : KIND_ABSTRACT;
    else if (a->tag == DW_TAG_inlined_subroutine && has_code)
        a->kind = KIND_INLINED;
    else if (is_type_tag(a->tag) && a->has_children && a->sibling >= 0)
        a->kind = KIND_TYPE;
    else if (a->tag == DW_TAG_namespace && a->has_children && a->sibling >= 0)
        a->kind = KIND_NAMESPACE;
    else
        a->kind = KIND_OTHER;
}

struct abbrevs *abbrevs_parse(struct span section, uint64_t offset, const struct unit *u)
{
    struct abbrevs *t = mem_zalloc(sizeof *t);
    struct rd r = rd_over(section.p, section.n);
    rd_skip(&r, offset);
    bool bad = r.bad;
    size_t cap_dense = 0;
    while (!bad) {
        uint64_t code = rd_varint(&r);
        if (!code || r.bad) break; /* the last table of a section may lack its final zero */
        struct abbrev a = {.first_attr = (uint32_t)t->n_attrs};
        uint64_t tag = rd_varint(&r);
        a.tag = tag > UINT16_MAX ? 0 : (uint16_t)tag;
        a.has_children = rd_u8(&r) != 0;
        for (;;) {
            uint64_t at = rd_varint(&r), form = rd_varint(&r);
            if (r.bad || (!at && !form)) break;
            struct abbrev_attr attr = {.at = at > UINT16_MAX ? 0 : (uint16_t)at,
                                       .form = form > UINT16_MAX ? UINT16_MAX : (uint16_t)form};
            if (form == DW_FORM_implicit_const) attr.implicit = rd_sleb(&r);
            *VEC_PUSH(t->attrs, t->n_attrs, t->cap_attrs) = attr;
            if (++a.n_attrs > MAX_ATTRS) {
                bad = true;
                break;
            }
        }
        if (r.bad || bad) break;
        compile(u, t, &a);
        if (code < MAX_DENSE && code <= t->n_dense + 64) {
            while (cap_dense <= code) {
                size_t more = cap_dense ? cap_dense * 2 : 256;
                t->dense = mem_realloc(t->dense, more * sizeof *t->dense);
                memset(t->dense + cap_dense, 0, (more - cap_dense) * sizeof *t->dense);
                cap_dense = more;
            }
            if (t->n_dense <= code) t->n_dense = (size_t)code + 1;
            if (!t->dense[code].kind) t->dense[code] = a;
        } else {
            bool is_new;
            uint32_t *slot = idmap_slot(&t->sparse, code, &is_new);
            if (is_new) {
                *slot = (uint32_t)t->n_extra;
                *VEC_PUSH(t->extra, t->n_extra, t->cap_extra) = a;
            }
        }
    }
    if (bad) {
        abbrevs_free(t);
        return NULL;
    }
    t->n_bytes = (uint64_t)(r.p - section.p) - offset;
    return t;
}

const struct abbrev *abbrev_find_sparse(const struct abbrevs *t, uint64_t code)
{
    static const struct abbrev unknown;
    uint32_t at;
    return idmap_find(&t->sparse, code, &at) ? &t->extra[at] : &unknown;
}

void abbrevs_free(struct abbrevs *t)
{
    mem_free(t->dense);
    mem_free(t->extra);
    mem_free(t->attrs);
    mem_free(t->steps);
    idmap_free(&t->sparse);
    mem_free(t);
}
