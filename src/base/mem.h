/* mem.h - all heap memory of the program. The library in src/agent does not use it.
 *
 * No function returns NULL: without memory the program ends with a message of one line. This is safe because
 * readers limit every size that comes from input (ERR_LIMIT in err.h), so that only a machine without memory
 * can cause it.
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

/* Makes room for `need` items in a growing array by doubling *cap. VEC_PUSH calls it. */
void *mem_grow(void *items, size_t *cap, size_t need, size_t item_bytes) __attribute__((returns_nonnull));

/* A growing array is three fields of a struct: `T *x; size_t n_x, cap_x;`. VEC_PUSH adds an item and returns
 * its address. The item is not initialised. */
#define VEC_PUSH(items, n, cap)                                                                              \
    ((n) == (cap) ? (void)((items) = mem_grow((items), &(cap), (n) + 1, sizeof *(items))) : (void)0,         \
     &(items)[(n)++])

#endif
