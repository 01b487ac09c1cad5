/* jemalloc.h - a jemalloc in this process, under whatever prefix, driven through its mallctl.
 *
 * It is found by its symbol: a dynamic one, or one in the symbol table of the program's file when it was
 * linked in statically and is not exported.
 */
#ifndef AGENT_HEAP_JEMALLOC_H
#define AGENT_HEAP_JEMALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/host/pages.h"
#include "agent/write/output.h"

typedef int jemalloc_mallctl(const char *name, void *old, size_t *old_size, void *new_, size_t new_size);

#define JEMALLOC_MAX 4

struct jemalloc {
    jemalloc_mallctl *mallctl;
    char symbol[64]; /* "mallctl", "je_mallctl", "_rjem_mallctl" ... */
    char file[256];  /* the object that holds it */
    char version[64];
    bool config_prof; /* built with --enable-prof */
    bool opt_prof;    /* and the process was started with prof:true */
};

/* Every jemalloc in the process, those with opt_prof first. Looks once, and again after the kernel refused
 * memory for it. The functions of this file run under the lock of heap_kinds.c. */
unsigned jemalloc_find(const struct jemalloc **ret_found);

/* False: jemalloc_find has not looked into every object yet. */
bool jemalloc_looked_everywhere(void);

/* Finds functions whose name ends in `suffix`, in the symbol tables of an ELF file of this process that is
 * loaded at `bias`. Calls found for each, until that returns true. Returns false when the kernel refused
 * memory, so there may be more of them. jemalloc_elf.c */
typedef bool jemalloc_elf_found(void *context, const char *name, uintptr_t address);
bool jemalloc_elf_symbols(const char *path, uintptr_t bias, const char *suffix, jemalloc_elf_found *found,
                          void *context);

/* Turns jemalloc's heap_v2 text into samples with exact weights (jeprof's own unbiasing). jemalloc_text.c */
int jemalloc_text_parse(const char *text, size_t n_bytes, struct output *o, struct err *err);

/* Takes the allocator's own frames off the leaf end of every stack, so that the leaf is the function that
 * asked for memory. jemalloc_frames.c */
void jemalloc_strip_frames(const struct jemalloc *j, struct output *o);

/* Called when jemalloc becomes the heap source: usually when the agent starts, before the host has threads.
 */
void jemalloc_started(void);

/* Does the driven jemalloc keep counts of what was freed (opt.prof_accum)? */
bool jemalloc_accumulates(void);

/* Lists the dump files that lg_prof_interval, prof_gdump or prof_final left: one line each, "NAME SIZE
 * SECONDS-SINCE-1970". */
void jemalloc_list_dumps(struct pages_buf *reply);

#endif
