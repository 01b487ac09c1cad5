/* symbolize.h - adds functions, files, lines and inlined frames to the addresses of a profile that has none.
 */
#ifndef REPORT_SYMBOLIZE_H
#define REPORT_SYMBOLIZE_H

#include <stdbool.h>

#include "profile/profile.h"
#include "symbol/symbol.h"

struct symbolize_options { /* all zero: the defaults */
    const char *binary;    /* overrides the file of the main mapping; may be NULL */
    bool force;            /* also locations that have names already */
    bool lines; /* also those that have names without a file, where the build id proves the object */
    void (*warn)(void *context,
                 const char *text); /* one line for each object that could not be read; may be NULL */
    void *warn_context;
};

/* Adds lines to locations that have none and sets the has_* flags of mappings. An object that cannot be read
 * causes a warning, not a failure. */
void profile_symbolize(struct profile *p, struct symbolizer *s, const struct symbolize_options *options);

#endif
