/* mappings.h - the executable mappings of this process, read from /proc/self/maps, with build ids. */
#ifndef AGENT_HOST_MAPPINGS_H
#define AGENT_HOST_MAPPINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/host/pages.h"

struct mapping {
    uintptr_t start, limit;
    uint64_t offset;   /* in the file */
    char path[256];    /* "" for anonymous memory (JIT code); "[vdso]" */
    char build_id[41]; /* hex; "": the object has none */
    bool is_file;
};

struct mappings {
    struct pages_buf text; /* the content of /proc/self/maps */
    struct pages_buf list; /* struct mapping[], executable only, by address */
};

/* Reads the mappings as they are now. Returns -1 when /proc cannot be read; m is then empty but valid. */
int mappings_read(struct mappings *m);
void mappings_free(struct mappings *m);

static inline unsigned mappings_count(const struct mappings *m)
{
    return (unsigned)(m->list.size / sizeof(struct mapping));
}
static inline const struct mapping *mappings_at(const struct mappings *m, unsigned i)
{
    return (const struct mapping *)(const void *)m->list.data + i;
}
/* The index of the mapping that contains the address, or -1. */
int mappings_find(const struct mappings *m, uintptr_t address);

/* Appends the ranges that are readable and not writable at the moment: struct mapping_range[], by address. */
struct mapping_range {
    uintptr_t start, limit;
};
void mappings_read_only(struct pages_buf *ranges);

#endif
