/* symbolize.h - fills in what a profile does not say: functions, files, lines and inlined frames of its
 * addresses. */
#ifndef REPORT_SYMBOLIZE_H
#define REPORT_SYMBOLIZE_H

#include <stdbool.h>

#include "base/err.h"
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

/* Locations without lines get them; mappings get their has_* flags. Objects that cannot be read are warned
 * about, not fatal. */
int profile_symbolize(struct profile *p, struct symbolizer *s, const struct symbolize_options *options,
                      struct err *err);

#endif
