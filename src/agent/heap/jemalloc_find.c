/* jemalloc_find.c - finds the jemallocs in this process (see jemalloc.h). */
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "agent/heap/jemalloc.h"
#include "agent/host/loader.h"

static struct jemalloc all[JEMALLOC_MAX];
static unsigned n_all;
static bool looked_everywhere;

struct object {
    char path[256];
    uintptr_t bias;
};

#define MAX_OBJECTS 512
struct objects {
    unsigned n;
    struct object at[MAX_OBJECTS];
};

/* The loader holds its lock while it calls this, so it only notes the objects. */
static int gather(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    struct objects *o = context;
    const char *name = info->dlpi_name && *info->dlpi_name ? info->dlpi_name : "/proc/self/exe";
    bool is_program = !info->dlpi_name || !*info->dlpi_name;
    if (o->n == MAX_OBJECTS || (is_program && o->n) || (!is_program && name[0] != '/'))
        return 0; /* the vdso has no path */
    snprintf(o->at[o->n].path, sizeof o->at[0].path, "%s", name);
    o->at[o->n++].bias = info->dlpi_addr;
    return 0;
}

static bool read_bool(jemalloc_mallctl *ctl, const char *name)
{
    bool value = false;
    size_t size = sizeof value;
    return ctl(name, &value, &size, NULL, 0) == 0 && value;
}

static bool add(void *context, const char *name, uintptr_t address)
{
    const struct object *object = context;
    jemalloc_mallctl *ctl = (jemalloc_mallctl *)address;
    const char *version = NULL;
    size_t size = sizeof version;
    for (unsigned i = 0; i < n_all; i++)
        if (all[i].mallctl == ctl) return false; /* the same function under another name */
    if (ctl("version", &version, &size, NULL, 0) || !version) return false;
    struct jemalloc *j = &all[n_all++];
    *j = (struct jemalloc){
        .mallctl = ctl, .config_prof = read_bool(ctl, "config.prof"), .opt_prof = read_bool(ctl, "opt.prof")};
    snprintf(j->symbol, sizeof j->symbol, "%s", name);
    snprintf(j->file, sizeof j->file, "%s", object->path);
    snprintf(j->version, sizeof j->version, "%.20s", version);
    if (n_all > 1 && j->opt_prof && !all[0].opt_prof) {
        struct jemalloc first = all[0];
        all[0] = *j;
        *j = first;
    }
    return n_all == JEMALLOC_MAX;
}

/* Adds to what was found earlier. Returns false when the kernel refused memory. */
static bool look(void)
{
    struct objects *o = pages_map(sizeof *o);
    if (!o) return false;
    bool is_complete = true;
    loader_begin();
    dl_iterate_phdr(gather, o);
    loader_end();
    for (unsigned i = 0; i < o->n && n_all < JEMALLOC_MAX; i++)
        is_complete &= jemalloc_elf_symbols(o->at[i].path, o->at[i].bias, "mallctl", add, &o->at[i]);
    pages_unmap(o, sizeof *o);
    return is_complete;
}

unsigned jemalloc_find(const struct jemalloc **ret_found)
{
    if (!looked_everywhere) looked_everywhere = look();
    *ret_found = all;
    return n_all;
}

bool jemalloc_looked_everywhere(void)
{
    return looked_everywhere;
}
