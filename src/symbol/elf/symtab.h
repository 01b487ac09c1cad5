/* symtab.h - symbol tables: address -> the function that contains it. Names point into the object and are not
 * copied, except names with a version (memcpy@@GLIBC_2.14), which lose the version.
 *
 * Several names often share an address (aliases, or functions that were merged because their code is the
 * same). base/symbol_rank.h chooses one of them, so that all functions below return the same name. */
#ifndef SYMBOL_ELF_SYMTAB_H
#define SYMBOL_ELF_SYMTAB_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "symbol/elf/elf.h"

struct symtab_entry {
    uint64_t start, end; /* end is where the next function starts if the table has no size */
    const char *name;
    const char *file; /* the source file, mostly of local functions; NULL: unknown */
    bool has_others;  /* the table has other names for this start */
};

struct symtab { /* sorted by start, no two with the same start; all zero: empty */
    struct symtab_entry *entries;
    size_t n_entries;
    struct arena text; /* holds the names that lost their version */
};

/* The readers below fill *ret_table, which must be all zero. The caller frees it with symtab_free. What a
 * table was read from must live as long as the table. */

/* Reads .symtab, or .dynsym if .symtab has no functions. From a damaged table it reads what can be read. */
void symtab_read(const struct elf *elf, struct symtab *ret_table);

/* Reads the format of /proc/kallsyms, lines of "address type name [module]". It cuts the text into strings,
 * and drops a last line without a newline. */
void symtab_read_kallsyms(char *text, size_t n_bytes, struct symtab *ret_table);

/* Reads the format of /tmp/perf-PID.map, lines of "start size name" (hex, hex, rest of the line). It cuts the
 * text as symtab_read_kallsyms does. If lines have the same start, the last of them counts. */
void symtab_read_perf_map(char *text, size_t n_bytes, struct symtab *ret_table);

/* Reads the symbols of MiniDebugInfo together with the .dynsym of elf, because MiniDebugInfo leaves out the
 * functions that are in .dynsym. */
void symtab_read_mini(const struct elf *mini, const struct elf *elf, struct symtab *ret_table);

/* Reads only the entry of the function that starts at start. It has the name that symtab_read would choose.
 */
void symtab_read_at(const struct elf *elf, uint64_t start, struct symtab *ret_table);

/* Returns true if a linkage name from the debug information and a symbol mean the same function. Constructors
 * have several entry points (C1, C2), and copies that the compiler made have a suffix (name.constprop.0). */
bool symtab_same_function(const char *linkage_name, const char *symbol);

/* Returns the entry of the function that contains the address, or NULL. */
const struct symtab_entry *symtab_find(const struct symtab *table, uint64_t address);
void symtab_free(struct symtab *table);

#endif
