/* pack.h - gzip out; unpack.h undoes it.
 *
 * level: 1 (fast) to 12. The same bytes give the same gzip bytes on one machine; how well level 1 packs may
 * differ a little from one kind of processor to another.
 */
#ifndef BASE_COMPRESS_PACK_H
#define BASE_COMPRESS_PACK_H

#include <stddef.h>

#include "base/buf.h"
#include "base/file.h"

/* One member whatever the size, for browsers: they stop at the end of the first one. */
void pack_gzip_member(const void *data, size_t len, int level, struct bytes *ret_bytes);

/* The same behind what `out` has. Members one after the other are a gzip file. */
void pack_gzip_add(const void *data, size_t len, int level, struct buf *out);

/* Large data becomes several members, packed side by side: for files. */
void pack_gzip(const void *data, size_t len, int level, struct bytes *ret_bytes);

#endif
