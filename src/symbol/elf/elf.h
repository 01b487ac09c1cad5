/* elf.h - one ELF file: headers, sections (unpacked on demand) and build id. All reads check bounds.
 *
 * In an object that is not linked yet, all sections start at address 0. Here the sections with code get
 * addresses one behind the other, so that an address belongs to one section only.
 *
 * The reader accepts little-endian files of 32 and 64 bits and refuses all others with the reason. It maps
 * the file. Several threads may read an open file, but only one thread at a time may call elf_data for the
 * same section, because elf_data keeps the unpacked bytes in the section.
 */
#ifndef SYMBOL_ELF_ELF_H
#define SYMBOL_ELF_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/file.h"

struct span { /* bytes that another struct owns */
    const uint8_t *p;
    size_t n;
};

struct elf_section {
    const char *name; /* "" when the name is damaged */
    uint32_t type, link, info;
    uint64_t flags, address, offset, size_bytes;
    uint8_t *unpacked; /* the bytes that elf_data unpacked or relocated; NULL if there was no need */
    size_t n_unpacked;
};

struct elf_segment {
    uint32_t type, flags;
    uint64_t offset, address, file_bytes, memory_bytes;
};

struct elf {
    char *path;
    struct bytes file;
    bool is_64;
    uint16_t type, machine;
    struct elf_section *sections;
    size_t n_sections;
    struct elf_segment *segments;
    size_t n_segments;
    struct err damage;  /* why the section table could not be read; its code is 0 if it could */
    char build_id[129]; /* hex; "" when there is none */
};

/* Opens the ELF file at path. Returns 0, or an error with the reason in *err. If the section table is damaged
 * but there are segments, the file opens without sections and damage has the reason. */
int elf_open(const char *path, struct elf **ret_elf, struct err *err);

/* Does the same with bytes in memory. The bytes belong to the result, and are freed if opening fails. name is
 * used in messages. */
int elf_open_bytes(struct bytes *bytes, const char *name, struct elf **ret_elf, struct err *err);

void elf_close(struct elf *elf); /* elf may be NULL */

/* Returns the first section with this name that has bytes in the file, or NULL. */
struct elf_section *elf_find(const struct elf *elf, const char *name);

/* Returns the section's bytes in *ret_data: decompressed, and with relocations applied if the file is an
 * object that is not linked yet. They live until elf_close. */
int elf_data(const struct elf *elf, struct elf_section *section, struct span *ret_data, struct err *err);

/* Returns true if the section is compressed (SHF_COMPRESSED or .zdebug_*). */
bool elf_is_packed(const struct elf_section *section);

#endif
