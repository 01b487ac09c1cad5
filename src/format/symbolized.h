/* symbolized.h - the file "jeprof --raw" writes: a list of names, then the profile it fetched, as it came.
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
    struct piece binary; /* empty: not said */
    struct piece names;  /* the lines of the list: walk them with symbolized_next */
    struct piece body;   /* the profile itself, its own header first */
};

bool symbolized_split(struct piece text, struct symbolized *ret); /* false: not such a file */

/* The next address and its names ("outer--inner"); passes over other lines. False at the end. */
bool symbolized_next(struct piece *names, uint64_t *ret_address, struct piece *ret_names);

#endif
