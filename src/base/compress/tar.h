/* tar.h - POSIX ustar archives, plain and with gzip around them. The frontend's `….html.tar.gz` is one: it
 * holds a page and, when we made it, the profile behind the page. */
#ifndef BASE_COMPRESS_TAR_H
#define BASE_COMPRESS_TAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"

struct tar_file {
    const char *name; /* at most 99 bytes are kept */
    const void *data;
    size_t len;
};

void tar_make(const struct tar_file *files, size_t n_files, int64_t mtime_s, struct buf *out);

bool tar_is(const void *data, size_t len);

/* The first file whose name has that ending (".pprof"), as a view into data. ERR_NOT_FOUND when there is
 * none. */
int tar_find(const void *data, size_t len, const char *ending, struct tar_file *ret_file, struct err *err);

/* The same for an archive inside gzip of at most 1 GiB: a copy, which the caller frees with bytes_free. */
int tar_gz_entry(const void *data, size_t len, const char *ending, struct bytes *ret_bytes, struct err *err);

void tar_gz_make(const struct tar_file *files, size_t n_files, int64_t mtime_s, struct bytes *ret_bytes);

#endif
