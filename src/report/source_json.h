/* source_json.h - the source lines of functions with what each line costs, as JSON. */
#ifndef REPORT_SOURCE_JSON_H
#define REPORT_SOURCE_JSON_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "profile/profile.h"

/* Appends {"functions":[{"name","file","lines":[{"line","flat","cum","text"},...]},...]} (docs/api.md) for
 * the functions whose name matches the regular expression `function` ("": every function), at most 20 of them
 * and 5000 lines of each. A function whose file cannot be read has only the lines that cost something, with
 * "" as text.
 *
 * Files are looked for in search_path (see source.h). The profile is aggregated by line in place.
 * sample_index must be valid. ERR_INPUT: the regular expression is not valid, and nothing was appended. */
int source_json_write(struct profile *p, size_t sample_index, const char *function, const char *search_path,
                      struct buf *out, struct err *err);

#endif
