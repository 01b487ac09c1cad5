/* unpack.h - gzip and zstd, in and out. */
#ifndef BASE_UNPACK_H
#define BASE_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/file.h"

bool unpack_is_packed(const void *data, size_t len); /* starts like gzip or zstd */

/* Undoes gzip (several members too) or zstd, and once more when what comes out is packed again (servers do
 * that). The result is a block of its own. max_bytes bounds it: ERR_LIMIT. Truncated or damaged: ERR_INPUT
 * with the reason. */
int unpack(const void *data, size_t len, size_t max_bytes, struct bytes *ret_bytes, struct err *err);

int unpack_gzip(const void *data, size_t len, size_t max_bytes, struct bytes *ret_bytes, struct err *err);
int unpack_zstd(const void *data, size_t len, size_t max_bytes, struct bytes *ret_bytes, struct err *err);

/* level: 1 (fast) to 12. Large data becomes several members, packed side by side: for files. */
void pack_gzip(const void *data, size_t len, int level, struct bytes *ret_bytes);

/* One member whatever the size, for browsers: they stop at the end of the first one. */
void pack_gzip_member(const void *data, size_t len, int level, struct bytes *ret_bytes);

/* Members one after the other are a gzip file; frees them. */
void pack_join_members(struct bytes *members, size_t n, struct bytes *ret_bytes);

#endif
