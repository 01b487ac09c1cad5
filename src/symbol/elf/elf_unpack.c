/* elf_unpack.c - returns a section's bytes as the compiler wrote them.
 *
 * A section is stored in one of three ways: uncompressed; with SHF_COMPRESSED and a header that names zlib or
 * zstd; or as .zdebug_* with "ZLIB" and a big-endian size (binutils before 2.26). An object file (ET_REL)
 * also has relocations for its debug sections. Only absolute relocations of four and eight bytes matter
 * there.
 *
 * Each unpacked section is a mapping of its own, so that its pages go back to the system when it is freed.
 */
#include "symbol/elf/elf_unpack.h"

#include <elf.h>
#include <libdeflate.h>
#include <string.h>
#include <sys/mman.h>
#include <zstd.h>

#include "base/mem.h"
#include "base/rd.h"
#include "symbol/elf/elf.h"

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

#define MAX_SECTION_BYTES ((uint64_t)16 << 30)
#define MAX_RATIO         1100 /* deflate reaches 1032:1 */
#define SMALL_BYTES       ((uint64_t)256 << 20)
#define LARGE_RATIO       64 /* above SMALL_BYTES; debug information compresses 10:1 at the very best */

void elf_unpacked_free(uint8_t *data, size_t n_bytes)
{
    if (data) munmap(data, n_bytes ? n_bytes : 1);
}

bool elf_is_packed(const struct elf_section *s)
{
    return (s->flags & SHF_COMPRESSED) || !strncmp(s->name, ".zdebug", 7);
}

static uint8_t *map_bytes(size_t n_bytes)
{
    void *p = mmap(NULL, n_bytes ? n_bytes : 1, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return NULL;
    if (n_bytes >= 8 << 20) madvise(p, n_bytes, MADV_HUGEPAGE);
    return p;
}

static int inflate_zlib(struct span in, uint8_t *out, size_t n_out)
{
    struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
    if (!d) return -1;
    /* The stream is read as raw deflate, so that the checksum at its end is not verified. The code that reads
     * the data checks all bounds in any case. */
    size_t got = 0;
    int rc = in.n < 6 || (in.p[0] & 15) != 8 || (in.p[1] & 0x20)
                 ? -1
                 : (int)libdeflate_deflate_decompress(d, in.p + 2, in.n - 2, out, n_out, &got);
    libdeflate_free_decompressor(d);
    return rc == 0 && got == n_out ? 0 : -1;
}

static int inflate_zstd(struct span in, uint8_t *out, size_t n_out)
{
    size_t got = ZSTD_decompress(out, n_out, in.p, in.n);
    return !ZSTD_isError(got) && got == n_out ? 0 : -1;
}

/* Reads the header of a compressed section: the kind of compression and the size of the unpacked bytes. Moves
 * *data to the compressed stream. Returns 0, an error, or 1 if the section is not compressed. */
static int read_packed_header(const struct elf *elf, const struct elf_section *s, struct span *data,
                              uint32_t *ret_kind, uint64_t *ret_bytes, struct err *err)
{
    struct rd r = rd_over(data->p, data->n);
    if (s->flags & SHF_COMPRESSED) {
        *ret_kind = rd_u32(&r);
        if (elf->is_64) {
            rd_u32(&r);
            *ret_bytes = rd_u64(&r);
            rd_u64(&r);
        } else {
            *ret_bytes = rd_u32(&r);
            rd_u32(&r);
        }
    } else {
        const uint8_t *magic = rd_bytes(&r, 4);
        if (!magic || memcmp(magic, "ZLIB", 4)) return 1; /* some linkers unpacked it and kept the name */
        *ret_kind = ELFCOMPRESS_ZLIB;
        *ret_bytes = __builtin_bswap64(rd_u64(&r));
    }
    if (r.bad)
        return err_set(err, ERR_INPUT, "%s: section %s is cut off in its compression header", elf->path,
                       s->name);
    if (*ret_kind != ELFCOMPRESS_ZLIB && *ret_kind != ELFCOMPRESS_ZSTD)
        return err_set(err, ERR_UNSUPPORTED,
                       "%s: section %s is compressed in a way (%u) that is neither zlib nor zstd", elf->path,
                       s->name, *ret_kind);
    data->p = r.p;
    data->n = rd_left(&r);
    uint64_t limit =
        *ret_kind == ELFCOMPRESS_ZLIB ? (uint64_t)data->n * MAX_RATIO + 64 : (uint64_t)data->n * 40000 + 4096;
    if (*ret_bytes > MAX_SECTION_BYTES || *ret_bytes > limit ||
        (*ret_bytes > SMALL_BYTES && *ret_bytes / LARGE_RATIO > data->n))
        return err_set(err, ERR_LIMIT, "%s: section %s says it unpacks %zu bytes to %llu", elf->path, s->name,
                       data->n, (unsigned long long)*ret_bytes);
    return 0;
}

static int unpack_section(const struct elf *elf, struct elf_section *s, struct span *data, struct err *err)
{
    uint32_t kind;
    uint64_t n_bytes;
    int rc = read_packed_header(elf, s, data, &kind, &n_bytes, err);
    if (rc != 0) return rc < 0 ? rc : 0;
    uint8_t *out = map_bytes((size_t)n_bytes);
    if (!out)
        return err_set(err, ERR_LIMIT, "%s: no memory for the %llu bytes of %s", elf->path,
                       (unsigned long long)n_bytes, s->name);
    int bad = kind == ELFCOMPRESS_ZLIB ? inflate_zlib(*data, out, (size_t)n_bytes)
                                       : inflate_zstd(*data, out, (size_t)n_bytes);
    if (bad) {
        elf_unpacked_free(out, (size_t)n_bytes);
        return err_set(err, ERR_INPUT, "%s: section %s does not unpack (damaged %s data)", elf->path, s->name,
                       kind == ELFCOMPRESS_ZLIB ? "zlib" : "zstd");
    }
    /* The packed pages are not needed again. */
    uintptr_t begin = ((uintptr_t)data->p + 4095) & ~(uintptr_t)4095,
              end = (uintptr_t)(data->p + data->n) & ~(uintptr_t)4095;
    if (elf->file.mapped_bytes && end > begin) madvise((void *)begin, end - begin, MADV_DONTNEED);
    s->unpacked = out;
    s->n_unpacked = (size_t)n_bytes;
    *data = (struct span){out, (size_t)n_bytes};
    return 0;
}

static unsigned relocation_width(uint16_t machine, uint32_t type)
{
    switch (machine) {
    case EM_X86_64:
        return type == R_X86_64_64 ? 8 : type == R_X86_64_32 || type == R_X86_64_32S ? 4 : 0;
    case EM_AARCH64:
        return type == R_AARCH64_ABS64 ? 8 : type == R_AARCH64_ABS32 ? 4 : 0;
    default:
        return 0;
    }
}

/* Applies the relocations of an object file's debug section: writes symbol value + addend over each field. */
static void relocate(const struct elf *elf, size_t section_index, uint8_t *out, size_t n_out)
{
    for (size_t i = 0; i < elf->n_sections; i++) {
        const struct elf_section *s = &elf->sections[i];
        if (s->type != SHT_RELA || s->info != section_index || s->link >= elf->n_sections ||
            s->offset > elf->file.len)
            continue;
        const struct elf_section *symbols = &elf->sections[s->link];
        if (symbols->type != SHT_SYMTAB || symbols->offset > elf->file.len) continue;
        struct rd r = rd_over(elf->file.data + s->offset, elf->file.len - (size_t)s->offset);
        uint64_t n_symbol_bytes = elf->file.len - symbols->offset;
        for (uint64_t left = s->size_bytes / sizeof(Elf64_Rela); left && !r.bad; left--) {
            uint64_t offset = rd_u64(&r), info = rd_u64(&r), addend = rd_u64(&r);
            unsigned width = relocation_width(elf->machine, (uint32_t)info);
            uint64_t symbol_at = (info >> 32) * sizeof(Elf64_Sym);
            if (r.bad || !width || offset > n_out || n_out - offset < width ||
                symbol_at + sizeof(Elf64_Sym) > n_symbol_bytes)
                continue;
            uint64_t value;
            memcpy(&value, elf->file.data + symbols->offset + symbol_at + offsetof(Elf64_Sym, st_value), 8);
            uint16_t in;
            memcpy(&in, elf->file.data + symbols->offset + symbol_at + offsetof(Elf64_Sym, st_shndx), 2);
            if (in && in < elf->n_sections) value += elf->sections[in].address;
            value += addend;
            memcpy(out + offset, &value, width);
        }
    }
}

int elf_data(const struct elf *elf, struct elf_section *s, struct span *ret_data, struct err *err)
{
    if (s->unpacked) {
        *ret_data = (struct span){s->unpacked, s->n_unpacked};
        return 0;
    }
    if (s->type == SHT_NOBITS || s->offset > elf->file.len || s->size_bytes > elf->file.len - s->offset)
        return err_set(err, ERR_INPUT, "%s: section %s lies outside the file (truncated?)", elf->path,
                       s->name);
    struct span data = {elf->file.data + s->offset, (size_t)s->size_bytes};
    if (elf_is_packed(s)) {
        int rc = unpack_section(elf, s, &data, err);
        if (rc < 0) return rc;
    }
    if (elf->type == ET_REL && elf->is_64 && !strncmp(s->name, ".debug", 6)) {
        if (!s->unpacked) {
            uint8_t *copy = map_bytes(data.n);
            if (!copy)
                return err_set(err, ERR_LIMIT, "%s: no memory for the %zu bytes of %s", elf->path, data.n,
                               s->name);
            memcpy(copy, data.p, data.n);
            s->unpacked = copy;
            s->n_unpacked = data.n;
        }
        relocate(elf, (size_t)(s - elf->sections), s->unpacked, s->n_unpacked);
        data = (struct span){s->unpacked, s->n_unpacked};
    }
    *ret_data = data;
    return 0;
}
