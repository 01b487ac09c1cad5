/* agent_symbols.h - names for addresses of this process, from the symbol tables of its objects.
 *
 * That is enough for a client that does not have the binaries. Inlined calls, files and lines are added
 * outside the process, by the procprof program.
 *
 * Usage: symbols_add for all addresses, symbols_resolve once, then symbols_find and symbols_name.
 */
#ifndef AGENT_NAMES_AGENT_SYMBOLS_H
#define AGENT_NAMES_AGENT_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/host/mappings.h"
#include "agent/host/pages.h"

struct symbols_entry {
    uintptr_t address;
    uintptr_t start; /* of the function; 0: the name is unknown */
    uint32_t name;   /* offset into symbols.names */
    uint16_t rank;   /* how good the name is (symbol_rank.h); used while resolving */
    bool has_size;   /* the symbol's size covers the address; used while resolving */
    int16_t mapping; /* index into the mappings, or -1 */
};

struct symbols {
    struct pages_buf entries; /* struct symbols_entry[], by address, no duplicates */
    struct pages_buf names;   /* linkage names (mangled), NUL-terminated */
};

void symbols_add(struct symbols *s, uintptr_t address);
/* Finds the names. Returns -1 when memory runs out. */
int symbols_resolve(struct symbols *s, const struct mappings *m);
/* The entry of an address; NULL when it was not added. */
const struct symbols_entry *symbols_find(const struct symbols *s, uintptr_t address);
/* The linkage name of an entry; NULL when e is NULL or its name is unknown. */
static inline const char *symbols_name(const struct symbols *s, const struct symbols_entry *e)
{
    return e && e->start ? s->names.data + e->name : NULL;
}
void symbols_free(struct symbols *s);

#endif
