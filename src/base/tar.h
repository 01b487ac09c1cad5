/* tar.h - POSIX ustar archives, as the frontend's `….html.tar.gz` is one: a page, and behind it (when we made
 * it) the profile it was made from. Not compressed here. */
#ifndef BASE_TAR_H
#define BASE_TAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct tar_file {
    const char *name; /* at most 99 bytes are kept */
    const void *data;
    size_t len;
};

void tar_make(const struct tar_file *files, size_t n_files, int64_t mtime_s, struct buf *out);

bool tar_is(const void *data, size_t len);

/* The first file whose name ends so (".pprof"): a view into data. ERR_NOT_FOUND when there is none. */
int tar_find(const void *data, size_t len, const char *ending, struct tar_file *ret_file, struct err *err);

#endif
