/* elf.c - see elf.h. Files of 32 and 64 bits fill the same structs, so that other code need not tell them
 * apart, except to read symbols and compression headers. */
#include "symbol/elf/elf.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/rd.h"
#include "base/text.h"
#include "symbol/elf/elf_unpack.h"

#define MAX_FILE_BYTES ((size_t)64 << 30)
#define MAX_SECTIONS   (1u << 20) /* -ffunction-sections objects have tens of thousands */
#define MAX_SEGMENTS   (1u << 16)

static uint64_t read_word(struct rd *r, bool is_64)
{
    return is_64 ? rd_u64(r) : rd_u32(r);
}

static struct rd reader_at(const struct elf *elf, uint64_t offset)
{
    struct rd r = rd_over(elf->file.data, elf->file.len);
    rd_skip(&r, offset);
    return r;
}

static void read_section(struct rd *r, bool is_64, struct elf_section *s, uint32_t *ret_name)
{
    *ret_name = rd_u32(r);
    s->type = rd_u32(r);
    s->flags = read_word(r, is_64);
    s->address = read_word(r, is_64);
    s->offset = read_word(r, is_64);
    s->size_bytes = read_word(r, is_64);
    s->link = rd_u32(r);
    s->info = rd_u32(r);
    read_word(r, is_64); /* alignment */
    read_word(r, is_64); /* size of an entry */
}

static int read_sections(struct elf *elf, uint64_t offset, uint64_t count, uint32_t names_index,
                         struct err *err)
{
    const size_t header_bytes = elf->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
    if (!offset) return 0;
    struct rd r = reader_at(elf, offset);
    struct elf_section first = {0};
    uint32_t name;
    read_section(&r, elf->is_64, &first, &name);
    if (r.bad)
        return err_set(err, ERR_INPUT, "%s: the section table lies outside the file (truncated?)", elf->path);
    if (count == 0) count = first.size_bytes; /* with more than 65,279 sections, section 0 has the count */
    if (names_index == SHN_XINDEX) names_index = first.link;
    if (count > MAX_SECTIONS || count * header_bytes > elf->file.len - offset)
        return err_set(err, ERR_INPUT, "%s: the section table lies outside the file (truncated?)", elf->path);
    elf->sections = mem_zalloc((size_t)count * sizeof *elf->sections);
    uint32_t *names = mem_array((size_t)count, sizeof *names);
    r = reader_at(elf, offset);
    for (size_t i = 0; i < count; i++) read_section(&r, elf->is_64, &elf->sections[i], &names[i]);
    elf->n_sections = (size_t)count;
    struct span text = {0};
    if (names_index < count) {
        const struct elf_section *s = &elf->sections[names_index];
        if (s->type != SHT_NOBITS && s->offset < elf->file.len) {
            text.p = elf->file.data + s->offset;
            text.n = s->size_bytes < elf->file.len - s->offset ? (size_t)s->size_bytes
                                                               : elf->file.len - (size_t)s->offset;
        }
    }
    for (size_t i = 0; i < count; i++) {
        elf->sections[i].name = "";
        if (names[i] < text.n && memchr(text.p + names[i], 0, text.n - names[i]))
            elf->sections[i].name = (const char *)text.p + names[i];
    }
    mem_free(names);
    return 0;
}

static void lay_out(struct elf *elf)
{
    uint64_t next = 0;
    for (size_t i = 0; i < elf->n_sections; i++) {
        struct elf_section *s = &elf->sections[i];
        if ((s->flags & (SHF_ALLOC | SHF_EXECINSTR)) != (SHF_ALLOC | SHF_EXECINSTR) || s->address) continue;
        if (s->size_bytes > elf->file.len) continue;
        s->address = next;
        next = (next + s->size_bytes + 15) & ~(uint64_t)15;
    }
}

static void read_segments(struct elf *elf, uint64_t offset, uint64_t count)
{
    if (!offset || !count || count > MAX_SEGMENTS) return;
    struct rd r = reader_at(elf, offset);
    elf->segments = mem_zalloc((size_t)count * sizeof *elf->segments);
    for (size_t i = 0; i < count; i++) {
        struct elf_segment s = {0};
        s.type = rd_u32(&r);
        if (elf->is_64) s.flags = rd_u32(&r);
        s.offset = read_word(&r, elf->is_64);
        s.address = read_word(&r, elf->is_64);
        read_word(&r, elf->is_64);
        s.file_bytes = read_word(&r, elf->is_64);
        s.memory_bytes = read_word(&r, elf->is_64);
        if (!elf->is_64) s.flags = rd_u32(&r);
        read_word(&r, elf->is_64);
        if (r.bad) break;
        elf->segments[elf->n_segments++] = s;
    }
}

/* Sets elf->build_id from the notes and returns true if they have one. A note consists of name size,
 * description size, type, name and description. Name and description are padded to four bytes. */
static bool find_build_id(struct elf *elf, struct rd notes)
{
    while (rd_left(&notes) >= 12) {
        uint32_t n_name = rd_u32(&notes), n_text = rd_u32(&notes), type = rd_u32(&notes);
        const uint8_t *name = rd_bytes(&notes, ((uint64_t)n_name + 3) & ~3ull);
        uint64_t padded = ((uint64_t)n_text + 3) & ~3ull;
        const uint8_t *text = rd_bytes(&notes, padded <= rd_left(&notes) ? padded : n_text);
        if (notes.bad) return false;
        if (type != NT_GNU_BUILD_ID || n_name != 4 || memcmp(name, "GNU", 4)) continue;
        if (n_text == 0 || n_text > 64) continue;
        text_hex(text, n_text, elf->build_id);
        return true;
    }
    return false;
}

static struct rd notes_at(const struct elf *elf, uint64_t offset, uint64_t size_bytes)
{
    struct rd r = reader_at(elf, offset);
    return size_bytes <= rd_left(&r) ? rd_over(r.p, (size_t)size_bytes)
                                     : (struct rd){.p = r.end, .end = r.end};
}

static void read_build_id(struct elf *elf)
{
    for (size_t i = 0; i < elf->n_sections; i++) {
        const struct elf_section *s = &elf->sections[i];
        if (s->type == SHT_NOTE && find_build_id(elf, notes_at(elf, s->offset, s->size_bytes))) return;
    }
    for (size_t i = 0; i < elf->n_segments; i++) {
        const struct elf_segment *s = &elf->segments[i];
        if (s->type == PT_NOTE && find_build_id(elf, notes_at(elf, s->offset, s->file_bytes))) return;
    }
}

static int read_headers(struct elf *elf, struct err *err)
{
    const uint8_t *id = elf->file.data;
    if (elf->file.len < EI_NIDENT || memcmp(id, ELFMAG, SELFMAG))
        return err_set(err, ERR_INPUT, "%s: not an ELF file", elf->path);
    if (id[EI_DATA] != ELFDATA2LSB)
        return err_set(err, ERR_UNSUPPORTED, "%s: a big-endian ELF file; only little-endian ones are read",
                       elf->path);
    if (id[EI_CLASS] != ELFCLASS64 && id[EI_CLASS] != ELFCLASS32)
        return err_set(err, ERR_INPUT, "%s: ELF class %u is neither 32 nor 64 bits", elf->path, id[EI_CLASS]);
    elf->is_64 = id[EI_CLASS] == ELFCLASS64;
    struct rd r = reader_at(elf, EI_NIDENT);
    elf->type = rd_u16(&r);
    elf->machine = rd_u16(&r);
    rd_u32(&r); /* version */
    read_word(&r, elf->is_64);
    uint64_t segments_offset = read_word(&r, elf->is_64), sections_offset = read_word(&r, elf->is_64);
    rd_u32(&r); /* flags */
    rd_u16(&r); /* header size */
    uint16_t segment_bytes = rd_u16(&r), n_segments = rd_u16(&r);
    uint16_t section_bytes = rd_u16(&r), n_sections = rd_u16(&r), names_index = rd_u16(&r);
    if (r.bad) return err_set(err, ERR_INPUT, "%s: the ELF header is cut off", elf->path);
    if (n_segments && segment_bytes == (elf->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr)))
        read_segments(elf, segments_offset, n_segments);
    if (sections_offset && section_bytes == (elf->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr))) {
        int rc = read_sections(elf, sections_offset, n_sections, names_index, &elf->damage);
        /* A file without a readable section table (a vdso, a copy from a core dump) can still be used if it
         * has segments, which may have its build id. */
        if (rc < 0 && !elf->n_segments) {
            if (err) *err = elf->damage;
            return rc;
        }
    }
    if (elf->type == ET_REL) lay_out(elf);
    read_build_id(elf);
    return 0;
}

int elf_open_bytes(struct bytes *bytes, const char *name, struct elf **ret_elf, struct err *err)
{
    struct elf *elf = mem_zalloc(sizeof *elf);
    elf->path = mem_strdup(name);
    elf->file = *bytes;
    *bytes = (struct bytes){0};
    int rc = read_headers(elf, err);
    if (rc < 0) {
        elf_close(elf);
        return rc;
    }
    *ret_elf = elf;
    return 0;
}

int elf_open(const char *path, struct elf **ret_elf, struct err *err)
{
    struct bytes bytes = {0};
    /* Only ordinary files are opened. A path may come from another object, and a hostile one may name a
     * device or a pipe that never ends. */
    struct stat st;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return err_set(err, ERR_INPUT, "%s: not an ordinary file", path);
    int rc = file_read(path, MAX_FILE_BYTES, &bytes, err);
    return rc < 0 ? rc : elf_open_bytes(&bytes, path, ret_elf, err);
}

void elf_close(struct elf *elf)
{
    if (!elf) return;
    for (size_t i = 0; i < elf->n_sections; i++)
        elf_unpacked_free(elf->sections[i].unpacked, elf->sections[i].n_unpacked);
    mem_free(elf->sections);
    mem_free(elf->segments);
    bytes_free(&elf->file);
    mem_free(elf->path);
    mem_free(elf);
}

struct elf_section *elf_find(const struct elf *elf, const char *name)
{
    for (size_t i = 0; i < elf->n_sections; i++) {
        struct elf_section *s = &elf->sections[i];
        if (s->type != SHT_NOBITS && s->size_bytes && !strcmp(s->name, name)) return s;
    }
    return NULL;
}
