/* compat.h - making profiles comparable: the same sample types in the same units, the same total. */
#ifndef PROFILE_COMPAT_H
#define PROFILE_COMPAT_H

#include "base/err.h"
#include "profile/profile.h"

/* Keeps the sample types that all have, in the order of the first, and converts their values to the finest
 * unit among them. After it profile_merge takes them. ERR_INPUT when they have none in common. */
int profile_make_compatible(struct profile *const *profiles, size_t n_profiles, struct err *err);

/* Scales p so that the sum of each sample type equals that of base. */
void profile_normalize(struct profile *p, const struct profile *base);

/* p minus base, in p's place: with is_diff the base's samples stay recognisable (label pprof::base), so that
 * percentages are of the base. */
int profile_subtract(struct profile **p, struct profile *base, bool is_diff, bool normalize, struct err *err);

#endif
