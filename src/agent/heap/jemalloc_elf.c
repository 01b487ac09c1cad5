/* jemalloc_elf.c - functions by the end of their name, in the symbol tables of the files this process was
 * loaded from.
 *
 * A statically linked allocator is often not exported, so the loader cannot name it; its file can. A symbol
 * found here will be called: so the file must be the one that is loaded, not a newer one of the same name.
 * Its first page is compared with memory.
 */
#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/heap/jemalloc.h"

#define FIRST_PAGE 4096

struct image {
    const uint8_t *data;
    size_t n_bytes;
};

static const void *at(const struct image *f, uint64_t offset, uint64_t n_bytes)
{
    return offset <= f->n_bytes && n_bytes <= f->n_bytes - offset ? f->data + offset : NULL;
}

static bool is_loaded_file(const struct image *f, const uint8_t *loaded)
{
    const Elf64_Ehdr *head = at(f, 0, sizeof *head);
    if (!head || memcmp(head->e_ident, ELFMAG, SELFMAG) || head->e_ident[EI_CLASS] != ELFCLASS64)
        return false;
    const Elf64_Phdr *segments = at(f, head->e_phoff, (uint64_t)head->e_phnum * sizeof *segments);
    for (unsigned i = 0; segments && i < head->e_phnum; i++) {
        if (segments[i].p_type != PT_LOAD || segments[i].p_offset != 0) continue;
        size_t n = segments[i].p_filesz < FIRST_PAGE ? segments[i].p_filesz : FIRST_PAGE;
        return n <= f->n_bytes && !memcmp(f->data, loaded + segments[i].p_vaddr, n);
    }
    return false;
}

/* The names that end so are few: find their ends first, then the symbols that start up to 63 bytes before
 * one. */
#define MAX_ENDS 16

static bool scan_table(const struct image *f, const Elf64_Shdr *table, const Elf64_Shdr *names,
                       uintptr_t bias, const char *suffix, jemalloc_elf_found *found, void *context)
{
    const char *text = at(f, names->sh_offset, names->sh_size);
    const Elf64_Sym *symbols = at(f, table->sh_offset, table->sh_size);
    size_t length = strlen(suffix) + 1, n_ends = 0, n_symbols = table->sh_size / sizeof *symbols;
    uint64_t ends[MAX_ENDS];
    if (!text || !symbols || ((uintptr_t)symbols & 7)) return false;
    for (const char *p = text;
         n_ends < MAX_ENDS && (p = memmem(p, names->sh_size - (size_t)(p - text), suffix, length));
         p += length)
        ends[n_ends++] = (uint64_t)(p - text) + length - 1;
    for (size_t i = 0; n_ends && i < n_symbols; i++) {
        const Elf64_Sym *s = &symbols[i];
        if (s->st_shndx == SHN_UNDEF || ELF64_ST_TYPE(s->st_info) != STT_FUNC || !s->st_value) continue;
        for (size_t e = 0; e < n_ends; e++)
            if (s->st_name < ends[e] && ends[e] - s->st_name < 64 &&
                strlen(text + s->st_name) == ends[e] - s->st_name &&
                found(context, text + s->st_name, bias + s->st_value))
                return true;
    }
    return false;
}

static bool scan_image(const struct image *f, uintptr_t bias, const char *suffix, jemalloc_elf_found *found,
                       void *context)
{
    const Elf64_Ehdr *head = at(f, 0, sizeof *head);
    const Elf64_Shdr *sections = at(f, head->e_shoff, (uint64_t)head->e_shnum * sizeof *sections);
    if (!sections || (head->e_shoff & 7) || head->e_shentsize != sizeof *sections) return false;
    for (unsigned i = 0; i < head->e_shnum; i++) {
        const Elf64_Shdr *s = &sections[i];
        if ((s->sh_type != SHT_SYMTAB && s->sh_type != SHT_DYNSYM) || s->sh_link >= head->e_shnum) continue;
        if (scan_table(f, s, &sections[s->sh_link], bias, suffix, found, context)) return true;
    }
    return false;
}

bool jemalloc_elf_symbols(const char *path, uintptr_t bias, const char *suffix, jemalloc_elf_found *found,
                          void *context)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    bool stopped = false;
    if (fd < 0) return false;
    if (!fstat(fd, &status) && S_ISREG(status.st_mode) && status.st_size > 0) {
        struct image f = {.n_bytes = (size_t)status.st_size};
        void *memory = mmap(NULL, f.n_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
        f.data = memory;
        if (memory != MAP_FAILED) {
            if (is_loaded_file(&f, (const uint8_t *)bias))
                stopped = scan_image(&f, bias, suffix, found, context);
            munmap(memory, f.n_bytes);
        }
    }
    close(fd);
    return stopped;
}
