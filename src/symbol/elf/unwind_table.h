/* unwind_table.h - where functions begin and end, from the table that unwinders use (.eh_frame_hdr): it is
 * there also when every symbol was stripped. */
#ifndef SYMBOL_ELF_UNWIND_TABLE_H
#define SYMBOL_ELF_UNWIND_TABLE_H

#include "symbol/elf/elf.h"

/* The start of the function with that address of the object. False: not known. */
bool unwind_table_start(const struct elf *elf, uint64_t address, uint64_t *ret_start);

#endif
