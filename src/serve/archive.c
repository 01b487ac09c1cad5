/* archive.c - see archive.h. ustar, as every tar reads it. */
#include "serve/archive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/pack.h"
#include "base/rd.h"
#include "base/unpack.h"

enum { BLOCK = 512, MAX_UNPACKED_BYTES = 1 << 30 };

/* Octal, with blanks around it. */
static uint64_t number(const uint8_t *text, size_t n)
{
    uint64_t value = 0;
    for (size_t i = 0; i < n && text[i]; i++)
        if (text[i] >= '0' && text[i] <= '7') value = value << 3 | (uint64_t)(text[i] - '0');
    return value;
}

int archive_entry(const void *data, size_t len, const char *ending, struct bytes *ret_bytes, struct err *err)
{
    struct bytes tar = {0};
    int bad = unpack_gzip(data, len, MAX_UNPACKED_BYTES, &tar, err);
    if (bad) return bad;
    struct rd r = rd_over(tar.data, tar.len);
    size_t n_ending = strlen(ending);
    bad = err_set(err, ERR_NOT_FOUND, "the archive holds no file that ends with %s", ending);
    while (rd_left(&r) >= BLOCK) {
        const uint8_t *head = rd_bytes(&r, BLOCK);
        if (!head[0]) break;
        uint64_t size = number(head + 124, 12);
        const uint8_t *content = rd_bytes(&r, size);
        if (!content) {
            bad = err_set(err, ERR_INPUT, "the archive is cut off");
            break;
        }
        char name[101];
        memcpy(name, head, 100);
        name[100] = 0;
        size_t n = strlen(name);
        bool is_file = head[156] == '0' || head[156] == 0;
        if (is_file && n >= n_ending && !strcmp(name + n - n_ending, ending)) {
            ret_bytes->data = mem_alloc(size + 1);
            memcpy(ret_bytes->data, content, size);
            ret_bytes->data[size] = 0;
            ret_bytes->len = size;
            ret_bytes->mapped_bytes = 0;
            bad = 0;
            break;
        }
        if (size % BLOCK) rd_skip(&r, BLOCK - size % BLOCK);
    }
    bytes_free(&tar);
    return bad;
}

static void add_file(struct buf *tar, const struct archive_file *f, long long mtime_s)
{
    char head[BLOCK] = {0};
    snprintf(head, 100, "%s", f->name);
    snprintf(head + 100, 8, "%07o", 0644u);
    snprintf(head + 108, 8, "%07o", 0u);
    snprintf(head + 116, 8, "%07o", 0u);
    snprintf(head + 124, 12, "%011llo", (unsigned long long)f->len);
    snprintf(head + 136, 12, "%011llo", (unsigned long long)mtime_s);
    memset(head + 148, ' ', 8);
    head[156] = '0';
    memcpy(head + 257, "ustar", 6);
    memcpy(head + 263, "00", 2);
    unsigned sum = 0;
    for (int i = 0; i < BLOCK; i++) sum += (unsigned char)head[i];
    snprintf(head + 148, 8, "%06o", sum);
    head[155] = ' ';
    buf_add(tar, head, BLOCK);
    buf_add(tar, f->data, f->len);
    if (f->len % BLOCK) buf_fill(tar, 0, BLOCK - f->len % BLOCK);
}

void archive_make(const struct archive_file *files, size_t n_files, long long mtime_s,
                  struct bytes *ret_bytes)
{
    struct buf tar = {0};
    for (size_t i = 0; i < n_files; i++) add_file(&tar, &files[i], mtime_s);
    buf_fill(&tar, 0, 2 * BLOCK);
    pack_gzip(tar.data, tar.len, 6, ret_bytes);
    buf_free(&tar);
}
