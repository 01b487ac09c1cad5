/* dwarf.h - debug information: address -> function, inlined calls, file and line.
 *
 * The reader understands DWARF 2 to 5 in 32 and 64 bits, split units (.dwo, .dwp) and entries shared by dwz.
 * It builds no index beforehand. A lookup reads each unit that contains its addresses once, and several
 * threads read several units at the same time.
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

/* Returns the name in the symbol table of the function that starts at an address, if it should replace
 * linkage_name, or NULL to keep linkage_name. linkage_name comes from the debug information. It is NULL when
 * the function has no linkage name although its language usually writes one. Several threads call this
 * function at the same time. */
typedef const char *dwarf_symbol_at(void *context, uint64_t start, const char *linkage_name);

/* Opens the debug information of elf. elf must live as long as the result. names keeps the demangled names
 * and must live as long as the result; if it is NULL, names stay mangled. A lookup uses up to n_threads
 * threads. Returns ERR_NOT_FOUND if the file has no debug information, and ERR_INPUT with the reason if it is
 * damaged. The caller frees the result with dwarf_close. */
int dwarf_open(struct elf *elf, const struct debugfile_places *places, unsigned n_threads,
               struct names *names, struct dwarf **ret_dwarf, struct err *err);

/* Makes lookups call symbol_at for each function that contains one of their addresses. Lookups do not call it
 * for functions that were inlined. */
void dwarf_use_symbols(struct dwarf *d, dwarf_symbol_at *symbol_at, void *context);

/* Closes d and frees all scopes and paths that its lookups returned. d may be NULL. */
void dwarf_close(struct dwarf *d);

/* Looks up all addresses and fills hits[i] if the debug information describes addresses[i]. Other hits keep
 * their content. The scopes and strings in hits live until dwarf_close. Only one thread may call this
 * function at a time. */
void dwarf_lookup(struct dwarf *d, const uint64_t *addresses, size_t n_addresses, struct hit *hits);

/* Returns true if a lookup needed another file (a .dwo file or the file that dwz made) and did not find it.
 */
bool dwarf_is_incomplete(const struct dwarf *d);

/* Returns a description of the first damage that lookups noticed, or NULL if they noticed none. */
const char *dwarf_problem(const struct dwarf *d);

/* Returns how many bytes of units lookups have read so far. */
uint64_t dwarf_walked_bytes(const struct dwarf *d);

/* Returns the size of .debug_info in bytes, which is the most that a lookup has to read. */
uint64_t dwarf_info_bytes(const struct dwarf *d);

#endif
