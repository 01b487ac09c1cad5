/* unit.h - values for people: 12582912 bytes -> "12MB", 30000000 nanoseconds -> "30ms", 3 of 7 -> "42.86%".
 */
#ifndef PROFILE_UNIT_H
#define PROFILE_UNIT_H

#include <stddef.h>
#include <stdint.h>

enum { UNIT_LABEL_BYTES = 64 };

/* Value in to_unit ("minimum" and "auto": the largest unit in which it is at least 1). *ret_unit is a static
 * text, or to_unit itself when neither unit is known, or "" when it needs no name. */
double unit_scale(int64_t value, const char *from_unit, const char *to_unit, const char **ret_unit);

/* "1.50GB": two decimals at most, none when they are zero. Writes into and returns `into`. */
const char *unit_label(int64_t value, const char *from_unit, const char *to_unit,
                       char into[UNIT_LABEL_BYTES]);

/* "99.95%", right-aligned in six characters as reports need it. */
const char *unit_percentage(int64_t value, int64_t total, char into[16]);
const char *unit_percentage_trimmed(int64_t value, int64_t total, char into[16]); /* without leading blanks */

int unit_known(const char *unit); /* which family (1..): 0 when it is none we know */

#endif
