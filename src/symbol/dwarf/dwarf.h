/* dwarf.h - debug information: address -> function, inlined calls, file and line.
 *
 * Reads DWARF 2 to 5, 32 and 64 bits, split units (.dwo, .dwp) and entries shared by dwz. Nothing is indexed
 * beforehand: a lookup goes once through the units that its addresses are in, several at a time.
 */
#ifndef SYMBOL_DWARF_DWARF_H
#define SYMBOL_DWARF_DWARF_H

#include <stddef.h>
#include <stdint.h>

#include "symbol/dwarf/scope.h"
#include "symbol/dwarf/scope_names.h"
#include "symbol/elf/debugfile.h"
#include "symbol/elf/elf.h"

struct dwarf;

/* What the symbol table calls the function that starts at an address, when that is to be shown instead of
 * told, the linkage name of the debug information (NULL: it should have one, and has none); NULL: nothing
 * better. Called by several threads. */
typedef const char *dwarf_symbol_at(void *context, uint64_t start, const char *linkage_name);

/* elf must live as long as the result. names: where demangled names are kept; NULL: names stay as they are.
 * ERR_NOT_FOUND when the file has no debug information, ERR_INPUT with the reason when it is damaged. */
int dwarf_open(struct elf *elf, const struct debugfile_places *places, unsigned n_threads,
               struct names *names, struct dwarf **ret_dwarf, struct err *err);
/* Asked for each function that addresses are in, not for what is inlined into it. */
void dwarf_use_symbols(struct dwarf *d, dwarf_symbol_at *symbol_at, void *context);
void dwarf_close(struct dwarf *d); /* NULL is fine */

/* Fills hits[i] for each address that something is known about; others are left alone. One caller at a time.
 */
void dwarf_lookup(struct dwarf *d, const uint64_t *addresses, size_t n_addresses, struct hit *hits);

/* True when a file that this one refers to (.dwo, the one of dwz) was wanted and not found. */
bool dwarf_is_incomplete(const struct dwarf *d);

/* What is damaged of the parts that lookups went through; NULL: nothing that was noticed. */
const char *dwarf_problem(const struct dwarf *d);

/* Bytes of units that lookups went through so far. */
uint64_t dwarf_walked_bytes(const struct dwarf *d);

uint64_t dwarf_info_bytes(const struct dwarf *d); /* how much there is to go through */

#endif
