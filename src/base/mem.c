/* mem.c - see mem.h. */
#include "base/mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static void die_out_of_memory(size_t size_bytes)
{
    fprintf(stderr, "procprof: out of memory (asked for %zu bytes)\n", size_bytes);
    abort();
}

/* Large blocks are usually filled completely, so huge pages save thousands of page faults. */
enum { LARGE_BYTES = 8 << 20, HUGE_PAGE_BYTES = 2 << 20 };

static void use_huge_pages(void *block, size_t size_bytes)
{
    uintptr_t begin = ((uintptr_t)block + HUGE_PAGE_BYTES - 1) & ~(uintptr_t)(HUGE_PAGE_BYTES - 1);
    uintptr_t end = ((uintptr_t)block + size_bytes) & ~(uintptr_t)(HUGE_PAGE_BYTES - 1);
    if (begin < end) madvise((void *)begin, end - begin, MADV_HUGEPAGE);
}

static void *alloc_large(size_t size_bytes)
{
    void *p = NULL;
    if (posix_memalign(&p, HUGE_PAGE_BYTES, size_bytes)) return NULL;
    use_huge_pages(p, size_bytes);
    return p;
}

void *mem_alloc(size_t size_bytes)
{
    void *p = size_bytes >= LARGE_BYTES ? alloc_large(size_bytes) : malloc(size_bytes ? size_bytes : 1);
    if (!p) die_out_of_memory(size_bytes);
    return p;
}

void *mem_zalloc(size_t size_bytes)
{
    void *p = calloc(1, size_bytes ? size_bytes : 1);
    if (!p) die_out_of_memory(size_bytes);
    if (size_bytes >= LARGE_BYTES) use_huge_pages(p, size_bytes);
    return p;
}

void *mem_array(size_t count, size_t item_bytes)
{
    size_t size_bytes;
    if (__builtin_mul_overflow(count, item_bytes, &size_bytes)) die_out_of_memory((size_t)-1);
    return mem_alloc(size_bytes);
}

void *mem_realloc(void *old, size_t size_bytes)
{
    void *p = realloc(old, size_bytes ? size_bytes : 1);
    if (!p) die_out_of_memory(size_bytes);
    return p;
}

void mem_free(void *old)
{
    free(old);
}

char *mem_strndup(const char *text, size_t n_bytes)
{
    char *copy = mem_alloc(n_bytes + 1);
    memcpy(copy, text, n_bytes);
    copy[n_bytes] = '\0';
    return copy;
}

char *mem_strdup(const char *text)
{
    return mem_strndup(text, strlen(text));
}

char *mem_printf(const char *format, ...)
{
    va_list args;
    char *text = NULL;
    va_start(args, format);
    int n = vasprintf(&text, format, args);
    va_end(args);
    if (n < 0) die_out_of_memory(0);
    return text;
}

void *mem_grow(void *items, size_t *cap, size_t need, size_t item_bytes)
{
    size_t new_cap = *cap ? *cap : 8, size_bytes;
    while (new_cap < need) {
        if (__builtin_mul_overflow(new_cap, (size_t)2, &new_cap)) die_out_of_memory((size_t)-1);
    }
    if (new_cap == *cap && items) return items;
    if (__builtin_mul_overflow(new_cap, item_bytes, &size_bytes)) die_out_of_memory((size_t)-1);
    items = mem_realloc(items, size_bytes);
    *cap = new_cap;
    return items;
}
