/* unit.h - formats values for readers: 12582912 bytes -> "12MB", 30000000 nanoseconds -> "30ms", 3 of 7 ->
 * "42.86%". */
#ifndef PROFILE_UNIT_H
#define PROFILE_UNIT_H

#include <stddef.h>
#include <stdint.h>

enum { UNIT_LABEL_BYTES = 64 };

/* Converts a value to to_unit. "minimum" and "auto" select the largest unit in which the value is at least
 * 1. *ret_unit is a static text, or to_unit itself if neither unit is known, or "" if the unit needs no
 * name. */
double unit_scale(int64_t value, const char *from_unit, const char *to_unit, const char **ret_unit);

/* Formats a value as "1.50GB", with at most two decimals and none if they are zero. Writes to `into` and
 * returns it. */
const char *unit_label(int64_t value, const char *from_unit, const char *to_unit,
                       char into[UNIT_LABEL_BYTES]);

/* Formats a share as "99.95%", right-aligned in six characters as reports need it. */
const char *unit_percentage(int64_t value, int64_t total, char into[16]);
const char *unit_percentage_trimmed(int64_t value, int64_t total, char into[16]); /* without leading blanks */

int unit_known(const char *unit); /* the family of the unit, from 1; 0 if it is unknown */

#endif
