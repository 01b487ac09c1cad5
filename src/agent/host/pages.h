/* pages.h - memory for everything in this library outside hot/. It comes from the kernel (mmap): the library
 * never calls the host's malloc, which it may be profiling, and never appears in the host's heap profile. */
#ifndef AGENT_HOST_PAGES_H
#define AGENT_HOST_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Maps zeroed, page-aligned memory; NULL when the kernel refuses. A page costs nothing until it is touched.
 */
void *pages_map(size_t n_bytes);
void pages_unmap(void *memory, size_t n_bytes); /* memory may be NULL */

/* A growable array of bytes. When memory or `limit` runs out, `failed` is set and the content stops growing,
 * so it is enough to check `failed` once at the end. */
struct pages_buf {
    char *data;
    size_t size, room, limit; /* limit 0: 1 GiB */
    bool failed;
};

void pages_buf_free(struct pages_buf *b);
/* Makes the content n_bytes longer and returns where the new bytes begin; NULL when that failed. */
void *pages_buf_add(struct pages_buf *b, size_t n_bytes);
void pages_buf_bytes(struct pages_buf *b, const void *bytes, size_t n_bytes);
void pages_buf_text(struct pages_buf *b, const char *text);
/* At most 2,047 characters; the rest is cut off. */
void pages_buf_format(struct pages_buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
