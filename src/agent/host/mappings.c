/* mappings.c - see mappings.h. */
#include "agent/host/mappings.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/host/own_memory.h"
#include "base/rd.h"
#include "base/text.h"

static int read_maps(struct pages_buf *into)
{
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    for (;;) {
        char *at = pages_buf_add(into, 65536);
        ssize_t n = at ? read(fd, at, 65536) : -1;
        if (at) into->size -= 65536 - (size_t)(n > 0 ? n : 0);
        if (n <= 0) break;
    }
    close(fd);
    return into->failed ? -1 : 0;
}

/* Reads the build id from the object's notes in memory. `base` is where offset 0 of the file is mapped. */
static void read_build_id(uintptr_t base, char hex[41])
{
    ElfW(Ehdr) header;
    ElfW(Phdr) segments[64];
    if (own_memory_read(base, &header, sizeof header) != sizeof header ||
        memcmp(header.e_ident, ELFMAG, SELFMAG))
        return;
    size_t n = header.e_phnum < 64 ? header.e_phnum : 64;
    if (header.e_phentsize != sizeof *segments ||
        own_memory_read(base + header.e_phoff, segments, n * sizeof *segments) != n * sizeof *segments)
        return;
    for (size_t i = 0; i < n; i++) {
        if (segments[i].p_type != PT_NOTE) continue;
        uint8_t notes[1024];
        size_t size = segments[i].p_filesz < sizeof notes ? segments[i].p_filesz : sizeof notes;
        /* Notes are in the first segment, so their file offset is also their distance from base. */
        size = own_memory_read(base + segments[i].p_offset, notes, size);
        struct rd r = rd_over(notes, size);
        while (rd_left(&r) >= 12) {
            uint32_t name_size = rd_u32(&r), size_bytes = rd_u32(&r), type = rd_u32(&r);
            const uint8_t *name = rd_bytes(&r, (name_size + 3) & ~3u),
                          *id = rd_bytes(&r, (size_bytes + 3) & ~3u);
            if (r.bad || !name || !id) break;
            if (type != NT_GNU_BUILD_ID || name_size != 4 || memcmp(name, "GNU", 4)) continue;
            text_hex(id, size_bytes < 20 ? size_bytes : 20, hex);
            return;
        }
    }
}

static void add_line(struct mappings *m, char *line, uintptr_t *base, char *base_path, size_t base_path_size)
{
    struct mapping found = {0};
    char *at = line;
    found.start = strtoull(at, &at, 16);
    if (*at++ != '-') return;
    found.limit = strtoull(at, &at, 16);
    if (*at++ != ' ') return;
    bool executable = strlen(at) > 4 && at[2] == 'x';
    at += strcspn(at, " ");
    found.offset = strtoull(at, &at, 16);
    for (int field = 0; field < 2; field++) { /* device, inode */
        at += strspn(at, " ");
        at += strcspn(at, " ");
    }
    at += strspn(at, " ");
    size_t n = strlen(at);
    const char deleted[] = " (deleted)";
    if (n > sizeof deleted && !strcmp(at + n - (sizeof deleted - 1), deleted))
        at[n - (sizeof deleted - 1)] = 0;
    snprintf(found.path, sizeof found.path, "%s", at);
    found.is_file = found.path[0] == '/';
    if (found.offset == 0 && found.is_file && strcmp(found.path, base_path)) {
        *base = found.start;
        snprintf(base_path, base_path_size, "%s", found.path);
    }
    if (!executable || !strcmp(found.path, "[vsyscall]")) return;
    if (found.is_file && !strcmp(found.path, base_path))
        read_build_id(*base, found.build_id);
    else if (!strcmp(found.path, "[vdso]"))
        read_build_id(found.start, found.build_id);
    pages_buf_bytes(&m->list, &found, sizeof found);
}

int mappings_read(struct mappings *m)
{
    *m = (struct mappings){0};
    if (read_maps(&m->text)) return -1;
    uintptr_t base = 0;
    char base_path[256] = "", line[512];
    for (size_t at = 0; at < m->text.size;) {
        const char *begin = m->text.data + at, *end = memchr(begin, '\n', m->text.size - at);
        size_t n = end ? (size_t)(end - begin) : m->text.size - at;
        snprintf(line, sizeof line, "%.*s", (int)(n < sizeof line ? n : sizeof line - 1), begin);
        add_line(m, line, &base, base_path, sizeof base_path);
        at += n + 1;
    }
    return 0;
}

void mappings_free(struct mappings *m)
{
    pages_buf_free(&m->text);
    pages_buf_free(&m->list);
}

int mappings_find(const struct mappings *m, uintptr_t address)
{
    unsigned low = 0, high = mappings_count(m);
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (mappings_at(m, middle)->limit <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < mappings_count(m) && mappings_at(m, low)->start <= address ? (int)low : -1;
}

void mappings_read_only(struct pages_buf *ranges)
{
    struct pages_buf text = {0};
    (void)read_maps(&text);
    pages_buf_bytes(&text, "", 1);
    for (char *at = text.failed ? NULL : text.data; at && *at; at = strchr(at, '\n'), at += at != NULL) {
        struct mapping_range range = {.start = strtoull(at, &at, 16)};
        if (*at++ != '-') break;
        range.limit = strtoull(at, &at, 16);
        if (!strncmp(at, " r-", 3)) pages_buf_bytes(ranges, &range, sizeof range);
    }
    pages_buf_free(&text);
}
