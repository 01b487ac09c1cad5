/* unpack.h - gzip and zstd undone; pack.h makes them. */
#ifndef BASE_COMPRESS_UNPACK_H
#define BASE_COMPRESS_UNPACK_H

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

#endif
