/* folded.h - reads collapsed stacks, one line per stack: "root;caller;leaf 12". Flame-graph tools exchange
 * this format.
 *
 * folded_next walks 170 MB in a few hundredths of a second, so a report may work on the lines themselves
 * (folded_lines) without a profile. Lines point into the caller's bytes.
 */
#ifndef FORMAT_FOLDED_H
#define FORMAT_FOLDED_H

#include "base/text.h"

struct folded_line {
    const char *stack; /* root first, frames separated by ';'; not NUL-terminated */
    uint32_t stack_len;
    int64_t value; /* a fraction is rounded */
};

struct folded { /* the reader; begin with {.rest = all the text} */
    struct piece rest;
    size_t n_bad;           /* lines skipped because they are not stacks */
    struct piece first_bad; /* the first of them */
};

/* Finds the next stack. Skips blank lines, comments (#) and lines that are not stacks. False at the end. */
bool folded_next(struct folded *f, struct folded_line *ret_line);

/* Finds all stacks. The caller frees the array (mem_free). */
struct folded_line *folded_lines(struct piece text, size_t *ret_n, struct folded *ret_end);

#endif
