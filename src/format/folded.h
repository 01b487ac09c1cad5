/* folded.h - collapsed stacks, "root;caller;leaf 12": one line a stack. What flame-graph tools speak to each
 * other.
 *
 * Made for speed: 170 MB are walked in a few hundredths of a second, so a report may work on the lines
 * themselves (folded_next, folded_sort) and never build a profile. Lines point into the caller's bytes.
 */
#ifndef FORMAT_FOLDED_H
#define FORMAT_FOLDED_H

#include "base/text.h"

struct folded_line {
    const char *stack; /* root first, frames separated by ';'; not NUL-terminated */
    uint32_t stack_len;
    int64_t value; /* a fraction is rounded */
};

struct folded { /* where we are: {.rest = all the text} */
    struct piece rest;
    size_t n_bad;           /* lines passed over because they are no stacks */
    struct piece first_bad; /* the first of them */
};

/* The next stack; passes over blank lines, comments (#) and lines that are no stacks. False at the end. */
bool folded_next(struct folded *f, struct folded_line *ret_line);

/* All of them at once. mem_free the array. */
struct folded_line *folded_lines(struct piece text, size_t *ret_n, struct folded *ret_end);

/* Sorts so that all stacks that begin with the same frames stand together (byte order, with the end of a
 * stack as another ';'). Equal stacks are not joined. */
void folded_sort(struct folded_line *lines, size_t n);

/* The number of bytes at the start that two stacks share. */
size_t folded_common(const char *a, size_t a_len, const char *b, size_t b_len);

#endif
