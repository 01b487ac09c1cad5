/* elf.h - one ELF file, looked at through bounds: headers, sections (unpacked when asked for), build id.
 *
 * Sections of an object that is not linked yet all start at address 0; those with code are laid out one
 * behind the other here, so that an address says which one is meant.
 *
 * Little-endian files of both classes; everything else is refused with the reason. The file is mapped, not
 * read. An open file may be read by several threads, but elf_data of one section only by one thread at a time
 * (the unpacked bytes are kept).
 */
#ifndef SYMBOL_ELF_ELF_H
#define SYMBOL_ELF_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/file.h"

struct span { /* bytes that this struct does not own */
    const uint8_t *p;
    size_t n;
};

struct elf_section {
    const char *name; /* "" when the name is damaged */
    uint32_t type, link, info;
    uint64_t flags, address, offset, size_bytes, entry_bytes;
    uint8_t *unpacked; /* NULL until elf_data had to unpack or relocate */
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
    struct err damage;  /* code is 0 when the section table could be read */
    char build_id[129]; /* hex; "" when there is none */
};

int elf_open(const char *path, struct elf **ret_elf, struct err *err);
/* Takes the bytes over, also when it fails. name is for messages. */
int elf_open_bytes(struct bytes *bytes, const char *name, struct elf **ret_elf, struct err *err);
void elf_close(struct elf *elf); /* NULL is fine */

struct elf_section *elf_find(const struct elf *elf,
                             const char *name); /* NULL when there is none (or it has no bytes) */

/* The section's bytes as they were before compression, with relocations applied when the file is an object
 * not yet linked. Live until elf_close. */
int elf_data(const struct elf *elf, struct elf_section *section, struct span *ret_data, struct err *err);

/* True when the section would have to be unpacked (SHF_COMPRESSED or .zdebug_*). */
bool elf_is_packed(const struct elf_section *section);

uint64_t
elf_image_base(const struct elf *elf); /* the lowest address of a loaded segment, rounded down to its page */

#endif
