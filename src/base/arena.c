/* arena.c - see arena.h. Blocks double from 4 KiB to 1 MiB; a request larger than a quarter of a block gets
 * a block of its own. */
#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

struct arena_block {
    struct arena_block *older;
    size_t size_bytes;
    _Alignas(16) char data[];
};

enum { FIRST_BLOCK_BYTES = 4096, LARGEST_BLOCK_BYTES = 1 << 20 };

static struct arena_block *new_block(struct arena *arena, size_t size_bytes)
{
    struct arena_block *block = mem_alloc(sizeof *block + size_bytes);
    block->size_bytes = size_bytes;
    arena->total_bytes += sizeof *block + size_bytes;
    return block;
}

static void *take_slow(struct arena *arena, size_t size_bytes)
{
    size_t block_bytes = arena->blocks ? arena->blocks->size_bytes * 2 : FIRST_BLOCK_BYTES;
    if (block_bytes > LARGEST_BLOCK_BYTES) block_bytes = LARGEST_BLOCK_BYTES;
    if (size_bytes > block_bytes / 4) { /* its block goes behind the current one, which stays in use */
        struct arena_block *own = new_block(arena, size_bytes);
        if (arena->blocks) {
            own->older = arena->blocks->older;
            arena->blocks->older = own;
        } else {
            own->older = NULL;
            arena->blocks = own;
            arena->next = arena->end = own->data + size_bytes;
        }
        return own->data;
    }
    struct arena_block *block = new_block(arena, block_bytes);
    block->older = arena->blocks;
    arena->blocks = block;
    arena->next = block->data + size_bytes;
    arena->end = block->data + block_bytes;
    return block->data;
}

void *arena_alloc(struct arena *arena, size_t size_bytes)
{
    uintptr_t aligned = ((uintptr_t)arena->next + 15) & ~(uintptr_t)15;
    if (arena->next && aligned <= (uintptr_t)arena->end && size_bytes <= (uintptr_t)arena->end - aligned) {
        arena->next = (char *)aligned + size_bytes;
        return (char *)aligned;
    }
    return take_slow(arena, size_bytes);
}

void *arena_zalloc(struct arena *arena, size_t size_bytes)
{
    return memset(arena_alloc(arena, size_bytes), 0, size_bytes);
}

void *arena_array(struct arena *arena, size_t count, size_t item_bytes)
{
    size_t size_bytes;
    if (__builtin_mul_overflow(count, item_bytes, &size_bytes))
        size_bytes = SIZE_MAX / 2; /* mem_alloc refuses it */
    return arena_alloc(arena, size_bytes);
}

char *arena_strndup(struct arena *arena, const char *text, size_t n_bytes)
{
    char *copy;
    if (n_bytes < (size_t)(arena->end - arena->next)) {
        copy = arena->next;
        arena->next += n_bytes + 1;
    } else {
        copy = take_slow(arena, n_bytes + 1);
    }
    memcpy(copy, text, n_bytes);
    copy[n_bytes] = '\0';
    return copy;
}

char *arena_strdup(struct arena *arena, const char *text)
{
    return arena_strndup(arena, text, strlen(text));
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = arena_alloc(arena, (size_t)(n < 0 ? 0 : n) + 1);
    vsnprintf(text, (size_t)(n < 0 ? 0 : n) + 1, format, again);
    va_end(again);
    return text;
}

void arena_free(struct arena *arena)
{
    for (struct arena_block *block = arena->blocks, *older; block; block = older) {
        older = block->older;
        mem_free(block);
    }
    *arena = (struct arena){0};
}
