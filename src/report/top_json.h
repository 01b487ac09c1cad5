/* top_json.h - the functions of a profile as a JSON table: what each one costs, alone and with its callees.
 */
#ifndef REPORT_TOP_JSON_H
#define REPORT_TOP_JSON_H

#include <stddef.h>

#include "base/buf.h"
#include "profile/profile.h"

/* Appends {"unit","sample","total","rows":[{"name","file","line","flat","cum"},...]} (docs/api.md), the row
 * with the largest flat value first and at most max_rows rows. With a base (else NULL), the object also has
 * "base_total" and each row "base_flat" and "base_cum"; functions that only the base has come last, with zero
 * as flat and cum.
 *
 * Both profiles are aggregated by function in place. sample_index and base_sample_index must be valid. */
void top_json_write(struct profile *p, size_t sample_index, struct profile *base, size_t base_sample_index,
                    size_t max_rows, struct buf *out);

#endif
