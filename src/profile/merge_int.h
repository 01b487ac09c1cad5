/* merge_int.h - the steps of merging, which live in files of their own.
 *
 * 1. merge_tables.c   Profiles of one program are much alike, often record by record: what a source has at
 * the same index as the one before is what it was there. What else the samples of it refer to, in the order
 * of first use, is looked up in the result by content and added when it is new. Only what samples with a
 * value refer to comes along.
 * 2. merge_samples.c  The samples, translated, are looked up in the result: equal ones are added up.
 *
 * The sources go through each step one after the other, in their order; what can be done without the result
 * is done before, by each source's own thread. So the result is the same whatever the number of threads.
 */
#ifndef PROFILE_MERGE_INT_H
#define PROFILE_MERGE_INT_H

#include "base/idmap.h"
#include "profile/profile.h"

/* An index of records by the hash of their content; the records live elsewhere. */
struct content_index {
    uint64_t *slots; /* the hash, and record + 1 in the lower half */
    size_t n_slots, n_items;
};

typedef bool same_content(const void *context, uint32_t record);

/* The slot of the record with this content: its lower half is record + 1, or 0 when there is none yet (then
 * call content_index_set). Valid until the next call. */
uint64_t *content_index_slot(struct content_index *x, uint32_t hash, same_content *same, const void *context);
void content_index_free(struct content_index *x);

static inline void content_index_set(uint64_t *slot, uint32_t record)
{
    *slot |= (uint64_t)record + 1;
}

struct merge_use { /* something that a sample refers to for the first time in its source */
    uint32_t index;
    bool is_string; /* of a label; else a location */
};

struct merge_source { /* one source on its way */
    const struct profile *p;
    struct profile *owned;       /* p, when it is to be freed with this; else NULL */
    struct merge_source *before; /* the source before it, until its samples are in the result */
    struct merge_use *uses;
    size_t n_uses, cap_uses;
    /* index here -> index in the result + 1; 0 where it was not needed (so far) */
    uint32_t *string_of, *mapping_of, *function_of, *location_of;
    /* of all samples, as they are in the result, at the source's own positions: */
    uint32_t *frames;
    struct label *labels;
    uint32_t *hashes; /* by sample */
};

struct merge {
    struct profile *to;
    struct content_index mappings, functions, locations, samples;
    struct idmap comments; /* those that the result has; only the keys count */
    struct line *lines;    /* of the location that is being looked up */
    size_t n_lines, cap_lines;
};

void merge_look_over(struct merge_source *s);                      /* finds the uses; needs no result */
void merge_tables(struct merge *m, struct merge_source *s);        /* in turn */
void merge_translate(struct merge_source *s);                      /* after that; needs no result */
void merge_samples(struct merge *m, const struct merge_source *s); /* in turn */

static inline bool merge_all_zero(const int64_t *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (values[i]) return false;
    return true;
}

#endif
