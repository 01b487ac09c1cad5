/* dwarf_entry.h - reading the entries of a unit. Two passes share this code: dwarf_walk.c looks for some
 * addresses, and image_unit.c reads all code. Private to these files and dwarf_*.c. */
#ifndef SYMBOL_DWARF_DWARF_ENTRY_H
#define SYMBOL_DWARF_DWARF_ENTRY_H

#include <string.h>

#include "symbol/dwarf/dwarf_int.h"

enum { MAX_LEVELS = 4096 };

struct walk {
    struct worker *w;
    struct unit *u, *line_unit; /* line_unit has the line table; it differs from u if u is a split unit */
    const struct abbrevs *t;
    const uint8_t *info, *end;
    const struct query *queries;
    size_t n_queries;
    struct line_table *lines;
    size_t n_left;              /* queries that no function has taken yet */
    bool jump, jump_namespaces; /* whether the pass may skip subtrees, and namespaces among them */
    bool jumped;                /* the pass did skip a subtree */
};

struct extent { /* where an entry's code is */
    uint64_t low, high;
    bool is_list;           /* true: the code is at list; false: it is between low and high */
    uint64_t list;          /* a range list, for ranges_read */
    bool list_is_index;     /* list is an index instead of an offset */
    const uint8_t *after;   /* the byte behind the entry's attributes */
    const uint8_t *sibling; /* the next entry at the same level; NULL when the entry does not have it */
};

/* Does what extent_read does, for an abbreviation that is not quick. *x must be all zero. */
bool extent_slow(const struct walk *k, const struct abbrev *a, const uint8_t *p, struct extent *x);

/* Returns the address of the sibling entry at unit_offset, or NULL if the offset is not valid. p is the
 * current position in the unit. */
static inline const uint8_t *sibling_at(const struct walk *k, const uint8_t *p, uint64_t unit_offset)
{
    uint64_t at = k->u->offset + unit_offset;
    /* A sibling must be behind p and inside the unit. A sibling before p would make the walk loop forever. */
    return at > (uint64_t)(p - k->info) && at <= k->u->end ? k->info + at : NULL;
}

/* Reads where the code of the entry is whose attributes start at p. Returns false if the entry is cut off. */
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

/* Reads the abbreviation code at *p and moves *p behind it. *p must be below end. A damaged code moves *p to
 * end. */
static inline uint64_t read_code(const uint8_t **p, const uint8_t *end)
{
    uint64_t code = *(*p)++;
    if (code < 0x80) return code;
    struct rd r = {.p = *p - 1, .end = end};
    code = rd_varint(&r);
    *p = r.bad ? end : r.p;
    return code;
}

struct call {        /* the attributes of an inlined call */
    uint64_t origin; /* offset in .debug_info of the entry that has the function's name */
    uint64_t file;   /* where the call is written; an index into the line table's files */
    bool has_file;
    uint32_t line, column; /* 0: unknown */
};

/* Reads the inlined call whose entry starts at entry and whose attributes start at p. What the entry does not
 * have, or what cannot be read, keeps its default in *ret. */
void call_read(const struct walk *k, const struct abbrev *a, const uint8_t *entry, const uint8_t *p,
               struct call *ret);

/* Returns the names of the function at info_offset. The worker keeps them, so that each entry is read once
 * per unit. The result is valid until the next call of find_origin or find_function. */
const struct known_origin *find_origin(struct walk *k, uint64_t info_offset);

/* Returns the names of a function that was not inlined and starts at low. The symbol table may replace the
 * linkage name. */
struct known_origin find_function(struct walk *k, uint64_t info_offset, uint64_t low);

/* Drops the names that the worker keeps. The worker calls this after each unit. */
void forget_origins(struct worker *w);

#endif
