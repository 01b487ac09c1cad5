/* symtab.h - the symbol tables of an object: address -> the function that holds it. Names are those in the
 * object, not copied. */
#ifndef SYMBOL_SYMTAB_H
#define SYMBOL_SYMTAB_H

#include <stddef.h>
#include <stdint.h>

#include "symbol/elf.h"

struct symtab_entry {
    uint64_t start, end; /* end: where it stops, or where the next one starts when its size is not told */
    const char *name;
    const char *file; /* of a local function, as the table tells it; NULL: not told */
};

struct symtab { /* sorted by start, no two with the same start; all zero: empty */
    struct symtab_entry *entries;
    size_t n_entries;
};

/* .symtab, or .dynsym when there is none. A damaged table gives the entries that can be read. */
void symtab_read(const struct elf *elf, struct symtab *ret_table);

/* Lines "address type name [module]" as of /proc/kallsyms. The text must live as long as the table; it is cut
 * into strings. */
void symtab_read_kallsyms(char *text, size_t n_bytes, struct symtab *ret_table);

/* Lines "start size name" (hex, hex, rest of the line) as of /tmp/perf-PID.map. As above. Later lines win
 * over earlier ones. */
void symtab_read_perf_map(char *text, size_t n_bytes, struct symtab *ret_table);

/* Adds entries of other whose start is not in table yet. Both sorted; names stay where they are. */
void symtab_join(struct symtab *table, const struct symtab *other);

const struct symtab_entry *symtab_find(const struct symtab *table,
                                       uint64_t address); /* NULL when no function holds it */
void symtab_free(struct symtab *table);

#endif
