/* symbolized.h - reads the file that "jeprof --raw" writes: a list of names, then the profile as jeprof
 * fetched it.
 *
 *   --- symbol
 *   binary=/path/of/program
 *   0x0000000000401136 outer--inlined
 *   ---
 *   --- heap                    or growth, contention, profile
 *   (the body)
 */
#ifndef FORMAT_SYMBOLIZED_H
#define FORMAT_SYMBOLIZED_H

#include "base/text.h"

struct symbolized {
    struct piece binary; /* empty when the file has no such line */
    struct piece names;  /* the lines of the list, for symbolized_next */
    struct piece body;   /* the profile itself, its own header first */
};

bool symbolized_split(struct piece text, struct symbolized *ret); /* false when text is not such a file */

/* Finds the next address and its names ("outer--inner"), also in the answer of /pprof/symbol. Skips other
 * lines. False at the end. */
bool symbolized_next(struct piece *names, uint64_t *ret_address, struct piece *ret_names);

#endif
