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

/* A large program has symbol tables of many megabytes, and memory for a copy of them would be the host's. So
 * names and symbols are read one window at a time.
 *
 * Few names end in the suffix. So their ends are found first, and then the symbols whose name starts up to 63
 * bytes before such an end. */
#define WINDOW_BYTES     ((size_t)1 << 20)
#define WINDOW_SYMBOLS   (WINDOW_BYTES / sizeof(ElfW(Sym)))
#define MAX_ENDS         16
#define MAX_NAME_AND_NUL 64

struct search {
    const struct elf_file *file;
    uintptr_t bias;
    const char *suffix;
    jemalloc_elf_found *found;
    void *context;
    uint8_t *window;
    const ElfW(Shdr) * names;
    uint64_t ends[MAX_ENDS]; /* offsets in names of the NUL behind the suffix */
    size_t n_ends;
};

/* Windows overlap by one byte less than the suffix and its NUL have, so each occurrence is found once. */
static void find_ends(struct search *x)
{
    size_t length = strlen(x->suffix) + 1, n;
    x->n_ends = 0;
    for (uint64_t at = 0; at + length <= x->names->sh_size; at += n - (length - 1)) {
        n = x->names->sh_size - at < WINDOW_BYTES ? (size_t)(x->names->sh_size - at) : WINDOW_BYTES;
        if (!elf_file_read(x->file, x->names, at, x->window, n)) return;
        const uint8_t *p = x->window, *end = x->window + n;
        for (; (p = memmem(p, (size_t)(end - p), x->suffix, length)); p += length) {
            if (x->n_ends == MAX_ENDS) return;
            x->ends[x->n_ends++] = at + (uint64_t)(p - x->window) + length - 1;
        }
    }
}

static bool offer_symbol(const struct search *x, const ElfW(Sym) * s)
{
    char name[MAX_NAME_AND_NUL];
    if (s->st_shndx == SHN_UNDEF || ELF64_ST_TYPE(s->st_info) != STT_FUNC || !s->st_value) return false;
    for (size_t e = 0; e < x->n_ends; e++) {
        if (s->st_name >= x->ends[e] || x->ends[e] - s->st_name >= sizeof name) continue;
        size_t length = (size_t)(x->ends[e] - s->st_name);
        if (elf_file_read(x->file, x->names, s->st_name, name, length + 1) &&
            strnlen(name, length + 1) == length && x->found(x->context, name, x->bias + s->st_value))
            return true;
    }
    return false;
}

/* The symbols are read only when a name of theirs ends in the suffix. Returns true when found did. */
static bool scan_table(struct search *x, const ElfW(Shdr) * table)
{
    find_ends(x);
    uint64_t n_left = x->n_ends ? table->sh_size / sizeof(ElfW(Sym)) : 0, at = 0;
    while (n_left) {
        size_t n = n_left < WINDOW_SYMBOLS ? (size_t)n_left : WINDOW_SYMBOLS;
        if (!elf_file_read(x->file, table, at, x->window, n * sizeof(ElfW(Sym)))) return false;
        for (size_t i = 0; i < n; i++)
            if (offer_symbol(x, (const ElfW(Sym) *)(const void *)x->window + i)) return true;
        at += n * sizeof(ElfW(Sym));
        n_left -= n;
    }
    return false;
}

static void scan_file(struct search *x)
{
    unsigned n = is_loaded_file(x->file, (const uint8_t *)x->bias) ? elf_file_n_sections(x->file) : 0;
    for (unsigned i = 0; i < n; i++) {
        const ElfW(Shdr) *s = elf_file_section(x->file, i);
        if ((s->sh_type != SHT_SYMTAB && s->sh_type != SHT_DYNSYM) || s->sh_link >= n) continue;
        x->names = elf_file_section(x->file, s->sh_link);
        if (scan_table(x, s)) return;
    }
}

bool jemalloc_elf_symbols(const char *path, uintptr_t bias, const char *suffix, jemalloc_elf_found *found,
                          void *context)
{
    struct elf_file f;
    if (!elf_file_open(&f, path)) return true;
    struct search x = {.file = &f, .bias = bias, .suffix = suffix, .found = found, .context = context};
    x.window = f.no_memory ? NULL : pages_map(WINDOW_BYTES);
    if (x.window) scan_file(&x);
    pages_unmap(x.window, WINDOW_BYTES);
    elf_file_close(&f);
    return x.window != NULL;
}
