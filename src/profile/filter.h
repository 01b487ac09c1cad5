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

/* Drops the callers of the matching frame that is nearest to the root, and the samples without a matching
 * frame. */
bool profile_show_from(struct profile *p, struct regex *re);

/* Keeps the samples for which focus returns true and ignore returns false. Each may be NULL. */
typedef bool sample_test(void *context, const struct profile *p, size_t sample);
void profile_filter_by_test(struct profile *p, sample_test *keep, void *context);

/* Removes labels by key: keeps those that match show, drops those that match hide; each may be NULL. */
void profile_filter_labels(struct profile *p, struct regex *show, struct regex *hide, bool *ret_show_matched,
                           bool *ret_hide_matched);
void profile_remove_label(struct profile *p, const char *key);
void profile_set_label(struct profile *p, const char *key, const char *value); /* on every sample */

/* Applies the profile's own drop_frames and keep_frames: removes a matching function and everything that
 * it calls. */
int profile_drop_uninteresting(struct profile *p, struct err *err);

/* Makes a matching frame the leaf by removing everything that it calls. */
void profile_prune_from(struct profile *p, struct regex *re);

struct aggregate { /* what is kept */
    bool inlines, function, filename, line, column, address;
};
void profile_aggregate(struct profile *p, struct aggregate keep);

/* Adds frames named after label values: those of the keys in `roots` below the root, those of the keys in
 * `leaves` at the leaf. Keys are comma-separated, and format_number gives a name to a number. Returns
 * whether any sample had such labels. */
typedef const char *format_number(void *context, int64_t value, const char *unit);
void profile_add_label_frames(struct profile *p, const char *roots, const char *leaves, format_number *format,
                              void *context, bool *ret_roots_matched, bool *ret_leaves_matched);

struct profile *profile_copy(const struct profile *p);

#endif
