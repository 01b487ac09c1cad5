/* jemalloc_frames.c - see jemalloc_strip_frames in jemalloc.h.
 *
 * jemalloc walks the stack from deep inside itself, so its dumps begin with prof_backtrace, malloc_default
 * and the like. Frames of a jemalloc that is a library of its own are recognised by their addresses.
 * Frames of one that is linked into the program are recognised by the names of its functions, with the prefix
 * that its mallctl has.
 */
#include <stdio.h>
#include <string.h>

#include "agent/heap/jemalloc.h"
#include "agent/hot/heap_hook.h"
#include "agent/names/agent_symbols.h"

#define MAX_OWN_FRAMES 16

static void cut(struct output_sample *s, unsigned n)
{
    s->pcs += n * sizeof(uintptr_t);
    s->n_pcs -= n;
}

static bool in_file(const struct mappings *m, const char *file, uintptr_t pc)
{
    int i = mappings_find(m, pc);
    return i >= 0 && !strcmp(mappings_at(m, (unsigned)i)->path, file);
}

static void cut_by_address(struct output *o, const struct mappings *m, const char *file)
{
    struct output_sample *samples = (struct output_sample *)(void *)o->samples.data;
    for (unsigned i = 0; i < output_n_samples(o); i++) {
        const uintptr_t *pcs = output_pcs(o, &samples[i]);
        unsigned n = 0;
        while (n + 1 < samples[i].n_pcs && n < MAX_OWN_FRAMES &&
               (in_file(m, file, pcs[n] - 1) || hook_owns(pcs[n] - 1)))
            n++;
        cut(&samples[i], n);
    }
}

static bool ends_in(const char *name, const char *end)
{
    size_t n = strlen(name), n_end = strlen(end);
    return n >= n_end && !strcmp(name + n - n_end, end);
}

/* A function of jemalloc that programs call, or an inner one that such a function jumps to. */
static bool is_entrance(const char *name, const char *prefix, size_t prefix_length)
{
    static const char *const entrances[] = {"malloc",  "calloc",        "realloc",        "memalign",
                                            "valloc",  "aligned_alloc", "posix_memalign", "pvalloc",
                                            "mallocx", "rallocx",       "xallocx"};
    if (!strncmp(name, "_Znw", 4) || !strncmp(name, "_Zna", 4)) return true;
    if (ends_in(name, "je_malloc_default") || ends_in(name, "je_prof_tctx_create")) return true;
    if (strncmp(name, prefix, prefix_length)) return false;
    for (size_t i = 0; i < sizeof entrances / sizeof *entrances; i++)
        if (!strcmp(name + prefix_length, entrances[i])) return true;
    return false;
}

static void cut_by_name(struct output *o, const struct mappings *m, const char *mallctl_symbol)
{
    struct output_sample *samples = (struct output_sample *)(void *)o->samples.data;
    size_t prefix_length = strlen(mallctl_symbol) - strlen("mallctl");
    struct symbols names = {0};
    for (unsigned i = 0; i < output_n_samples(o); i++)
        for (unsigned f = 0; f < samples[i].n_pcs && f < MAX_OWN_FRAMES; f++)
            symbols_add(&names, output_pcs(o, &samples[i])[f] - 1);
    bool found = symbols_resolve(&names, m) == 0;
    for (unsigned i = 0; found && i < output_n_samples(o); i++) {
        const uintptr_t *pcs = output_pcs(o, &samples[i]);
        unsigned n = 0;
        for (unsigned f = 0; f + 1 < samples[i].n_pcs && f < MAX_OWN_FRAMES; f++) {
            const char *name = symbols_name(&names, symbols_find(&names, pcs[f] - 1));
            if (name && is_entrance(name, mallctl_symbol, prefix_length)) n = f + 1;
        }
        cut(&samples[i], n);
    }
    symbols_free(&names);
}

void jemalloc_strip_frames(const struct jemalloc *j, struct output *o)
{
    struct mappings m;
    if (!mappings_read(&m)) {
        int at = mappings_find(&m, (uintptr_t)j->mallctl);
        bool is_library = at >= 0 && strcmp(j->file, "/proc/self/exe");
        if (is_library) cut_by_address(o, &m, mappings_at(&m, (unsigned)at)->path);
        cut_by_name(o, &m, j->symbol);
    }
    mappings_free(&m);
}
