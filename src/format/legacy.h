/* legacy.h - shared by the readers of older formats that have only addresses: one location per address, one
 * call per sample, one call at the end. */
#ifndef FORMAT_LEGACY_H
#define FORMAT_LEGACY_H

#include "base/err.h"
#include "base/idmap.h"
#include "format/maps.h"
#include "profile/profile.h"

struct legacy {
    struct profile *p;
    struct idmap by_address; /* location index */
    uint32_t *frames;        /* of the sample being built */
    size_t n_frames, cap_frames;
};

void legacy_frame(struct legacy *l, uint64_t address); /* the next frame, towards the root */
void legacy_sample(struct legacy *l, const int64_t *values);
void legacy_free(struct legacy *l);

enum legacy_kind { LEGACY_OTHER, LEGACY_HEAP, LEGACY_JEMALLOC, LEGACY_CONTENTION };

/* Reads the memory map into the profile and sets drop_frames and keep_frames for this kind of profile. */
void legacy_finish(struct legacy *l, struct piece maps_text, enum legacy_kind kind);
void legacy_set_frame_filters(struct profile *p, enum legacy_kind kind);

/* Appends every "0x..." of the text to the growing array *addresses, in order. False when an address has more
 * than 64 bits. */
bool legacy_take_addresses(struct piece text, uint64_t **addresses, size_t *n, size_t *cap);

/* Sets and returns ERR_INPUT with the text "line N: what: the beginning of the line". */
int legacy_bad_line(struct err *err, struct piece all, struct piece line, const char *what);

/* The text behind "%warn ..." and other command lines at the top, which older tools print or skip. */
struct piece legacy_skip_commands(struct piece text);

/* Undoes Poisson sampling for one record: divides count and bytes by the probability that a block of this
 * size was sampled. */
void legacy_unsample(int64_t *count, int64_t *bytes, int64_t rate);

#endif
