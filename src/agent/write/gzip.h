/* gzip.h - a small gzip encoder: LZ77 with one candidate per position and fixed Huffman codes. It saves about
 * half of what zlib would save, and adds no library. */
#ifndef AGENT_WRITE_GZIP_H
#define AGENT_WRITE_GZIP_H

#include "agent/host/pages.h"

/* Appends a gzip member with these bytes. into->failed is set when memory runs out. */
void gzip_write(struct pages_buf *into, const void *bytes, size_t n_bytes);

#endif
