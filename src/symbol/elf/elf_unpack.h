/* elf_unpack.h - sections whose bytes differ from the file: compressed ones, and those of objects that are
 * not linked yet. Private to elf*.c. */
#ifndef SYMBOL_ELF_ELF_UNPACK_H
#define SYMBOL_ELF_ELF_UNPACK_H

#include <stddef.h>
#include <stdint.h>

/* Frees the unpacked bytes of a section. data may be NULL. */
void elf_unpacked_free(uint8_t *data, size_t n_bytes);

#endif
