/* elf_file.c - see elf_file.h. */
#include "agent/host/elf_file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/host/pages.h"

#define MAX_PART ((uint64_t)1 << 30)

static bool is_in_file(const struct elf_file *f, uint64_t offset, uint64_t n_bytes)
{
    return offset <= f->size && n_bytes <= f->size - offset;
}

static bool read_bytes(const struct elf_file *f, uint64_t offset, void *into, size_t n_bytes)
{
    for (size_t done = 0; done < n_bytes;) {
        ssize_t n = pread(f->fd, (uint8_t *)into + done, n_bytes - done, (off_t)(offset + done));
        if (n <= 0) return false;
        done += (size_t)n;
    }
    return true;
}

static struct elf_part read_part(struct elf_file *f, uint64_t offset, uint64_t n_bytes)
{
    if (!n_bytes || n_bytes > MAX_PART || !is_in_file(f, offset, n_bytes)) return (struct elf_part){0};
    struct elf_part p = {pages_map((size_t)n_bytes), (size_t)n_bytes};
    f->no_memory |= !p.bytes;
    if (!p.bytes || !read_bytes(f, offset, p.bytes, p.n_bytes)) elf_part_free(&p);
    return p;
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

static bool has_plain_bytes(const ElfW(Shdr) * section)
{
    return section->sh_type != SHT_NOBITS && !(section->sh_flags & SHF_COMPRESSED);
}

struct elf_part elf_file_load(struct elf_file *f, const ElfW(Shdr) * section)
{
    return has_plain_bytes(section) ? read_part(f, section->sh_offset, section->sh_size)
                                    : (struct elf_part){0};
}

bool elf_file_read(const struct elf_file *f, const ElfW(Shdr) * section, uint64_t offset, void *into,
                   size_t n_bytes)
{
    return has_plain_bytes(section) && is_in_file(f, section->sh_offset, section->sh_size) &&
           offset <= section->sh_size && n_bytes <= section->sh_size - offset &&
           read_bytes(f, section->sh_offset + offset, into, n_bytes);
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
