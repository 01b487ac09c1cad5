/* flame_html.h - writes a profile as one HTML file. It opens without a network and has the same viewer as the
 * server's page. */
#ifndef REPORT_FLAME_FLAME_HTML_H
#define REPORT_FLAME_FLAME_HTML_H

#include "base/buf.h"
#include "base/err.h"
#include "profile/profile.h"
#include "report/flame/flame_data.h"

struct flame_html_options {         /* all zero: the defaults */
    struct flame_data_options data; /* title, base profile to compare with, sample type shown first, limits */
    bool root_at_bottom;            /* flames upwards; otherwise the root is at the top */
    bool reversed;                  /* start bottom-up: leaves merged first */
    const char *search;             /* a regular expression that is marked at the start; NULL: none */
};

/* Appends the whole file. Fails only with ERR_LIMIT, when the file would be larger than a browser opens. */
int flame_html_write(const struct profile *p, const struct flame_html_options *options, struct buf *out,
                     struct err *err);

#endif
