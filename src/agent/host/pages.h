/* pages.h - memory for everything in this library that is not hot: straight from the kernel, so that the
 * host's malloc is never entered (it may be the thing we profile) and never shows us. */
#ifndef AGENT_HOST_PAGES_H
#define AGENT_HOST_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed, page aligned; NULL when the kernel refuses. Pages cost nothing before they are touched. */
void *pages_map(size_t n_bytes);
void pages_unmap(void *memory, size_t n_bytes); /* NULL is fine */

/* A growable array of bytes. `failed` is set, and the content no longer grows, when memory or `limit` runs
 * out: check once at the end. */
struct pages_buf {
    char *data;
    size_t size, room, limit; /* limit 0: 1 GiB */
    bool failed;
};

void pages_buf_free(struct pages_buf *b);
void *pages_buf_add(struct pages_buf *b,
                    size_t n_bytes); /* room for n more bytes, counted in; NULL when failed */
void pages_buf_bytes(struct pages_buf *b, const void *bytes, size_t n_bytes);
void pages_buf_text(struct pages_buf *b, const char *text);
void pages_buf_format(struct pages_buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
