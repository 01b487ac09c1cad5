/* tar_gz.h - the frontend's `….html.tar.gz`: a page, and behind it (when we made it) the profile it was made
 * from. */
#ifndef BASE_TAR_GZ_H
#define BASE_TAR_GZ_H

#include <stddef.h>

#include "base/err.h"
#include "base/file.h"
#include "base/tar.h"

/* The first entry whose name ends so (".html", ".pprof"), unpacked. ERR_NOT_FOUND when there is none. */
int tar_gz_entry(const void *data, size_t len, const char *ending, struct bytes *ret_bytes, struct err *err);

void tar_gz_make(const struct tar_file *files, size_t n_files, int64_t mtime_s, struct bytes *ret_bytes);

#endif
