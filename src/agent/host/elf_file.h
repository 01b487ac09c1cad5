/* elf_file.h - reads parts of an ELF file on disk. Files are never mapped: if another process truncates a
 * mapped file, the next access kills the host with SIGBUS. */
#ifndef AGENT_HOST_ELF_FILE_H
#define AGENT_HOST_ELF_FILE_H

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rd.h"

struct elf_part { /* a copy in memory from pages.h */
    uint8_t *bytes;
    size_t n_bytes;
};

struct elf_file {
    int fd;
    uint64_t size;
    ElfW(Ehdr) header;
    struct elf_part segments, sections; /* ElfW(Phdr)[], ElfW(Shdr)[] */
    bool no_memory;                     /* the kernel refused memory for a part; stays after elf_file_close */
};

/* Opens the file and reads its headers. False when it does not exist, is not ELF64 or has invalid headers;
 * there is nothing to close then. */
bool elf_file_open(struct elf_file *f, const char *path);
void elf_file_close(struct elf_file *f);

static inline unsigned elf_file_n_segments(const struct elf_file *f)
{
    return (unsigned)(f->segments.n_bytes / sizeof(ElfW(Phdr)));
}
static inline const ElfW(Phdr) * elf_file_segment(const struct elf_file *f, unsigned i)
{
    return (const ElfW(Phdr) *)(const void *)f->segments.bytes + i;
}
static inline unsigned elf_file_n_sections(const struct elf_file *f)
{
    return (unsigned)(f->sections.n_bytes / sizeof(ElfW(Shdr)));
}
static inline const ElfW(Shdr) * elf_file_section(const struct elf_file *f, unsigned i)
{
    return (const ElfW(Shdr) *)(const void *)f->sections.bytes + i;
}

/* The first section of this type and (unless NULL) name; NULL when there is none, or no memory. */
const ElfW(Shdr) * elf_file_find(struct elf_file *f, uint32_t type, const char *name);

/* Reads a section's content. The result is empty when the section is compressed, has no bytes in the file, is
 * larger than 1 GiB or cannot be read, or when there is no memory for it. Free it with elf_part_free. */
struct elf_part elf_file_load(struct elf_file *f, const ElfW(Shdr) * section);
void elf_part_free(struct elf_part *p);

/* Copies n_bytes of a section's content, from `offset` in it. False when it has fewer bytes, is compressed,
 * has no bytes in the file or cannot be read. */
bool elf_file_read(const struct elf_file *f, const ElfW(Shdr) * section, uint64_t offset, void *into,
                   size_t n_bytes);

#endif
