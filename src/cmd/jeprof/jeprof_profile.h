/* jeprof_profile.h - profiles as jeprof sees them: addresses with fractional counts, by thread where the file
 * tells threads apart; added up and subtracted stack by stack.
 *
 * An address of a process is kept as a place: the file mapped there and the offset in it, so that dumps of
 * two runs of one program can be compared although they were loaded at different addresses.
 */
#ifndef CMD_JEPROF_JEPROF_PROFILE_H
#define CMD_JEPROF_JEPROF_PROFILE_H

#include "base/err.h"
#include "base/file.h"
#include "base/idmap.h"
#include "base/strtab.h"
#include "cmd/jeprof/jeprof_options.h"
#include "report/jeprof_stacks.h"

struct jeprof_frame {  /* texts are ids of the profile's strings */
    uint32_t full;     /* as in the object or file */
    uint32_t short_id; /* without arguments and template parameters */
    uint32_t file;     /* 0: unknown */
    uint32_t line;
    uint64_t start; /* where the function begins in its object; 0: unknown, or not told by the symbol table */
};

struct jeprof_place {
    uint64_t address;
    uint32_t object; /* string: the mapped file; 0: none known */
    uint64_t map_start, map_limit, map_offset;
    uint32_t first_frame, n_frames; /* innermost inlined callee first; none: no name known */
    uint64_t object_address;        /* once named: as addr2line takes it */
};

struct jeprof_sums { /* stacks of places, leaf first, each once; all zero is empty */
    uint32_t *places;
    size_t n_places, cap_places;
    uint64_t *starts; /* stack i ends where stack i + 1 begins */
    double *counts;
    size_t n_stacks, cap_starts, cap_counts;
    uint32_t *slots; /* open addressing: stack + 1 */
    size_t n_slots;
};

struct jeprof_thread {
    int64_t number;
    struct jeprof_sums sums;
};

enum jeprof_kind { JEPROF_KIND_CPU, JEPROF_KIND_HEAP, JEPROF_KIND_GROWTH, JEPROF_KIND_CONTENTION };

struct jeprof_profile { /* all zero is empty */
    enum jeprof_kind kind;
    enum jeprof_unit unit;
    struct strtab text;
    struct jeprof_place *places;
    size_t n_places, cap_places;
    struct idmap *by_object; /* by string id of the object: offset in it -> place + 1 */
    size_t n_by_object;
    struct jeprof_frame *frames;
    size_t n_frames, cap_frames;
    struct jeprof_sums all;
    struct jeprof_thread *threads; /* as they came */
    size_t n_threads, cap_threads;
    struct idmap by_thread; /* index of threads */
    char *binary;           /* what a file with names of its own says about its program; NULL */
    bool has_names;         /* came with the file */
    bool loaded;            /* at least one file is in */
};

/* Adds sign (1 or -1) times what the bytes say. name is for messages; program may be NULL. Messages that
 * jeprof prints on the way ("Adjusting heap profiles ...") are appended to notes. */
int jeprof_profile_add(struct jeprof_profile *p, const struct bytes *bytes, const char *name,
                       const char *program, const struct jeprof_options *options, double sign,
                       struct buf *notes, struct err *err);

/* Names as in "jeprof --raw" files and answers of /pprof/symbol: lines "0xADDRESS outer--inner". */
void jeprof_profile_add_names(struct jeprof_profile *p, const char *lines, size_t n_bytes);

/* Negative sums become 0 (--drop_negative). */
void jeprof_profile_drop_negative(struct jeprof_profile *p);

void jeprof_profile_free(struct jeprof_profile *p);

/* A frame of the place that is being named: innermost first. */
void jeprof_place_begin_frames(struct jeprof_profile *p, uint32_t place);
void jeprof_place_add_frame(struct jeprof_profile *p, uint32_t place, const char *full, const char *file,
                            uint32_t line, uint64_t start);

void jeprof_sums_add(struct jeprof_sums *s, const uint32_t *places, size_t n, double count);
static inline const uint32_t *jeprof_sums_stack(const struct jeprof_sums *s, size_t stack, size_t *ret_n)
{
    size_t to = stack + 1 < s->n_stacks ? s->starts[stack + 1] : s->n_places;
    *ret_n = to - s->starts[stack];
    return s->places + s->starts[stack];
}

#endif
