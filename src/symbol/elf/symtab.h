/* symtab.h - the symbol tables of an object: address -> the function that holds it. Names are those in the
 * object, not copied, unless they carry a version (memcpy@@GLIBC_2.14), which is left away.
 *
 * Several names often share an address (aliases, functions that were merged because their code is the same):
 * base/symbol_rank.h chooses, whatever way a name is asked for. */
#ifndef SYMBOL_ELF_SYMTAB_H
#define SYMBOL_ELF_SYMTAB_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "symbol/elf/elf.h"

struct symtab_entry {
    uint64_t start, end; /* end: where it stops, or where the next one starts when its size is not told */
    const char *name;
    const char *file; /* of a local function, as the table tells it; NULL: not told */
    bool has_others;  /* the table has other names for this start */
};

struct symtab { /* sorted by start, no two with the same start; all zero: empty */
    struct symtab_entry *entries;
    size_t n_entries;
    struct arena text; /* of names that are not in the object as they are here */
};

/* .symtab, or .dynsym when there is none. A damaged table gives the entries that can be read. */
void symtab_read(const struct elf *elf, struct symtab *ret_table);

/* Lines "address type name [module]" as of /proc/kallsyms. The text must live as long as the table; it is cut
 * into strings. */
void symtab_read_kallsyms(char *text, size_t n_bytes, struct symtab *ret_table);

/* Lines "start size name" (hex, hex, rest of the line) as of /tmp/perf-PID.map. As above. Later lines win
 * over earlier ones. */
void symtab_read_perf_map(char *text, size_t n_bytes, struct symtab *ret_table);

/* MiniDebugInfo, and the table for the dynamic linker, whose functions it leaves out. */
void symtab_read_mini(const struct elf *mini, const struct elf *elf, struct symtab *ret_table);

/* Only what starts at the address: the same entry as symtab_read's, without a table of all. */
void symtab_read_at(const struct elf *elf, uint64_t start, struct symtab *ret_table);

/* Is it one function that debug information and symbol table call so? Constructors have several entries (C1,
 * C2), and copies that the compiler made have a suffix (name.constprop.0). */
bool symtab_same_function(const char *linkage_name, const char *symbol);

const struct symtab_entry *symtab_find(const struct symtab *table,
                                       uint64_t address); /* NULL when no function holds it */
void symtab_free(struct symtab *table);

#endif
