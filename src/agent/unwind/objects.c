/* objects.c - see objects.h.
 *
 * The thread that lists the objects shares them with threads of the host, which may unload one (dlclose) at
 * any time. So the list is copied while the loader holds its lock, which is short, and the frame information
 * is copied later through own_memory.h. If an object is unloaded in between, the library gets no rules for
 * it; it does not crash.
 */
#include "agent/unwind/objects.h"

#include <link.h>
#include <string.h>

#include "agent/host/elf_file.h"
#include "agent/host/loader.h"
#include "agent/host/own_memory.h"
#include "base/rd.h"

#define MAX_FRAME_BYTES ((size_t)512 << 20)

static int take_counts(struct dl_phdr_info *info, size_t size, void *into)
{
    struct object_counts *c = into;
    if (size > offsetof(struct dl_phdr_info, dlpi_subs))
        *c = (struct object_counts){info->dlpi_adds, info->dlpi_subs};
    return 1;
}

struct object_counts objects_counts(void)
{
    struct object_counts c = {0, 0};
    loader_begin();
    dl_iterate_phdr(take_counts, &c);
    loader_end();
    return c;
}

struct listing {
    struct pages_buf *list;
    struct object_counts counts;
};

static int take_object(struct dl_phdr_info *info, size_t size, void *into)
{
    struct listing *l = into;
    take_counts(info, size, &l->counts);
    struct object o = {.bias = info->dlpi_addr, .code_begin = UINTPTR_MAX};
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + p->p_vaddr, end = begin + p->p_memsz;
        if (p->p_type == PT_LOAD && (p->p_flags & PF_X)) {
            if (begin < o.code_begin) o.code_begin = begin;
            if (end > o.code_end) o.code_end = end;
        }
        if (p->p_type == PT_GNU_EH_FRAME) o.frame_header = begin;
    }
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_LOAD && o.frame_header >= begin && o.frame_header < begin + p->p_memsz)
            o.frame_header_end = begin + p->p_memsz;
    }
    if (o.code_begin >= o.code_end) return 0;
    const char *name = info->dlpi_name ? info->dlpi_name : "";
    o.is_vdso = !strncmp(name, "linux-vdso", 10) || !strncmp(name, "linux-gate", 10);
    if (!o.is_vdso) strncpy(o.path, *name ? name : "/proc/self/exe", sizeof o.path - 1);
    pages_buf_bytes(l->list, &o, sizeof o);
    return 0;
}

struct object_counts objects_list(struct pages_buf *list)
{
    struct listing l = {.list = list};
    loader_begin();
    dl_iterate_phdr(take_object, &l);
    loader_end();
    return l.counts;
}

uint64_t objects_fingerprint(const struct object *o)
{
    uint64_t words[64] = {0}, h = o->code_end - o->code_begin;
    if (o->frame_header) (void)own_memory_read(o->frame_header, words, sizeof words);
    for (unsigned i = 0; i < 64; i++) h = (h ^ words[i]) * 0xff51afd7ed558ccdu, h ^= h >> 32;
    for (const char *c = o->path; *c; c++) h = (h ^ (unsigned char)*c) * 0x100000001b3u;
    return h;
}

static int build_from_memory(const struct object *o, struct cfi_table *ret_table, struct err *err)
{
    uint8_t header[64] = {0};
    size_t n = own_memory_read(o->frame_header, header, sizeof header);
    struct cfi_section s = {
        .bytes = header, .n_bytes = n, .address = o->frame_header, .data_base = o->frame_header};
    struct rd r = rd_over(header, n);
    uint8_t version = rd_u8(&r), encoding = rd_u8(&r);
    rd_skip(&r, 2);
    uintptr_t frames;
    if (version != 1 || !cfi_read_pointer(&s, &r, encoding, &frames))
        return err_set(err, ERR_NOT_FOUND, "the .eh_frame_hdr of %s cannot be read",
                       o->is_vdso ? "the vdso" : o->path);
    /* The length of .eh_frame is not recorded. It ends with an entry of length zero, at the latest at the end
     * of its segment. */
    uintptr_t limit =
        frames > o->frame_header && frames < o->frame_header_end ? o->frame_header_end : o->frame_header;
    if (frames >= limit || limit - frames > MAX_FRAME_BYTES)
        return err_set(err, ERR_NOT_FOUND, "%s: there is no .eh_frame behind its header",
                       o->is_vdso ? "the vdso" : o->path);
    size_t n_bytes = limit - frames;
    uint8_t *copy = pages_map(n_bytes);
    if (!copy) return err_set(err, ERR_LIMIT, "no memory for %zu bytes of .eh_frame", n_bytes);
    s.bytes = copy;
    s.n_bytes = own_memory_read(frames, copy, n_bytes);
    s.address = frames;
    int status = s.n_bytes ? cfi_build(&s, CFI_OWN_MACHINE, o->code_begin, o->code_end, ret_table, err)
                           : err_set(err, ERR_NOT_FOUND, "the .eh_frame of %s cannot be read",
                                     o->is_vdso ? "the vdso" : o->path);
    pages_unmap(copy, n_bytes);
    return status;
}

static int build_from_file(const struct object *o, struct cfi_table *ret_table, struct err *err)
{
    struct elf_file f;
    if (!o->path[0] || !elf_file_open(&f, o->path))
        return err_set(err, ERR_NOT_FOUND, "%s cannot be opened", o->path);
    const ElfW(Shdr) *section = elf_file_find(&f, SHT_PROGBITS, ".debug_frame");
    struct elf_part frames = section ? elf_file_load(&f, section) : (struct elf_part){0};
    struct cfi_section s = {
        .bytes = frames.bytes, .n_bytes = frames.n_bytes, .bias = o->bias, .is_debug_frame = true};
    int status = s.n_bytes     ? cfi_build(&s, CFI_OWN_MACHINE, o->code_begin, o->code_end, ret_table, err)
                 : f.no_memory ? err_set(err, ERR_LIMIT, "no memory for the frame information of %s", o->path)
                               : err_set(err, ERR_NOT_FOUND, "%s has no frame information", o->path);
    elf_part_free(&frames);
    elf_file_close(&f);
    return status;
}

int objects_build(const struct object *o, struct cfi_table *ret_table, struct err *err)
{
    return o->frame_header ? build_from_memory(o, ret_table, err) : build_from_file(o, ret_table, err);
}
