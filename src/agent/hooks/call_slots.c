/* call_slots.c - see call_slots.h. */
#include "agent/hooks/call_slots.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/host/loader.h"
#include "agent/host/mappings.h"

#if defined(__x86_64__)
#define JUMP_SLOT R_X86_64_JUMP_SLOT
#else
#define JUMP_SLOT R_AARCH64_JUMP_SLOT
#endif

struct work {
    const struct slot_target *targets;
    unsigned n_targets;
    uintptr_t page_bytes;
    bool by_name;
    bool has_read_only; /* read_only has been read */
    struct pages_buf read_only;
};

struct object { /* what is needed of one loaded object */
    uintptr_t begin, end, bias;
    uintptr_t relro_begin, relro_end; /* whole pages */
    const Elf64_Rela *slots;
    size_t n_slots;
    const Elf64_Sym *symbols;
    const char *names;
    bool is_symbolic;
};

/* Some loaders leave addresses in the dynamic section relative to the load address (vdso, old libcs). */
static const void *located(const struct object *o, uint64_t address)
{
    return (const void *)(address < o->begin ? o->bias + address : address);
}

static bool object_read(struct object *o, const struct dl_phdr_info *info, uintptr_t page_bytes)
{
    const Elf64_Dyn *dynamic = NULL;
    *o = (struct object){.bias = info->dlpi_addr, .begin = UINTPTR_MAX};
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const Elf64_Phdr *p = &info->dlpi_phdr[i];
        uintptr_t at = o->bias + p->p_vaddr;
        if (p->p_type == PT_LOAD && at < o->begin) o->begin = at;
        if (p->p_type == PT_LOAD && at + p->p_memsz > o->end) o->end = at + p->p_memsz;
        if (p->p_type == PT_DYNAMIC) dynamic = (const Elf64_Dyn *)at;
        if (p->p_type == PT_GNU_RELRO) {
            o->relro_begin = at & -page_bytes;
            o->relro_end = (at + p->p_memsz) & -page_bytes; /* rounded as the loader does */
        }
    }
    uint64_t slot_bytes = 0, slot_kind = 0;
    for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
        switch (dynamic->d_tag) {
        case DT_JMPREL:
            o->slots = located(o, dynamic->d_un.d_ptr);
            break;
        case DT_PLTRELSZ:
            slot_bytes = dynamic->d_un.d_val;
            break;
        case DT_PLTREL:
            slot_kind = dynamic->d_un.d_val;
            break;
        case DT_SYMTAB:
            o->symbols = located(o, dynamic->d_un.d_ptr);
            break;
        case DT_STRTAB:
            o->names = located(o, dynamic->d_un.d_ptr);
            break;
        case DT_SYMBOLIC:
            o->is_symbolic = true;
            break;
        case DT_FLAGS:
            o->is_symbolic |= (dynamic->d_un.d_val & DF_SYMBOLIC) != 0;
            break;
        }
    }
    o->n_slots = slot_bytes / sizeof *o->slots;
    return o->slots && o->symbols && o->names && slot_kind == DT_RELA;
}

/* The function that the slot belongs to, by what it holds. A slot that is not bound yet points back into
 * its own object; it is recognised by the name that it will be bound by. NULL when it is not one of our
 * targets. */
static const struct slot_target *target_of(const struct work *w, const struct object *o, const Elf64_Rela *r,
                                           uintptr_t held)
{
    const void *value = (const void *)held;
    for (unsigned i = 0; i < w->n_targets; i++)
        if (value == w->targets[i].exported || value == w->targets[i].real || value == w->targets[i].counting)
            return &w->targets[i];
    if (!w->by_name || held < o->begin || held >= o->end || o->is_symbolic) return NULL;
    const Elf64_Sym *s = &o->symbols[ELF64_R_SYM(r->r_info)];
    if (s->st_shndx != SHN_UNDEF) return NULL;
    const char *name = o->names + s->st_name;
    for (unsigned i = 0; i < w->n_targets; i++)
        if (!strcmp(name, w->targets[i].name)) return &w->targets[i];
    return NULL;
}

/* The ranges are read when a slot first needs them, which is under the loader's lock, so no object comes
 * or goes meanwhile. */
static bool is_read_only(struct work *w, uintptr_t page)
{
    if (!w->has_read_only) mappings_read_only(&w->read_only);
    w->has_read_only = true;
    const struct mapping_range *ranges = (const void *)w->read_only.data;
    for (size_t i = 0; i < w->read_only.size / sizeof *ranges && ranges[i].start <= page; i++)
        if (page < ranges[i].limit) return true;
    return false;
}

/* The loader may be at work on this object in another thread's dlopen; its RELRO pages are still writable
 * then. If this function made such a page read-only again, the loader's next store would fault. So a RELRO
 * slot is changed only when its page is already read-only, which means that the loader is done with it. */
static void slot_store(struct work *w, const struct object *o, uintptr_t *slot, const void *value)
{
    uintptr_t page = (uintptr_t)slot & -w->page_bytes;
    bool is_guarded = page >= o->relro_begin && page < o->relro_end;
    if (is_guarded &&
        (!is_read_only(w, page) || mprotect((void *)page, w->page_bytes, PROT_READ | PROT_WRITE)))
        return;
    __atomic_store_n(slot, (uintptr_t)value, __ATOMIC_RELEASE);
    if (is_guarded) mprotect((void *)page, w->page_bytes, PROT_READ);
}

static int visit(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    struct work *w = context;
    struct object o;
    if (!object_read(&o, info, w->page_bytes)) return 0;
    uintptr_t here = (uintptr_t)w->targets[0].exported;
    if (here >= o.begin && here < o.end) return 0; /* this library itself */
    for (size_t i = 0; i < o.n_slots; i++) {
        const Elf64_Rela *r = &o.slots[i];
        if (ELF64_R_TYPE(r->r_info) != JUMP_SLOT) continue;
        uintptr_t *slot = (uintptr_t *)(o.bias + r->r_offset);
        uintptr_t held = __atomic_load_n(slot, __ATOMIC_RELAXED);
        const struct slot_target *t = target_of(w, &o, r, held);
        if (t && t->wanted && (uintptr_t)t->wanted != held) slot_store(w, &o, slot, t->wanted);
    }
    return 0;
}

void call_slots_apply(const struct slot_target *targets, unsigned n_targets, bool by_name)
{
    struct work w = {.targets = targets,
                     .n_targets = n_targets,
                     .page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE),
                     .by_name = by_name};
    if (!n_targets) return;
    loader_begin();
    dl_iterate_phdr(visit, &w);
    loader_end();
    pages_buf_free(&w.read_only);
}
