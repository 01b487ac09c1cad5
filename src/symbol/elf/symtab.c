/* symtab.c - see symtab.h. */
#include "symbol/elf/symtab.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rd.h"
#include "base/symbol_rank.h"

struct candidate {
    uint64_t start, size_bytes;
    const char *name;
    uint32_t rank;  /* smaller is better */
    uint32_t order; /* in the file */
    uint64_t limit; /* end of its section */
    const char *file;
};

struct candidates {
    struct candidate *items;
    size_t n, cap;
};

static int compare(const void *a_, const void *b_)
{
    const struct candidate *a = a_, *b = b_;
    if (a->start != b->start) return a->start < b->start ? -1 : 1;
    if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
    return a->order > b->order ? -1 : 1;
}

/* Returns "name" for "name@VERSION" and "name@@VERSION". The version is not part of a function's name;
 * .dynsym has it in a separate table. */
static const char *without_version(const char *name, struct arena *text)
{
    const char *at = strchr(name, '@');
    return at && at > name ? arena_strndup(text, name, (size_t)(at - name)) : name;
}

/* Sorts the candidates and keeps the best one of each address. A function without a size ends where the next
 * one starts, or where its section ends. */
static void finish(struct candidates *c, struct symtab *table)
{
    if (c->n) qsort(c->items, c->n, sizeof *c->items, compare);
    table->entries = mem_array(c->n, sizeof *table->entries);
    table->n_entries = 0;
    for (size_t i = 0; i < c->n;) {
        const struct candidate *best = &c->items[i];
        const char *name = without_version(best->name, &table->text);
        uint64_t size_bytes = best->size_bytes;
        bool has_others = false;
        for (i++; i < c->n && c->items[i].start == best->start; i++) {
            if (size_bytes == 0) size_bytes = c->items[i].size_bytes;
            has_others = true;
        }
        uint64_t end = size_bytes ? best->start + size_bytes : i < c->n ? c->items[i].start : best->limit;
        if (!size_bytes && end > best->limit) end = best->limit;
        if (end < best->start) end = UINT64_MAX;
        table->entries[table->n_entries++] =
            (struct symtab_entry){best->start, end, name, best->file, has_others};
    }
    mem_free(c->items);
}

/* Adds the functions of one symbol table. If only_at is not NULL, it adds only those that start there. */
static void read_table(const struct elf *elf, struct elf_section *s, const uint64_t *only_at,
                       struct candidates *into)
{
    struct span data, names;
    if (s->link >= elf->n_sections || elf_data(elf, s, &data, NULL) < 0) return;
    if (elf_data(elf, &elf->sections[s->link], &names, NULL) < 0) return;
    if (!names.n || names.p[names.n - 1] != 0) return; /* with a final zero, every offset is a string */
    struct rd r = rd_over(data.p, data.n);
    /* The name of a source file precedes its local symbols. Global symbols follow behind all files, so that
     * their file is known only if the table has a single file. */
    const char *file = NULL;
    bool symbol_seen = false, file_after_symbol = false;
    size_t entry_bytes = elf->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
    for (uint32_t order = 0; rd_left(&r) >= entry_bytes; order++) {
        uint32_t name = rd_u32(&r);
        uint64_t value, size_bytes;
        uint8_t info;
        uint16_t section;
        if (elf->is_64) {
            info = rd_u8(&r);
            rd_u8(&r);
            section = rd_u16(&r);
            value = rd_u64(&r);
            size_bytes = rd_u64(&r);
        } else {
            value = rd_u32(&r);
            size_bytes = rd_u32(&r);
            info = rd_u8(&r);
            rd_u8(&r);
            section = rd_u16(&r);
        }
        unsigned type = info & 15, bind = info >> 4;
        if (type == STT_FILE && name < names.n) {
            file = (const char *)names.p + name;
            file_after_symbol |= symbol_seen;
            continue;
        }
        if (order) symbol_seen = true;
        const struct elf_section *in = section < elf->n_sections ? &elf->sections[section] : NULL;
        if (elf->type == ET_REL && in) value += in->address;
        if (only_at && value != *only_at) continue;
        if (section == SHN_UNDEF || name >= names.n || !names.p[name]) continue;
        if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) continue;
        if (type == STT_NOTYPE && (!in || !(in->flags & SHF_EXECINSTR) || names.p[name] == '$'))
            continue; /* names that start with $ are mapping symbols of ARM */
        const char *text = (const char *)names.p + name;
        uint64_t limit =
            in && in->address + in->size_bytes > value ? in->address + in->size_bytes : value + 1;
        *VEC_PUSH(into->items, into->n, into->cap) =
            (struct candidate){value,
                               size_bytes,
                               text,
                               symbol_rank(bind, type, text, strlen(text)),
                               order,
                               limit,
                               file && *file && (bind == STB_LOCAL || !file_after_symbol) ? file : NULL};
    }
}

static bool read_tables(const struct elf *elf, uint32_t type, const uint64_t *only_at,
                        struct candidates *into)
{
    bool found = false;
    for (size_t i = 0; i < elf->n_sections; i++) {
        if (elf->sections[i].type != type) continue;
        found = true;
        read_table(elf, &elf->sections[i], only_at, into);
    }
    return found;
}

static void read_best(const struct elf *elf, const uint64_t *only_at, struct candidates *into)
{
    read_tables(elf, SHT_SYMTAB, only_at, into);
    if (!into->n) read_tables(elf, SHT_DYNSYM, only_at, into);
}

void symtab_read(const struct elf *elf, struct symtab *ret_table)
{
    struct candidates found = {0};
    read_best(elf, NULL, &found);
    finish(&found, ret_table);
}

void symtab_read_mini(const struct elf *mini, const struct elf *elf, struct symtab *ret_table)
{
    struct candidates found = {0};
    read_tables(mini, SHT_SYMTAB, NULL, &found);
    read_tables(elf, SHT_DYNSYM, NULL, &found);
    finish(&found, ret_table);
}

void symtab_read_at(const struct elf *elf, uint64_t start, struct symtab *ret_table)
{
    struct candidates found = {0};
    read_best(elf, &start, &found);
    finish(&found, ret_table);
}

static bool parse_hex(char **at, uint64_t *ret_value)
{
    char *p = *at;
    uint64_t value = 0;
    if (p[0] == '0' && p[1] == 'x') p += 2;
    char *first = p;
    for (;; p++) {
        unsigned digit;
        if (*p >= '0' && *p <= '9')
            digit = (unsigned)(*p - '0');
        else if ((*p | 32) >= 'a' && (*p | 32) <= 'f')
            digit = (unsigned)((*p | 32) - 'a' + 10);
        else
            break;
        value = value << 4 | digit;
    }
    *ret_value = value;
    *at = p;
    return p > first && p - first <= 16;
}

/* A loop over the lines of the text. Each newline becomes a NUL. A last line without a newline is dropped,
 * because there is no byte for its NUL. */
#define FOR_LINES(line, text, n_bytes)                                                                       \
    for (char *line = (text), *end_ = (text) + (n_bytes), *nl_;                                              \
         line < end_ && (nl_ = memchr(line, '\n', (size_t)(end_ - line))) && (*nl_ = '\0', 1);               \
         line = nl_ + 1)

void symtab_read_kallsyms(char *text, size_t n_bytes, struct symtab *ret_table)
{
    struct candidates found = {0};
    FOR_LINES(line, text, n_bytes)
    {
        char *p = line;
        uint64_t address;
        if (!parse_hex(&p, &address) || *p != ' ' || !p[1] || p[2] != ' ' || !p[3]) continue;
        char kind = p[1];
        if ((kind | 32) != 't' && (kind | 32) != 'w') continue;
        if (!address) continue; /* hidden by kptr_restrict */
        char *name = p + 3;
        name[strcspn(name, " \t")] = '\0'; /* cuts off the module */
        unsigned bind = kind == 't' ? STB_LOCAL : kind == 'T' ? STB_GLOBAL : STB_WEAK;
        *VEC_PUSH(found.items, found.n, found.cap) = (struct candidate){
            address,           0,          name, symbol_rank(bind, STT_FUNC, name, strlen(name)),
            (uint32_t)found.n, UINT64_MAX, NULL};
    }
    finish(&found, ret_table);
}

void symtab_read_perf_map(char *text, size_t n_bytes, struct symtab *ret_table)
{
    struct candidates found = {0};
    FOR_LINES(line, text, n_bytes)
    {
        char *p = line;
        uint64_t start, size_bytes;
        if (!parse_hex(&p, &start) || *p++ != ' ' || !parse_hex(&p, &size_bytes) || *p++ != ' ' || !*p)
            continue;
        uint32_t order =
            (uint32_t)found.n; /* code moves, so that the last line of an address is the valid one */
        *VEC_PUSH(found.items, found.n, found.cap) =
            (struct candidate){start, size_bytes, p, 0, order, start + 1, NULL};
    }
    finish(&found, ret_table);
}

const struct symtab_entry *symtab_find(const struct symtab *table, uint64_t address)
{
    size_t low = 0, high = table->n_entries; /* the last entry with start <= address */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table->entries[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    /* The nearest entry may be a label inside a function and end before the address. The function itself is
     * then one of the few entries before it. */
    for (size_t i = low, tries = 0; i > 0 && tries < 8; i--, tries++)
        if (address < table->entries[i - 1].end) return &table->entries[i - 1];
    return NULL;
}

void symtab_free(struct symtab *table)
{
    mem_free(table->entries);
    arena_free(&table->text);
    *table = (struct symtab){0};
}

/* Returns true if name[at] is the digit of C1, C2, D0 and so on, which mark the entry points of one
 * constructor or destructor. */
static bool is_entry_kind(const char *name, size_t at)
{
    return at > 0 && (name[at - 1] == 'C' || name[at - 1] == 'D') && name[at] >= '0' && name[at] <= '5';
}

bool symtab_same_function(const char *linkage_name, const char *symbol)
{
    size_t i = 0;
    while (linkage_name[i] &&
           (linkage_name[i] == symbol[i] || (is_entry_kind(linkage_name, i) && is_entry_kind(symbol, i))))
        i++;
    return !linkage_name[i] && (!symbol[i] || symbol[i] == '.');
}
