/* jemalloc_elf.c - finds functions by the end of their name, in the symbol tables of the files that this
 * process was loaded from.
 *
 * A statically linked allocator is often not exported. The loader cannot name it then, but its file can. The
 * caller will call the function that is found here, so the file must be the one that is loaded and not a
 * newer one of the same name: its first page is compared with memory.
 */
#include <string.h>
#include <unistd.h>

#include "agent/heap/jemalloc.h"
#include "agent/host/elf_file.h"

#define FIRST_PAGE 4096

static bool is_loaded_file(const struct elf_file *f, const uint8_t *loaded)
{
    uint8_t page[FIRST_PAGE];
    for (unsigned i = 0; i < elf_file_n_segments(f); i++) {
        const ElfW(Phdr) *segment = elf_file_segment(f, i);
        if (segment->p_type != PT_LOAD || segment->p_offset != 0) continue;
        size_t n = segment->p_filesz < FIRST_PAGE ? (size_t)segment->p_filesz : FIRST_PAGE;
        return pread(f->fd, page, n, 0) == (ssize_t)n && !memcmp(page, loaded + segment->p_vaddr, n);
    }
    return false;
}

/* Few names end in the suffix. So their ends are found first, and then the symbols whose name starts up to 63
 * bytes before such an end. */
#define MAX_ENDS 16

static size_t find_ends(const struct elf_part *names, const char *suffix, uint64_t ends[MAX_ENDS])
{
    size_t n_ends = 0, length = strlen(suffix) + 1;
    const uint8_t *p = names->bytes;
    for (; p && n_ends < MAX_ENDS &&
           (p = memmem(p, names->n_bytes - (size_t)(p - names->bytes), suffix, length));
         p += length)
        ends[n_ends++] = (uint64_t)(p - names->bytes) + length - 1;
    return n_ends;
}

static bool scan_symbols(const struct elf_part *symbols, const char *text, const uint64_t *ends,
                         size_t n_ends, uintptr_t bias, jemalloc_elf_found *found, void *context)
{
    for (size_t i = 0; i < symbols->n_bytes / sizeof(ElfW(Sym)); i++) {
        const ElfW(Sym) *s = (const ElfW(Sym) *)(const void *)symbols->bytes + i;
        if (s->st_shndx == SHN_UNDEF || ELF64_ST_TYPE(s->st_info) != STT_FUNC || !s->st_value) continue;
        for (size_t e = 0; e < n_ends; e++)
            if (s->st_name < ends[e] && ends[e] - s->st_name < 64 &&
                strlen(text + s->st_name) == ends[e] - s->st_name &&
                found(context, text + s->st_name, bias + s->st_value))
                return true;
    }
    return false;
}

/* The symbols are read only when a name of theirs ends in the suffix. */
static bool scan_table(struct elf_file *f, const ElfW(Shdr) * table, uintptr_t bias, const char *suffix,
                       jemalloc_elf_found *found, void *context)
{
    uint64_t ends[MAX_ENDS];
    bool stopped = false;
    struct elf_part names = elf_file_load(f, elf_file_section(f, table->sh_link));
    size_t n_ends = find_ends(&names, suffix, ends);
    if (n_ends) {
        struct elf_part symbols = elf_file_load(f, table);
        stopped = scan_symbols(&symbols, (const char *)names.bytes, ends, n_ends, bias, found, context);
        elf_part_free(&symbols);
    }
    elf_part_free(&names);
    return stopped;
}

bool jemalloc_elf_symbols(const char *path, uintptr_t bias, const char *suffix, jemalloc_elf_found *found,
                          void *context)
{
    struct elf_file f;
    bool stopped = false;
    if (!elf_file_open(&f, path)) return false;
    unsigned n = is_loaded_file(&f, (const uint8_t *)bias) ? elf_file_n_sections(&f) : 0;
    for (unsigned i = 0; i < n && !stopped; i++) {
        const ElfW(Shdr) *s = elf_file_section(&f, i);
        if ((s->sh_type == SHT_SYMTAB || s->sh_type == SHT_DYNSYM) && s->sh_link < n)
            stopped = scan_table(&f, s, bias, suffix, found, context);
    }
    elf_file_close(&f);
    return stopped;
}
