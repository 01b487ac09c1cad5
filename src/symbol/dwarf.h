/* dwarf.h - debug information: address -> function, inlined calls, file and line.
 *
 * Reads DWARF 2 to 5, 32 and 64 bits, split units (.dwo, .dwp) and entries shared by dwz. Nothing is indexed
 * beforehand: a lookup goes once through the units that its addresses are in, several at a time.
 */
#ifndef SYMBOL_DWARF_H
#define SYMBOL_DWARF_H

#include <stddef.h>
#include <stdint.h>

#include "symbol/debugfile.h"
#include "symbol/elf.h"
#include "symbol/names.h"
#include "symbol/scope.h"

struct dwarf;

/* elf must live as long as the result. names: where demangled names are kept; NULL: names stay as they are.
 * ERR_NOT_FOUND when the file has no debug information, ERR_INPUT with the reason when it is damaged. */
int dwarf_open(struct elf *elf, const struct debugfile_places *places, unsigned n_threads,
               struct names *names, struct dwarf **ret_dwarf, struct err *err);
void dwarf_close(struct dwarf *d); /* NULL is fine */

/* Fills hits[i] for each address that something is known about; others are left alone. One caller at a time.
 */
void dwarf_lookup(struct dwarf *d, const uint64_t *addresses, size_t n_addresses, struct hit *hits);

uint64_t dwarf_info_bytes(const struct dwarf *d); /* how much there is to go through */

#endif
