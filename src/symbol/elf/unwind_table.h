/* unwind_table.h - finds where functions begin, from the table that unwinders use (.eh_frame_hdr). Objects
 * keep this table even when all symbols are stripped. */
#ifndef SYMBOL_ELF_UNWIND_TABLE_H
#define SYMBOL_ELF_UNWIND_TABLE_H

#include "symbol/elf/elf.h"

/* Sets *ret_start to the start of the function that contains this address of the object. Returns false if the
 * table does not have it. Only one thread at a time may call this for the same object (see elf_data). */
bool unwind_table_start(const struct elf *elf, uint64_t address, uint64_t *ret_start);

#endif
