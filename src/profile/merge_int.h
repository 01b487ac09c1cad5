/* merge_int.h - the two steps of merging, each of which has its own file.
 *
 * 1. merge_tables.c finds the records of a source in the result. Profiles of one program are much alike, so a
 *    record that equals the record at the same index of the previous source also has the same index in the
 *    result. Other records are looked up by content, in the order in which samples first use them, and added
 *    if they are new. Records that only samples without a value use are left out.
 * 2. merge_samples.c translates the samples, looks them up in the result, and adds up equal ones.
 *
 * Several threads may each merge a source. They share the result and enter each step one after the other, in
 * the order of the sources. Work that does not access the result is done outside of the steps. The result is
 * therefore the same for any number of threads.
 */
#ifndef PROFILE_MERGE_INT_H
#define PROFILE_MERGE_INT_H

#include "base/idmap.h"
#include "profile/profile.h"

/* An index of records by the hash of their content. The records are stored elsewhere. */
struct content_index {
    uint64_t *slots; /* upper half: hash; lower half: record + 1 */
    size_t n_slots, n_items;
};

typedef bool same_content(const void *context, uint32_t record);

/* Returns the slot of the record with this content. Its lower half is record + 1, or 0 if there is no such
 * record yet; the caller then calls content_index_set. The slot is valid until the next call. */
uint64_t *content_index_slot(struct content_index *x, uint32_t hash, same_content *same, const void *context);
void content_index_free(struct content_index *x);

static inline void content_index_set(uint64_t *slot, uint32_t record)
{
    *slot |= (uint64_t)record + 1;
}

struct merge_use { /* a record that a sample refers to for the first time in its source */
    uint32_t index;
    bool is_string; /* of a label; else a location */
};

struct merge_source { /* one source while it is being merged */
    const struct profile *p;
    struct profile *owned; /* p if the source owns it, else NULL */
    struct merge_source
        *before; /* the previous source; freed once the samples of this one are in the result */
    struct merge_use *uses;
    size_t n_uses, cap_uses;
    /* index in the source -> index in the result + 1; 0 if not needed so far */
    uint32_t *string_of, *mapping_of, *function_of, *location_of;
    /* all samples, translated to the result, at the positions of the source: */
    uint32_t *frames;
    struct label *labels;
    uint32_t *hashes; /* by sample */
};

struct merge {
    struct profile *to;
    struct content_index mappings, functions, locations, samples;
    struct idmap comments; /* what the result already has; only the keys matter */
    struct line *lines;    /* scratch for the location being looked up */
    size_t n_lines, cap_lines;
};

void merge_look_over(struct merge_source *s);               /* finds the uses; does not access the result */
void merge_tables(struct merge *m, struct merge_source *s); /* in turn */
void merge_translate(struct merge_source *s); /* after merge_tables; does not access the result */
void merge_samples(struct merge *m, const struct merge_source *s); /* in turn */

static inline bool merge_all_zero(const int64_t *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (values[i]) return false;
    return true;
}

#endif
