/* arena.h - memory that is freed all at once: of a profile, an object file, a request.
 *
 * Pointers stay valid until arena_free. Only one thread at a time may use an arena. No function returns NULL:
 * without memory the program ends (see mem.h).
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

struct arena_block;

struct arena { /* all zero is an empty arena */
    struct arena_block *blocks;
    char *next, *end;
    size_t total_bytes; /* what was taken from the heap */
};

void *arena_alloc(struct arena *arena, size_t size_bytes)
    __attribute__((returns_nonnull)); /* 16-byte aligned, not cleared */
void *arena_zalloc(struct arena *arena, size_t size_bytes) __attribute__((returns_nonnull));
void *arena_array(struct arena *arena, size_t count, size_t item_bytes) __attribute__((returns_nonnull));
char *arena_strndup(struct arena *arena, const char *text, size_t n_bytes)
    __attribute__((returns_nonnull)); /* unaligned, NUL added */
char *arena_strdup(struct arena *arena, const char *text) __attribute__((returns_nonnull));
char *arena_printf(struct arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
void arena_free(struct arena *arena); /* frees all memory; the arena is empty and can be used again */

#endif
