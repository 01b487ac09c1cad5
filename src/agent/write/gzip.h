/* gzip.h - a small gzip encoder: LZ77 with one candidate a position, fixed Huffman codes. Half of what zlib
 * would save, none of its size. */
#ifndef AGENT_WRITE_GZIP_H
#define AGENT_WRITE_GZIP_H

#include "agent/host/pages.h"

void gzip_write(struct pages_buf *into, const void *bytes,
                size_t n_bytes); /* into->failed tells when memory ran out */

#endif
