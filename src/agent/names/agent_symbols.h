/* agent_symbols.h - names for addresses of this process, from the symbol tables of its objects: enough for a
 * client that has no binary. (Inlined calls, files and lines are the work of the procprof program, outside.)
 */
#ifndef AGENT_NAMES_AGENT_SYMBOLS_H
#define AGENT_NAMES_AGENT_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/host/mappings.h"
#include "agent/host/pages.h"

struct symbols_entry {
    uintptr_t address;
    uintptr_t start; /* of the function; 0: no name is known */
    uint32_t name;   /* offset into names */
    uint16_t rank;   /* how good the name is (symbol_rank.h), and whether the symbol has a size: for the */
    bool has_size;   /* search itself */
    int16_t mapping; /* index, or -1 */
};

struct symbols {
    struct pages_buf entries; /* struct symbols_entry[], by address, no duplicates */
    struct pages_buf names;   /* NUL-terminated; as in the symbol table (mangled) */
};

void symbols_add(struct symbols *s, uintptr_t address); /* call for all, then: */
int symbols_resolve(struct symbols *s, const struct mappings *m);
const struct symbols_entry *symbols_find(const struct symbols *s,
                                         uintptr_t address); /* NULL: was not added */
static inline const char *symbols_name(const struct symbols *s,
                                       const struct symbols_entry *e) /* NULL: unknown */
{
    return e && e->start ? s->names.data + e->name : NULL;
}
void symbols_free(struct symbols *s);

#endif
