/* pages.c - see pages.h. */
#include "agent/host/pages.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define DEFAULT_LIMIT ((size_t)1 << 30)

void *pages_map(size_t n_bytes)
{
    void *memory = mmap(NULL, n_bytes ? n_bytes : 1, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void pages_unmap(void *memory, size_t n_bytes)
{
    if (memory) munmap(memory, n_bytes ? n_bytes : 1);
}

void pages_buf_free(struct pages_buf *b)
{
    pages_unmap(b->data, b->room);
    *b = (struct pages_buf){.limit = b->limit};
}

static void *resize(void *memory, size_t n_bytes, size_t n_new_bytes)
{
#if defined(__SANITIZE_THREAD__)
    /* ThreadSanitizer does not follow mremap and would confuse the moved memory with what was there before.
     */
    void *moved = pages_map(n_new_bytes);
    if (moved) memcpy(moved, memory, n_bytes);
    if (moved) pages_unmap(memory, n_bytes);
    return moved;
#else
    void *moved = mremap(memory, n_bytes, n_new_bytes, MREMAP_MAYMOVE);
    return moved == MAP_FAILED ? NULL : moved;
#endif
}

static bool grow(struct pages_buf *b, size_t need)
{
    size_t limit = b->limit ? b->limit : DEFAULT_LIMIT;
    if (need > limit) return false;
    size_t room = b->room ? b->room : 16384;
    while (room < need) room *= 2;
    void *memory = b->data ? resize(b->data, b->room, room) : pages_map(room);
    if (!memory) return false;
    b->data = memory;
    b->room = room;
    return true;
}

void *pages_buf_add(struct pages_buf *b, size_t n_bytes)
{
    if (b->failed) return NULL;
    if (n_bytes > b->room - b->size && !grow(b, b->size + n_bytes)) {
        b->failed = true;
        return NULL;
    }
    void *at = b->data + b->size;
    b->size += n_bytes;
    return at;
}

void pages_buf_bytes(struct pages_buf *b, const void *bytes, size_t n_bytes)
{
    void *at = n_bytes ? pages_buf_add(b, n_bytes) : NULL;
    if (at) memcpy(at, bytes, n_bytes);
}

void pages_buf_text(struct pages_buf *b, const char *text)
{
    pages_buf_bytes(b, text, strlen(text));
}

void pages_buf_format(struct pages_buf *b, const char *format, ...)
{
    char line[2048]; /* enough for numbers; names of any length go through pages_buf_text */
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (n > 0) pages_buf_bytes(b, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
}
