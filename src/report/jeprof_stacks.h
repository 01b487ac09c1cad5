/* jeprof_stacks.h - stacks of names with counts, and jeprof's flat and cumulative numbers, units and table.
 *
 * Counts are doubles, as in Perl, because the counts of a sampled heap profile are not whole numbers until
 * they are printed.
 */
#ifndef REPORT_JEPROF_STACKS_H
#define REPORT_JEPROF_STACKS_H

#include "base/buf.h"
#include "base/strtab.h"
#include "profile/profile.h"

struct jeprof_stacks { /* all zero is an empty set */
    struct strtab names;
    uint32_t *frames; /* names, leaf first */
    size_t n_frames, cap_frames;
    uint64_t *starts; /* where stack i begins in frames; it ends where the next one begins */
    double *counts;
    size_t n_stacks, cap_starts, cap_counts, n_starts, n_counts;
};

void jeprof_stacks_begin(struct jeprof_stacks *s,
                         double count); /* a new stack; then its frames, leaf first */
void jeprof_stacks_frame_id(struct jeprof_stacks *s, uint32_t name);
void jeprof_stacks_free(struct jeprof_stacks *s);

/* A named profile's stacks by function; inlined callees get " (inline)", locations without a name their
 * address. Names are shortened as jeprof does: without arguments and template parameters. */
void jeprof_stacks_from_profile(const struct profile *p, size_t sample_index,
                                struct jeprof_stacks *ret_stacks);

/* "std::vector<int>::push_back(int const&)" -> "std::vector::push_back". The result is the caller's
 * (mem_free). */
char *jeprof_short_name(const char *name, size_t len);

/* ---- numbers ---- */

enum jeprof_unit {
    JEPROF_SAMPLES,
    JEPROF_OBJECTS,
    JEPROF_BYTES,
    JEPROF_MEGABYTES,
    JEPROF_SECONDS /* counts in ns */
};

const char *jeprof_unit_name(enum jeprof_unit unit); /* "MB", "B", "objects", "seconds", "samples" */
enum jeprof_unit jeprof_unit_of(const struct profile *p,
                                size_t sample_index); /* what jeprof would show that type in */
void jeprof_number(struct buf *out, double value, enum jeprof_unit unit);
void jeprof_percent(struct buf *out, double value,
                    double total); /* "12.3%"; nan and +inf as jeprof says them */

/* ---- derived ---- */

struct jeprof_totals {
    double total;       /* of all stacks that have a frame */
    double *flat, *cum; /* by name; a name counts once a stack */
    bool *seen;         /* by name: is it in any stack */
    size_t n_names;
};

void jeprof_totals_make(const struct jeprof_stacks *s, struct jeprof_totals *ret_totals);
void jeprof_totals_free(struct jeprof_totals *t);

/* The names that occur, sorted: by flat or cumulative count, or its absolute value, downwards; then by name.
 * mem_free it. */
enum jeprof_order { JEPROF_BY_FLAT, JEPROF_BY_CUM, JEPROF_BY_ABSOLUTE_CUM };
uint32_t *jeprof_sort_names(const struct jeprof_stacks *s, const struct jeprof_totals *t,
                            enum jeprof_order order, size_t *ret_n);

/* The table of --text: "flat flat% sum% cum cum% name" lines, at most max_lines (<0: all). */
void jeprof_text_write(const struct jeprof_stacks *s, enum jeprof_unit unit, bool by_cum, long max_lines,
                       struct buf *out);

#endif
