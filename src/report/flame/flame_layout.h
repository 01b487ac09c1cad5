/* flame_layout.h - computes the start, the width and the depth of each frame of a flame graph.
 *
 * The layout works from the root: it divides the stacks below a frame by their next frame, and stops at a
 * group that is too narrow to be seen. The cost therefore depends on the frames that are drawn, not on those
 * that were recorded; of most lines of text only the first few frames are read.
 */
#ifndef REPORT_FLAME_FLAME_LAYOUT_H
#define REPORT_FLAME_FLAME_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

struct flame_stack { /* root first, frames separated by ';' */
    const char *text;
    uint32_t len;
    int64_t value;
    int64_t base; /* in a comparison: what it was before */
};

struct flame_frame {
    const char *name; /* not NUL-terminated */
    uint32_t name_len;
    uint32_t depth;       /* 0: "all" */
    int64_t start, total; /* in units of value */
    int64_t delta;        /* total minus what it was before */
};

struct flame_layout {           /* release with flame_layout_free */
    struct flame_frame *frames; /* callers before their callees, siblings by name */
    size_t n_frames, cap_frames;
    int64_t total;
    uint32_t max_depth;
    bool compares;
    size_t n_cut_stacks; /* deeper than max_depth allows: cut there */
    void *owned;         /* the memory that names point into, when the layout owns it */
};

struct flame_layout_options {
    double min_fraction; /* of the total: narrower frames are left out */
    bool reverse; /* leaf first: the root of the picture is the leaf of the stacks, its callers follow */
    uint32_t max_depth; /* 0: 4096 */
};

/* Stacks must live as long as the layout. Negative values count as zero. */
void flame_layout_stacks(const struct flame_stack *stacks, size_t n_stacks,
                         const struct flame_layout_options *options, struct flame_layout *ret);

/* Lays out a profile. Samples with the label pprof::base (see profile_subtract) are the base of a comparison.
 * The profile must live as long as the layout. */
void flame_layout_profile(const struct profile *p, size_t sample_index,
                          const struct flame_layout_options *options, struct flame_layout *ret);

void flame_layout_free(struct flame_layout *layout);

#endif
