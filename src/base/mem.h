/* mem.h - the one door to the heap, for the program (the in-process library never comes through here).
 *
 * These never return NULL: a request that cannot be met ends the program with one line. That is safe because
 * every size that comes from input is bounded by its reader first (err.h: ERR_LIMIT); what remains is a
 * machine that is out of memory.
 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>

void *mem_alloc(size_t size_bytes) __attribute__((malloc, returns_nonnull));
void *mem_zalloc(size_t size_bytes) __attribute__((malloc, returns_nonnull));
void *mem_array(size_t count, size_t item_bytes)
    __attribute__((malloc, returns_nonnull)); /* overflow-checked */
void *mem_realloc(void *old, size_t size_bytes) __attribute__((returns_nonnull));
void mem_free(void *old); /* NULL is fine */
char *mem_strdup(const char *text) __attribute__((malloc, returns_nonnull));
char *mem_strndup(const char *text, size_t n_bytes) __attribute__((malloc, returns_nonnull));
char *mem_printf(const char *format, ...) __attribute__((format(printf, 1, 2), malloc, returns_nonnull));

/* Makes room for `need` items in a growing array: doubles *cap until it fits. Use through VEC_PUSH. */
void *mem_grow(void *items, size_t *cap, size_t need, size_t item_bytes) __attribute__((returns_nonnull));

/* A growing array is three fields of a struct: `T *x; size_t n_x, cap_x;`. VEC_PUSH gives the new
 * (uninitialised) item. */
#define VEC_PUSH(items, n, cap)                                                                              \
    ((n) == (cap) ? (void)((items) = mem_grow((items), &(cap), (n) + 1, sizeof *(items))) : (void)0,         \
     &(items)[(n)++])

#endif
