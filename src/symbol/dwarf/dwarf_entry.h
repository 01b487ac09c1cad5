/* dwarf_entry.h - a pass over the entries of a unit: what both kinds of pass (for some addresses, for all
 * code) share. Private to dwarf_*.c. */
#ifndef SYMBOL_DWARF_DWARF_ENTRY_H
#define SYMBOL_DWARF_DWARF_ENTRY_H

#include <string.h>

#include "symbol/dwarf/dwarf_int.h"

enum { MAX_LEVELS = 4096 };

struct walk {
    struct worker *w;
    struct unit *u, *line_unit;
    const struct abbrevs *t;
    const uint8_t *info, *end;
    const struct query *queries;
    size_t n_queries;
    struct line_table *lines;
    size_t n_left; /* queries that no function has taken yet */
    bool jump, jump_namespaces, jumped;
};

struct extent { /* where an entry's code is */
    uint64_t low, high;
    bool is_list; /* else low and high */
    uint64_t list;
    bool list_is_index;
    const uint8_t *after;   /* its attributes */
    const uint8_t *sibling; /* NULL: not told */
};

bool extent_slow(const struct walk *k, const struct abbrev *a, const uint8_t *p, struct extent *x);

static inline const uint8_t *sibling_at(const struct walk *k, const uint8_t *p, uint64_t unit_offset)
{
    uint64_t at = k->u->offset + unit_offset;
    /* Forwards only, and inside of the unit: anything else would be a loop. */
    return at > (uint64_t)(p - k->info) && at <= k->u->end ? k->info + at : NULL;
}

static inline bool extent_read(const struct walk *k, const struct abbrev *a, const uint8_t *p,
                               struct extent *x)
{
    *x = (struct extent){0};
    if (!a->quick) return extent_slow(k, a, p, x);
    if ((size_t)(k->end - p) < a->n_fixed) return false;
    if (a->has_ranges) {
        uint32_t list;
        memcpy(&list, p + a->ranges, 4);
        x->is_list = true;
        x->list = list;
    } else {
        memcpy(&x->low, p + a->low, 8);
        if (a->high_bytes == 8) {
            memcpy(&x->high, p + a->high, 8);
        } else if (a->high_bytes == 4) {
            uint32_t high;
            memcpy(&high, p + a->high, 4);
            x->high = high;
        }
        if (!a->high_is_address) x->high += x->low;
    }
    x->after = abbrev_skip(k->u, k->t, a, p, k->end);
    if (x->after && a->sibling_from_end >= 0) {
        uint32_t sibling;
        memcpy(&sibling, x->after - a->sibling_from_end, 4);
        x->sibling = sibling_at(k, p, sibling);
    }
    return x->after != NULL;
}

static inline uint64_t read_code(const uint8_t **p, const uint8_t *end)
{
    uint64_t code = *(*p)++;
    if (code < 0x80) return code;
    struct rd r = {.p = *p - 1, .end = end};
    code = rd_varint(&r);
    *p = r.bad ? end : r.p;
    return code;
}

struct call {        /* what an inlined call says of itself */
    uint64_t origin; /* entry that names it */
    uint64_t file;
    bool has_file;
    uint32_t line, column;
};

void call_read(const struct walk *k, const struct abbrev *a, const uint8_t *entry, const uint8_t *p,
               struct call *ret);

/* Worked out once per entry and unit. */
const struct known_origin *find_origin(struct walk *k, uint64_t info_offset);

/* As find_origin, for a function of its own that starts at low: the symbol table may know its linkage name.
 */
struct known_origin find_function(struct walk *k, uint64_t info_offset, uint64_t low);
void forget_origins(struct worker *w);

#endif
