/* jeprof_profile.h - profiles in jeprof's model: stacks of addresses with fractional counts, for all threads
 * and, if the file distinguishes threads, for each thread. Profiles are added and subtracted stack by stack.
 *
 * An address of a process is stored as a place, which is the mapped file and the offset in it. Dumps of two
 * runs of one program can therefore be compared although the runs loaded the file at different addresses.
 */
#ifndef CMD_JEPROF_JEPROF_PROFILE_H
#define CMD_JEPROF_JEPROF_PROFILE_H

#include "base/err.h"
#include "base/file.h"
#include "base/idmap.h"
#include "base/strtab.h"
#include "cmd/jeprof/jeprof_options.h"
#include "report/jeprof_stacks.h"

struct jeprof_frame {  /* full, short_id and file are ids of the profile's strings */
    uint32_t full;     /* name as in the object or profile file */
    uint32_t short_id; /* without arguments and template parameters */
    uint32_t file;     /* 0 if unknown */
    uint32_t line;
    uint64_t start; /* where the function begins in its object; 0 if the symbol table does not have it */
};

struct jeprof_place {
    uint64_t address;
    uint32_t object; /* string: the mapped file; 0 if unknown */
    uint64_t map_start, map_limit, map_offset;
    uint32_t first_frame, n_frames; /* innermost inlined callee first; n_frames is 0 if no name is known */
    uint64_t object_address;        /* the address that addr2line takes; set once the place is named */
};

struct jeprof_sums { /* distinct stacks of places, leaf first, with their sums; empty if all zero */
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
    struct idmap *by_object; /* one map per string id of an object: offset -> place + 1 */
    size_t n_by_object;
    struct jeprof_frame *frames;
    size_t n_frames, cap_frames;
    struct jeprof_sums all;
    struct jeprof_thread *threads; /* in the order of the file */
    size_t n_threads, cap_threads;
    struct idmap by_thread; /* thread number -> index in threads */
    char *binary;           /* the program that a file with its own names gives; NULL if none */
    bool has_names;         /* the file contained names */
    bool loaded;            /* at least one file was added */
};

/* Parses a profile and adds its counts times sign, which is 1 or -1. name appears in messages; program may be
 * NULL. Messages that jeprof prints meanwhile ("Adjusting heap profiles ...") are appended to notes. */
int jeprof_profile_add(struct jeprof_profile *p, const struct bytes *bytes, const char *name,
                       const char *program, const struct jeprof_options *options, double sign,
                       struct buf *notes, struct err *err);

/* Adds names from the lines "0xADDRESS outer--inner" of a "jeprof --raw" file or a /pprof/symbol response. */
void jeprof_profile_add_names(struct jeprof_profile *p, const char *lines, size_t n_bytes);

/* Sets negative sums to 0 (--drop_negative). */
void jeprof_profile_drop_negative(struct jeprof_profile *p);

void jeprof_profile_free(struct jeprof_profile *p);

/* Name a place: begin once, then add its frames, innermost first. */
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
