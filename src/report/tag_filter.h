/* tag_filter.h - decides which samples match a tagfocus or tagignore expression.
 *
 *   32kb  :64kb  4mb:  12kb:64mb      numeric labels in that range (any key, or key=range)
 *   re1,re2                           every expression matches some "key:value"
 *   key=re1,re2                       some value of key matches one of them
 */
#ifndef REPORT_TAG_FILTER_H
#define REPORT_TAG_FILTER_H

#include "base/err.h"
#include "profile/profile.h"

struct tag_filter;

int tag_filter_new(const char *option, const char *text, const struct profile *p,
                   void (*warn)(void *, const char *), void *warn_context, struct tag_filter **ret_filter,
                   struct err *err);
bool tag_filter_matches(struct tag_filter *f, const struct profile *p, size_t sample);
void tag_filter_free(struct tag_filter *f);

/* The unit of a numeric label: the first unit that occurs with this key, or an inferred one when there is
 * none. */
const char *tag_filter_unit_of_key(const struct profile *p, uint32_t key);

#endif
