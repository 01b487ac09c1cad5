/* elf_file.c - see elf_file.h. */
#include "agent/host/elf_file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/host/pages.h"

#define MAX_PART ((uint64_t)1 << 30)

static struct elf_part read_part(struct elf_file *f, uint64_t offset, uint64_t n_bytes)
{
    struct elf_part p = {0};
    if (!n_bytes || n_bytes > MAX_PART || offset > f->size || n_bytes > f->size - offset) return p;
    uint8_t *memory = pages_map((size_t)n_bytes);
    uint64_t done = 0;
    while (memory && done < n_bytes) {
        ssize_t n = pread(f->fd, memory + done, (size_t)(n_bytes - done), (off_t)(offset + done));
        if (n <= 0) break;
        done += (uint64_t)n;
    }
    f->no_memory |= !memory;
    if (!memory) return p;
    if (done < n_bytes) {
        pages_unmap(memory, (size_t)n_bytes);
        return p;
    }
    return (struct elf_part){memory, (size_t)n_bytes};
}

void elf_part_free(struct elf_part *p)
{
    pages_unmap(p->bytes, p->n_bytes);
    *p = (struct elf_part){0};
}

bool elf_file_open(struct elf_file *f, const char *path)
{
    *f = (struct elf_file){.fd = open(path, O_RDONLY | O_CLOEXEC)};
    struct stat st;
    if (f->fd < 0) return false;
    if (fstat(f->fd, &st) || !S_ISREG(st.st_mode)) goto bad;
    f->size = (uint64_t)st.st_size;
    if (pread(f->fd, &f->header, sizeof f->header, 0) != sizeof f->header ||
        memcmp(f->header.e_ident, ELFMAG, SELFMAG) || f->header.e_ident[EI_CLASS] != ELFCLASS64 ||
        f->header.e_phentsize != sizeof(ElfW(Phdr)))
        goto bad;
    f->segments = read_part(f, f->header.e_phoff, (uint64_t)f->header.e_phnum * sizeof(ElfW(Phdr)));
    if (f->header.e_shentsize == sizeof(ElfW(Shdr)))
        f->sections = read_part(f, f->header.e_shoff, (uint64_t)f->header.e_shnum * sizeof(ElfW(Shdr)));
    return true;
bad:
    close(f->fd);
    f->fd = -1;
    return false;
}

void elf_file_close(struct elf_file *f)
{
    if (f->fd >= 0) close(f->fd);
    elf_part_free(&f->segments);
    elf_part_free(&f->sections);
    f->fd = -1;
}

struct elf_part elf_file_load(struct elf_file *f, const ElfW(Shdr) * section)
{
    if (section->sh_type == SHT_NOBITS || (section->sh_flags & SHF_COMPRESSED)) return (struct elf_part){0};
    return read_part(f, section->sh_offset, section->sh_size);
}

const ElfW(Shdr) * elf_file_find(struct elf_file *f, uint32_t type, const char *name)
{
    unsigned n = elf_file_n_sections(f);
    struct elf_part names = {0};
    if (name && f->header.e_shstrndx < n) names = elf_file_load(f, elf_file_section(f, f->header.e_shstrndx));
    const ElfW(Shdr) *found = NULL;
    for (unsigned i = 0; i < n && !found; i++) {
        const ElfW(Shdr) *s = elf_file_section(f, i);
        if (s->sh_type != type) continue;
        struct rd at = rd_over(names.bytes, names.n_bytes);
        rd_skip(&at, s->sh_name);
        const char *text = name ? rd_cstr(&at) : NULL;
        if (!name || (text && !strcmp(text, name))) found = s;
    }
    elf_part_free(&names);
    return found;
}
