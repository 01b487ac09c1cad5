/* regex.h - regular expressions (PCRE2 behind), compiled once, matched often, bounded in time.
 *
 * The syntax is Perl's; Go's RE2 is nearly a subset of it. A match that would backtrack without end gives up
 * and counts as none. One compiled expression may be used by one thread at a time.
 */
#ifndef BASE_REGEX_H
#define BASE_REGEX_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct regex;

enum { REGEX_IGNORE_CASE = 1 };

/* ERR_INPUT with position and reason for a bad pattern. */
int regex_compile(const char *pattern, unsigned flags, struct regex **ret_regex, struct err *err);
bool regex_match(struct regex *regex, const char *s, size_t len); /* anywhere in s */
/* As regex_match, and tells the place of the whole match (group 0) or a group; false when that group took no
 * part. */
bool regex_find(struct regex *regex, const char *s, size_t len, unsigned group, size_t *ret_start,
                size_t *ret_end);
void regex_free(struct regex *regex);

#endif
