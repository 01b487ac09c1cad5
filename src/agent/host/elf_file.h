/* elf_file.h - parts of an ELF file on disk, read (never mapped: a file that is cut short while it is mapped
 * ends the host by SIGBUS). */
#ifndef AGENT_HOST_ELF_FILE_H
#define AGENT_HOST_ELF_FILE_H

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rd.h"

struct elf_part { /* memory of ours */
    uint8_t *bytes;
    size_t n_bytes;
};

struct elf_file {
    int fd;
    uint64_t size;
    ElfW(Ehdr) header;
    struct elf_part segments, sections; /* ElfW(Phdr)[], ElfW(Shdr)[] */
};

bool elf_file_open(struct elf_file *f,
                   const char *path); /* false: not there, not ELF64, or its headers make no sense */
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

/* The first section of this type and (unless NULL) name; NULL when there is none. */
const ElfW(Shdr) * elf_file_find(const struct elf_file *f, uint32_t type, const char *name);

/* The content of a section; empty when it is compressed, has none, or cannot be read. Free with
 * elf_part_free. */
struct elf_part elf_file_load(const struct elf_file *f, const ElfW(Shdr) * section);
void elf_part_free(struct elf_part *p);

#endif
