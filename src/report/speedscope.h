/* speedscope.h - a profile as a file for speedscope (https://www.speedscope.app). */
#ifndef REPORT_SPEEDSCOPE_H
#define REPORT_SPEEDSCOPE_H

#include <stddef.h>

#include "base/buf.h"
#include "profile/profile.h"

/* Appends a document of speedscope's JSON format with one sampled profile. Each function is listed once, and
 * so is each address without a name; a sample is a list of their numbers, root first. Samples whose value is
 * not positive are left out, because the format has no negative weights. sample_index must be valid. */
void speedscope_write(const struct profile *p, size_t sample_index, struct buf *out);

#endif
