/* folded.h - reads collapsed stacks, one line per stack: "root;caller;leaf 12". Flame-graph tools exchange
 * this format.
 *
 * folded_next walks 170 MB in a few hundredths of a second, so a report may work on the lines themselves
 * (folded_next, folded_sort) without a profile. Lines point into the caller's bytes.
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

/* Sorts in byte order, with the end of a stack counted as another ';', so that stacks with the same first
 * frames are neighbours. Does not join equal stacks. */
void folded_sort(struct folded_line *lines, size_t n);

/* The number of bytes at the start that two stacks share. */
size_t folded_common(const char *a, size_t a_len, const char *b, size_t b_len);

#endif
