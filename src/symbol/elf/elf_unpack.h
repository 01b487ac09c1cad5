/* elf_unpack.h - sections that are not plain bytes: compressed ones, and those of objects not yet linked.
 * Private to elf. */
#ifndef SYMBOL_ELF_ELF_UNPACK_H
#define SYMBOL_ELF_ELF_UNPACK_H

#include <stddef.h>
#include <stdint.h>

void elf_unpacked_free(uint8_t *data, size_t n_bytes);

#endif
