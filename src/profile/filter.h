/* filter.h - what of a profile is shown: samples, frames, labels, granularity.
 *
 * All change the profile in place. A name is matched against the function name, the file name and the
 * object's file name.
 */
#ifndef PROFILE_FILTER_H
#define PROFILE_FILTER_H

#include "base/err.h"
#include "base/regex.h"
#include "profile/profile.h"

struct filter_matched {
    bool focus, ignore, hide, show;
};

/* focus: keep samples with a matching frame; ignore: drop samples with one; hide: drop matching frames; show:
 * keep only matching frames. Each may be NULL. */
struct filter_matched profile_filter_by_name(struct profile *p, struct regex *focus, struct regex *ignore,
                                             struct regex *hide, struct regex *show);

/* Drops what is above (towards the root of) the highest matching frame, and samples without one. */
bool profile_show_from(struct profile *p, struct regex *re);

/* Keeps samples for which focus says true and ignore says false; each may be NULL. */
typedef bool sample_test(void *context, const struct profile *p, size_t sample);
void profile_filter_by_test(struct profile *p, sample_test *keep, void *context);

/* Removes labels by key: keeps those that match show, drops those that match hide; each may be NULL. */
void profile_filter_labels(struct profile *p, struct regex *show, struct regex *hide, bool *ret_show_matched,
                           bool *ret_hide_matched);
void profile_remove_label(struct profile *p, const char *key);
void profile_set_label(struct profile *p, const char *key, const char *value); /* on every sample */

/* The profile's own drop_frames and keep_frames: a matching function, and what it calls, goes. */
int profile_drop_uninteresting(struct profile *p, struct err *err);

/* A matching frame becomes the leaf: what it calls goes. */
void profile_prune_from(struct profile *p, struct regex *re);

struct aggregate { /* what is kept */
    bool inlines, function, filename, line, column, address;
};
void profile_aggregate(struct profile *p, struct aggregate keep);

/* Frames named after label values: those of `roots` below the root, those of `leaves` at the leaf. Keys are
 * comma-separated; numbers are given a name by format_number. Tells whether any sample had such labels. */
typedef const char *format_number(void *context, int64_t value, const char *unit);
void profile_add_label_frames(struct profile *p, const char *roots, const char *leaves, format_number *format,
                              void *context, bool *ret_roots_matched, bool *ret_leaves_matched);

struct profile *profile_copy(const struct profile *p);

#endif
