/* objects.h - lists the objects that the loader has loaded now (program, libraries, vdso) and reads the frame
 * information of each. */
#ifndef AGENT_UNWIND_OBJECTS_H
#define AGENT_UNWIND_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/host/pages.h"
#include "agent/unwind/cfi.h"

struct object {
    uintptr_t bias; /* address in memory = address in the file + bias */
    uintptr_t code_begin, code_end;
    uintptr_t frame_header;     /* .eh_frame_hdr in memory; 0: none */
    uintptr_t frame_header_end; /* end of the segment that holds it; .eh_frame follows it in there */
    bool is_vdso;
    char path[256]; /* "" for the vdso */
};

/* The loader's own counters. They change with every dlopen and dlclose that loads or unloads something. */
struct object_counts {
    unsigned long long n_added, n_removed;
};

struct object_counts objects_counts(void);

/* Appends all objects with code to list (struct object[]) and returns the counters of the same moment. */
struct object_counts objects_list(struct pages_buf *list);

/* A number that differs when another object was loaded at the same addresses. */
uint64_t objects_fingerprint(const struct object *o);

/* Makes the object's rules from .eh_frame in memory, or from .debug_frame in its file. ERR_NOT_FOUND when it
 * has neither, ERR_LIMIT and ERR_UNSUPPORTED as cfi_build. */
int objects_build(const struct object *o, struct cfi_table *ret_table, struct err *err);

#endif
