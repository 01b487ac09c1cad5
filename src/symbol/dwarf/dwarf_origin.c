/* dwarf_origin.c - finds the names of a function. They are in the entry of its declaration, which may be
 * several references away, in another unit or in the file that dwz made. */
#include <string.h>

#include "symbol/dwarf/dwarf_int.h"

enum { MAX_HOPS = 16 };

/* Moves *u and *offset to the entry that a reference points to. Returns false if there is none. */
static bool follow(struct unit **u, uint64_t *offset, const struct value *v)
{
    struct dwarf_file *f = (*u)->file;
    switch (v->form) {
    case DW_FORM_ref1:
    case DW_FORM_ref2:
    case DW_FORM_ref4:
    case DW_FORM_ref8:
    case DW_FORM_ref_udata:
        *offset = (*u)->offset + v->u;
        return *offset >= (*u)->first_entry && *offset < (*u)->end;
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_ref_sup4:
    case DW_FORM_ref_sup8:
        f = dwarf_alt(f->dwarf);
        if (!f) return false;
        break;
    case DW_FORM_ref_addr:
        if (v->u >= (*u)->first_entry && v->u < (*u)->end) {
            *offset = v->u;
            return true;
        }
        break;
    default:
        return false; /* the signature of a type never refers to a function */
    }
    *u = file_unit_at(f, v->u);
    *offset = v->u;
    return *u != NULL;
}

void origin_read(struct unit *u, uint64_t offset, struct origin *ret)
{
    *ret = (struct origin){0};
    for (int hops = 0; hops < MAX_HOPS; hops++) {
        const struct abbrevs *t = unit_abbrevs(u);
        if (!t) return;
        struct rd r = rd_over(u->file->s.info.p + offset, (size_t)(u->end - offset));
        const struct abbrev *a = abbrev_find(t, rd_varint(&r));
        if (!a->kind) return;
        struct value next = {0};
        for (uint32_t i = 0; i < a->n_attrs && !r.bad; i++) {
            const struct abbrev_attr *attr = &t->attrs[a->first_attr + i];
            struct value v;
            switch (attr->at) {
            case DW_AT_name:
                form_read(u, &r, attr, &v);
                if (!ret->name && !r.bad) ret->name = unit_string(u, &v);
                break;
            case DW_AT_linkage_name:
            case DW_AT_MIPS_linkage_name:
                form_read(u, &r, attr, &v);
                if (!ret->linkage_name && !r.bad) ret->linkage_name = unit_string(u, &v);
                break;
            case DW_AT_decl_line:
                form_read(u, &r, attr, &v);
                if (!ret->line && !r.bad && v.u <= UINT32_MAX) ret->line = (uint32_t)v.u;
                break;
            case DW_AT_abstract_origin:
            case DW_AT_specification:
                form_read(u, &r, attr, &v);
                if (!r.bad) next = v;
                break;
            default: {
                const uint8_t *p =
                    attr->form == DW_FORM_implicit_const ? r.p : form_skip(u, r.p, r.end, attr->form);
                if (!p) return;
                r.p = p;
            }
            }
        }
        if (r.bad || !next.form || (ret->linkage_name && ret->line) || !follow(&u, &offset, &next)) return;
    }
}
