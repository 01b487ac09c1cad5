/* mappings.h - what is mapped executable in this process, from /proc/self/maps, with build ids. */
#ifndef AGENT_HOST_MAPPINGS_H
#define AGENT_HOST_MAPPINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/host/pages.h"

struct mapping {
    uintptr_t start, limit;
    uint64_t offset;   /* in the file */
    char path[256];    /* "" for nameless memory (JIT); "[vdso]" */
    char build_id[41]; /* hex; "" when it has none */
    bool is_file;
};

struct mappings {
    struct pages_buf text; /* /proc/self/maps as it was */
    struct pages_buf list; /* struct mapping[], executable ones, by address */
};

int mappings_read(struct mappings *m); /* -1: /proc cannot be read; m is then empty but valid */
void mappings_free(struct mappings *m);

static inline unsigned mappings_count(const struct mappings *m)
{
    return (unsigned)(m->list.size / sizeof(struct mapping));
}
static inline const struct mapping *mappings_at(const struct mappings *m, unsigned i)
{
    return (const struct mapping *)(const void *)m->list.data + i;
}
int mappings_find(const struct mappings *m, uintptr_t address); /* index, or -1 */

/* What may be read and not written just now: struct mapping_range[], by address, appended. */
struct mapping_range {
    uintptr_t start, limit;
};
void mappings_read_only(struct pages_buf *ranges);

#endif
