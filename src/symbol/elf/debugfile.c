/* debugfile.c - see debugfile.h. The search has the order of gdb: first by build id, which identifies the
 * file reliably, then by the name in the link. */
#include "symbol/elf/debugfile.h"

#include <libdeflate.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/rd.h"
#include "base/text.h"
#include "symbol/elf/debuginfod.h"

#define MAX_MINI_BYTES ((uint64_t)1 << 30)

static const char *const system_places[] = {"/usr/lib/debug", "/usr/local/lib/debug", NULL};

bool debugfile_has_dwarf(const struct elf *elf)
{
    return elf_find(elf, ".debug_info") || elf_find(elf, ".zdebug_info") || elf_find(elf, ".debug_line") ||
           elf_find(elf, ".zdebug_line");
}

/* Opens path and frees it. Returns NULL if there is no such file, if its build id differs from build_id (""
 * accepts any), or if want_debug is true and it has no debug sections. */
static struct elf *try_open(char *path, const char *build_id, bool want_debug)
{
    struct elf *elf = NULL;
    if (access(path, R_OK) != 0 || elf_open(path, &elf, NULL) < 0) elf = NULL;
    if (elf &&
        ((build_id[0] && strcmp(elf->build_id, build_id)) || (want_debug && !debugfile_has_dwarf(elf)))) {
        elf_close(elf);
        elf = NULL;
    }
    mem_free(path);
    return elf;
}

static struct elf *try_place(const char *root, const char *place, const char *id, bool want_debug)
{
    struct elf *elf =
        try_open(mem_printf("%s%s/.build-id/%.2s/%s.debug", root, place, id, id + 2), id, want_debug);
    if (!elf) elf = try_open(mem_printf("%s%s/.build-id/%.2s/%s", root, place, id, id + 2), id, want_debug);
    if (!elf) elf = try_open(mem_printf("%s%s/%.2s/%s.debug", root, place, id, id + 2), id, want_debug);
    if (!elf) elf = try_open(mem_printf("%s%s/%s", root, place, id), id, want_debug);
    if (!elf) elf = try_open(mem_printf("%s%s/%s.debug", root, place, id), id, want_debug);
    return elf;
}

struct elf *debugfile_by_build_id(const struct debugfile_places *places, const char *id, bool want_debug)
{
    struct elf *elf = NULL;
    if (strlen(id) < 3) return NULL;
    for (const char *const *p = places->search; p && *p && !elf; p++) elf = try_place("", *p, id, want_debug);
    for (const char *const *p = system_places; *p && !elf; p++) {
        elf = try_place(places->root, *p, id, want_debug);
        if (!elf && places->root[0]) elf = try_place("", *p, id, want_debug);
    }
    return elf;
}

/* Returns the name in .gnu_debuglink, or NULL if there is none. *ret_crc is the CRC-32 behind the name, which
 * is aligned to four bytes. */
static const char *read_debuglink(const struct elf *elf, uint32_t *ret_crc)
{
    struct elf_section *s = elf_find(elf, ".gnu_debuglink");
    struct span data;
    if (!s || elf_data(elf, s, &data, NULL) < 0) return NULL;
    struct rd r = rd_over(data.p, data.n);
    const char *name = rd_cstr(&r);
    if (!name || !*name || strchr(name, '/')) return NULL;
    size_t used = (size_t)(r.p - data.p);
    rd_skip(&r, (4 - used % 4) % 4);
    *ret_crc = rd_u32(&r);
    return r.bad ? NULL : name;
}

static struct elf *try_link(char *path, const struct elf *of, uint32_t crc)
{
    struct elf *elf = try_open(path, "", true);
    if (!elf) return NULL;
    /* Equal build ids are as good as a checksum, and comparing them does not read the whole file. */
    bool fits = of->build_id[0] && elf->build_id[0]
                    ? !strcmp(of->build_id, elf->build_id)
                    : libdeflate_crc32(0, elf->file.data, elf->file.len) == crc;
    if (fits) return elf;
    elf_close(elf);
    return NULL;
}

static struct elf *find_by_link(const struct elf *elf, const struct debugfile_places *places)
{
    uint32_t crc;
    const char *name = read_debuglink(elf, &crc);
    if (!name) return NULL;
    char *real = realpath(elf->path, NULL);
    char *folder = path_folder(real ? real : elf->path);
    size_t n_root = strlen(places->root);
    const char *inside = n_root && !strncmp(folder, places->root, n_root) ? folder + n_root : folder;
    struct elf *found = try_link(mem_printf("%s/%s", folder, name), elf, crc);
    if (!found) found = try_link(mem_printf("%s/.debug/%s", folder, name), elf, crc);
    for (const char *const *p = places->search; p && *p && !found; p++) {
        found = try_link(mem_printf("%s/%s", *p, name), elf, crc);
        if (!found) found = try_link(mem_printf("%s%s/%s", *p, inside, name), elf, crc);
    }
    for (const char *const *p = system_places; *p && !found; p++) {
        found = try_link(mem_printf("%s%s%s/%s", places->root, *p, inside, name), elf, crc);
        if (!found && !strncmp(inside, "/usr/", 5))
            found = try_link(mem_printf("%s%s%s/%s", places->root, *p, inside + 4, name), elf, crc);
    }
    mem_free(folder);
    free(real);
    return found;
}

/* Looks in the folder .build-id beside the program, where it is if a whole tree of programs and debug files
 * was copied. */
static struct elf *find_beside(const struct elf *elf)
{
    char *folder = path_folder(elf->path);
    struct elf *found =
        try_open(mem_printf("%s/.build-id/%.2s/%s.debug", folder, elf->build_id, elf->build_id + 2),
                 elf->build_id, true);
    mem_free(folder);
    return found;
}

struct elf *debugfile_find(const struct elf *elf, const struct debugfile_places *places)
{
    bool has_id = strlen(elf->build_id) > 2;
    struct elf *found = has_id ? debugfile_by_build_id(places, elf->build_id, true) : NULL;
    if (!found && has_id) found = find_beside(elf);
    if (!found) found = find_by_link(elf, places);
    if (!found && places->debuginfod && elf->build_id[0]) {
        char *path = debuginfod_fetch(elf->build_id, "debuginfo");
        if (path) found = try_open(path, elf->build_id, true);
    }
    return found;
}

struct elf *debugfile_find_alt(const struct elf *elf, const struct debugfile_places *places)
{
    struct elf_section *s = elf_find(elf, ".gnu_debugaltlink");
    struct span data;
    if (!s || elf_data(elf, s, &data, NULL) < 0) return NULL;
    struct rd r = rd_over(data.p, data.n);
    const char *name = rd_cstr(&r);
    size_t n_id = rd_left(&r);
    if (!name || !*name || n_id > 64) return NULL;
    char id[129] = "";
    text_hex(r.p, n_id, id);
    struct elf *found = NULL;
    if (name[0] == '/') {
        found = try_open(mem_printf("%s%s", places->root, name), id, true);
    } else {
        char *real = realpath(elf->path, NULL);
        char *folder = path_folder(real ? real : elf->path);
        found = try_open(mem_printf("%s/%s", folder, name), id, true);
        mem_free(folder);
        free(real);
    }
    const char *base = path_base_name(name);
    for (const char *const *p = places->search; p && *p && !found; p++)
        found = try_open(mem_printf("%s/%s", *p, base), id, true);
    for (const char *const *p = system_places; *p && !found; p++)
        found = try_open(mem_printf("%s%s/.dwz/%s", places->root, *p, base), id, true);
    if (!found && id[0]) found = debugfile_by_build_id(places, id, true);
    if (!found && id[0] && places->debuginfod) {
        char *path = debuginfod_fetch(id, "debuginfo");
        if (path) found = try_open(path, id, true);
    }
    return found;
}

struct elf *debugfile_open_mini(const struct elf *elf)
{
    struct elf_section *s = elf_find(elf, ".gnu_debugdata");
    struct span data;
    if (!s || elf_data(elf, s, &data, NULL) < 0) return NULL;
    lzma_stream stream = LZMA_STREAM_INIT;
    if (lzma_stream_decoder(&stream, 256u << 20, 0) != LZMA_OK) return NULL;
    struct bytes out = {0};
    size_t cap = 0;
    stream.next_in = data.p;
    stream.avail_in = data.n;
    lzma_ret rc = LZMA_OK;
    while (rc == LZMA_OK && out.len < MAX_MINI_BYTES) {
        if (cap - out.len < 1 << 16) out.data = mem_grow(out.data, &cap, out.len + (1 << 16), 1);
        stream.next_out = out.data + out.len;
        stream.avail_out = cap - out.len;
        rc = lzma_code(&stream, LZMA_FINISH);
        out.len = cap - stream.avail_out;
    }
    lzma_end(&stream);
    struct elf *inside = NULL;
    if (rc != LZMA_STREAM_END) {
        bytes_free(&out);
        return NULL;
    }
    char *name = mem_printf("%s(.gnu_debugdata)", elf->path);
    if (elf_open_bytes(&out, name, &inside, NULL) < 0) inside = NULL;
    mem_free(name);
    return inside;
}
