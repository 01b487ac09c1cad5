/* process.h - another program as a filter. */
#ifndef BASE_PROCESS_H
#define BASE_PROCESS_H

#include "base/buf.h"
#include "base/err.h"

/* Runs argv with `input` on its standard input and collects its standard output. ERR_NOT_FOUND when there is
 * no such program. */
int process_filter(char *const argv[], const struct buf *input, struct buf *out, struct err *err);

#endif
