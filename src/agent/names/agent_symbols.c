/* agent_symbols.c - see agent_symbols.h. Reads every symbol table once, from front to back, and offers each
 * symbol to the wanted addresses that lie in it. It builds no table of symbols, so a binary with a million
 * symbols costs one pass and no memory. */
#include "agent/names/agent_symbols.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/host/elf_file.h"
#include "agent/host/own_memory.h"
#include "base/symbol_rank.h"

#define MAX_GUESS 4096 /* bytes that a symbol without a size is assumed to cover */

static struct symbols_entry *entry_at(const struct symbols *s, size_t i)
{
    return (struct symbols_entry *)(void *)s->entries.data + i;
}

static size_t n_entries(const struct symbols *s)
{
    return s->entries.size / sizeof(struct symbols_entry);
}

void symbols_add(struct symbols *s, uintptr_t address)
{
    struct symbols_entry e = {.address = address, .mapping = -1};
    pages_buf_bytes(&s->entries, &e, sizeof e);
}

/* Sorts by address and drops duplicates. A radix sort, because qsort may call malloc. */
static int sort_entries(struct symbols *s)
{
    size_t n = n_entries(s);
    struct symbols_entry *from = entry_at(s, 0), *spare = pages_map(n * sizeof *spare), *to = spare;
    if (!spare) return -1;
    for (unsigned shift = 0; shift < 64; shift += 8) {
        size_t count[257] = {0};
        for (size_t i = 0; i < n; i++) count[((uint64_t)from[i].address >> shift & 255) + 1]++;
        for (unsigned d = 0; d < 256; d++) count[d + 1] += count[d];
        for (size_t i = 0; i < n; i++) to[count[(uint64_t)from[i].address >> shift & 255]++] = from[i];
        struct symbols_entry *swap = from;
        from = to;
        to = swap;
    } /* after eight passes, an even number, `from` is s->entries again */
    size_t n_left = 0;
    for (size_t i = 0; i < n; i++)
        if (!n_left || from[n_left - 1].address != from[i].address) from[n_left++] = from[i];
    s->entries.size = n_left * sizeof *from;
    pages_unmap(spare, n * sizeof *spare);
    return 0;
}

static size_t first_at_or_above(const struct symbols *s, uintptr_t address)
{
    size_t low = 0, high = n_entries(s);
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (entry_at(s, middle)->address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Whether a symbol that begins at `start` is a better name for the entry than its current one. A symbol whose
 * size covers the address beats one that merely begins before it; then the nearer start wins; of two names
 * for the same start, the better rank wins. */
static bool is_better(const struct symbols_entry *e, uintptr_t start, bool has_size, uint16_t rank)
{
    if (!e->start) return true;
    if (e->start == start) return rank <= e->rank;
    return e->has_size != has_size ? has_size : start > e->start;
}

static void offer(struct symbols *s, const ElfW(Sym) * symbol, uint16_t rank, const char *name,
                  size_t name_length, uintptr_t bias, uintptr_t begin, uintptr_t end)
{
    uintptr_t start = symbol->st_value + bias,
              limit = start + (symbol->st_size ? symbol->st_size : MAX_GUESS);
    uint32_t stored = 0;
    size_t n = n_entries(s);
    for (size_t i = first_at_or_above(s, start > begin ? start : begin); i < n; i++) {
        struct symbols_entry *e = entry_at(s, i);
        if (e->address >= limit || e->address >= end) break;
        if (!is_better(e, start, symbol->st_size, rank)) continue;
        if (!stored) {
            stored = (uint32_t)s->names.size;
            pages_buf_bytes(&s->names, name, name_length);
            pages_buf_bytes(&s->names, "", 1);
            if (s->names.failed) return;
        }
        e->has_size = symbol->st_size || (e->has_size && e->start == start);
        e->start = start;
        e->rank = rank;
        e->name = stored;
    }
}

/* Offers every function of one symbol table. */
static void offer_symbols(struct symbols *s, struct elf_part symbols, struct elf_part strings, uintptr_t bias,
                          const struct mapping *map)
{
    const ElfW(Sym) *y = (const ElfW(Sym) *)(const void *)symbols.bytes,
                    *end = y + symbols.n_bytes / sizeof *y;
    for (; y < end; y++) {
        unsigned type = ELF64_ST_TYPE(y->st_info);
        if ((type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) || y->st_shndx == SHN_UNDEF ||
            y->st_shndx == SHN_ABS)
            continue;
        uintptr_t start = y->st_value + bias;
        if (start >= map->limit || start + y->st_size + MAX_GUESS < map->start ||
            y->st_name >= strings.n_bytes)
            continue;
        const char *name = (const char *)strings.bytes + y->st_name;
        size_t length = strnlen(name, strings.n_bytes - y->st_name);
        uint16_t rank = symbol_rank(ELF64_ST_BIND(y->st_info), type, name, length);
        const char *version = memchr(name, '@', length); /* .symtab has name@@VERSION */
        if (version && version > name) length = (size_t)(version - name);
        if (!length || name[0] == '$' || length > 60000)
            continue; /* $x and $d mark code and data on aarch64 */
        offer(s, y, rank, name, length, bias, map->start, map->limit);
    }
}

/* Offers the symbols of the table of this type; false when the file has none. */
static bool offer_table(struct symbols *s, struct elf_file *f, uint32_t type, uintptr_t bias,
                        const struct mapping *map)
{
    const ElfW(Shdr) *table = elf_file_find(f, type, NULL);
    if (!table || table->sh_link >= elf_file_n_sections(f)) return false;
    struct elf_part symbols = elf_file_load(f, table),
                    strings = elf_file_load(f, elf_file_section(f, table->sh_link));
    bool good = symbols.n_bytes && strings.n_bytes;
    if (good) offer_symbols(s, symbols, strings, bias, map);
    elf_part_free(&symbols);
    elf_part_free(&strings);
    return good;
}

/* Computes how far the object was moved when it was loaded: address in memory minus address in the file. */
static bool find_bias(const struct elf_file *f, const struct mapping *map, uintptr_t *ret_bias)
{
    for (unsigned i = 0; i < elf_file_n_segments(f); i++) {
        const ElfW(Phdr) *p = elf_file_segment(f, i);
        uint64_t first_page = p->p_offset & ~(uint64_t)4095;
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) || map->offset < first_page ||
            map->offset >= p->p_offset + p->p_filesz)
            continue;
        *ret_bias = map->start - (uintptr_t)(p->p_vaddr + (map->offset - p->p_offset));
        return true;
    }
    return false;
}

/* Offers the symbols of the separate debug file, in the place where distributions install it. */
static void offer_debug_file(struct symbols *s, const struct mapping *map, uintptr_t bias)
{
    char path[128];
    struct elf_file f;
    if (strlen(map->build_id) < 4) return;
    snprintf(path, sizeof path, "/usr/lib/debug/.build-id/%.2s/%s.debug", map->build_id, map->build_id + 2);
    if (!elf_file_open(&f, path)) return;
    (void)offer_table(s, &f, SHT_SYMTAB, bias, map);
    elf_file_close(&f);
}

static void resolve_file(struct symbols *s, const struct mapping *map)
{
    struct elf_file f;
    char exe[256];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    exe[n > 0 ? n : 0] = 0;
    /* /proc/self/exe opens the running program even after its file was replaced or deleted. */
    bool is_exe = !strncmp(exe, map->path, strlen(map->path));
    if (!elf_file_open(&f, is_exe ? "/proc/self/exe" : map->path)) return;
    uintptr_t bias;
    if (find_bias(&f, map, &bias)) {
        if (!offer_table(s, &f, SHT_SYMTAB, bias, map)) offer_debug_file(s, map, bias);
        (void)offer_table(s, &f, SHT_DYNSYM, bias, map);
    }
    elf_file_close(&f);
}

/* The vdso has no file, but its image in memory is complete, including the section headers. */
static void resolve_vdso(struct symbols *s, const struct mapping *map)
{
    size_t size = map->limit - map->start;
    uint8_t *copy = pages_map(size);
    if (!copy) return;
    size_t n = own_memory_read(map->start, copy, size);
    const ElfW(Ehdr) *e = (const ElfW(Ehdr) *)(const void *)copy;
    if (n >= sizeof *e && e->e_shentsize == sizeof(ElfW(Shdr)) && e->e_shoff < n &&
        (n - e->e_shoff) / sizeof(ElfW(Shdr)) >= e->e_shnum) {
        const ElfW(Shdr) *h = (const ElfW(Shdr) *)(const void *)(copy + e->e_shoff);
        for (unsigned i = 0; i < e->e_shnum; i++) {
            if (h[i].sh_type != SHT_DYNSYM || h[i].sh_link >= e->e_shnum) continue;
            const ElfW(Shdr) *t = &h[h[i].sh_link];
            if (h[i].sh_offset > n || h[i].sh_size > n - h[i].sh_offset || t->sh_offset > n ||
                t->sh_size > n - t->sh_offset)
                continue;
            offer_symbols(s, (struct elf_part){copy + h[i].sh_offset, h[i].sh_size},
                          (struct elf_part){copy + t->sh_offset, t->sh_size}, map->start, map);
        }
    }
    pages_unmap(copy, size);
}

int symbols_resolve(struct symbols *s, const struct mappings *m)
{
    if (s->entries.failed || (n_entries(s) && sort_entries(s))) return -1;
    if (!s->names.size) pages_buf_bytes(&s->names, "", 1);
    size_t n = n_entries(s), at = 0;
    for (unsigned i = 0; i < mappings_count(m) && i < INT16_MAX; i++) {
        const struct mapping *map = mappings_at(m, i);
        while (at < n && entry_at(s, at)->address < map->start) at++;
        size_t first = at;
        for (; at < n && entry_at(s, at)->address < map->limit; at++) entry_at(s, at)->mapping = (int16_t)i;
        if (at == first) continue;
        if (map->is_file)
            resolve_file(s, map);
        else if (!strcmp(map->path, "[vdso]"))
            resolve_vdso(s, map);
    }
    return s->names.failed ? -1 : 0;
}

const struct symbols_entry *symbols_find(const struct symbols *s, uintptr_t address)
{
    size_t i = first_at_or_above(s, address);
    return i < n_entries(s) && entry_at(s, i)->address == address ? entry_at(s, i) : NULL;
}

void symbols_free(struct symbols *s)
{
    pages_buf_free(&s->entries);
    pages_buf_free(&s->names);
}
