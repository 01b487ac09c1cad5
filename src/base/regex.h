/* regex.h - regular expressions, through PCRE2, with bounded time per match.
 *
 * The syntax is Perl's; Go's RE2 is nearly a subset of it. A search that backtracks too much stops and counts
 * as no match. Only one thread at a time may use a compiled expression.
 */
#ifndef BASE_REGEX_H
#define BASE_REGEX_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct regex;

/* ERR_INPUT with position and reason for a bad pattern. */
int regex_compile(const char *pattern, struct regex **ret_regex, struct err *err);
bool regex_match(struct regex *regex, const char *s, size_t len); /* anywhere in s */

/* Does what regex_match does, and sets the start and end of the whole match (group 0) or of a group. Returns
 * false if there is no match or the group took no part in it. */
bool regex_find(struct regex *regex, const char *s, size_t len, unsigned group, size_t *ret_start,
                size_t *ret_end);
void regex_free(struct regex *regex);

#endif
