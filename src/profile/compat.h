/* compat.h - makes profiles comparable, with the same sample types in the same units, or with the same
 * total. */
#ifndef PROFILE_COMPAT_H
#define PROFILE_COMPAT_H

#include "base/err.h"
#include "profile/profile.h"

/* Keeps the sample types that all profiles have, in the order of the first profile, and converts their
 * values to the finest unit among them. profile_merge then accepts the profiles. Returns ERR_INPUT if they
 * have no sample type in common. */
int profile_make_compatible(struct profile *const *profiles, size_t n_profiles, struct err *err);

/* Scales p so that the sum of each sample type equals that of base. */
void profile_normalize(struct profile *p, const struct profile *base);

/* Subtracts base from p. With is_diff the samples of base keep the label pprof::base, so that reports can
 * show percentages of the base. */
int profile_subtract(struct profile **p, struct profile *base, bool is_diff, bool normalize, struct err *err);

#endif
