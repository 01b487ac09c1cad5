/* tar.c - see tar.h. A header of one block, the bytes filled up to whole blocks, two empty blocks at the end.
 */
#include "base/compress/tar.h"

#include <stdio.h>
#include <string.h>

#include "base/compress/pack.h"
#include "base/compress/unpack.h"
#include "base/mem.h"
#include "base/rd.h"

enum { BLOCK = 512, REGULAR = '0', MAX_UNPACKED_BYTES = 1 << 30 };

struct header {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100], magic[6],
        version[2], user[32], group[32], device[16], prefix[155], rest[12];
};
_Static_assert(sizeof(struct header) == BLOCK, "a tar header is one block");

static void put_octal(char *field, size_t width, uint64_t value)
{
    for (size_t i = width - 1; i--; value >>= 3) field[i] = (char)('0' + (value & 7));
}

/* Blanks or zeros may precede the digits; a blank or a NUL follows them. */
static uint64_t octal(const char *field, size_t width)
{
    uint64_t value = 0;
    for (size_t i = 0; i < width && field[i]; i++)
        if (field[i] >= '0' && field[i] <= '7') value = value << 3 | (uint64_t)(field[i] - '0');
    return value;
}

/* The sum of the header's bytes, with blanks for the sum itself. */
static unsigned checksum(const struct header *h)
{
    unsigned sum = (unsigned)(' ' * sizeof h->checksum);
    for (size_t i = 0; i < sizeof *h; i++) sum += ((const unsigned char *)h)[i];
    for (size_t i = 0; i < sizeof h->checksum; i++) sum -= (unsigned char)h->checksum[i];
    return sum;
}

void tar_make(const struct tar_file *files, size_t n_files, int64_t mtime_s, struct buf *out)
{
    for (const struct tar_file *f = files; f < files + n_files; f++) {
        struct header h = {.type = REGULAR, .magic = "ustar", .version = {'0', '0'}};
        snprintf(h.name, sizeof h.name, "%s", f->name);
        put_octal(h.mode, sizeof h.mode, 0644);
        put_octal(h.uid, sizeof h.uid, 0);
        put_octal(h.gid, sizeof h.gid, 0);
        put_octal(h.size, sizeof h.size, f->len);
        put_octal(h.mtime, sizeof h.mtime, mtime_s > 0 ? (uint64_t)mtime_s : 0);
        put_octal(h.checksum, sizeof h.checksum - 1, checksum(&h)); /* six digits, NUL and a blank */
        h.checksum[7] = ' ';
        buf_add(out, &h, sizeof h);
        buf_add(out, f->data, f->len);
        buf_fill(out, 0, (BLOCK - f->len % BLOCK) % BLOCK);
    }
    buf_fill(out, 0, 2 * BLOCK);
}

bool tar_is(const void *data, size_t len)
{
    const struct header *h = data;
    return len >= BLOCK && !memcmp(h->magic, "ustar", 5) &&
           octal(h->checksum, sizeof h->checksum) == checksum(h);
}

int tar_find(const void *data, size_t len, const char *ending, struct tar_file *ret_file, struct err *err)
{
    struct rd r = rd_over(data, len);
    size_t n_ending = strlen(ending);
    while (rd_left(&r) >= BLOCK) {
        const struct header *h = (const struct header *)rd_bytes(&r, BLOCK);
        if (!h->name[0]) break;
        uint64_t size = octal(h->size, sizeof h->size);
        const uint8_t *content = rd_bytes(&r, size);
        if (!content) return err_set(err, ERR_INPUT, "the archive is cut off");
        size_t n_name = strnlen(h->name, sizeof h->name);
        bool is_file = h->type == REGULAR || h->type == 0;
        if (is_file && n_name >= n_ending && !memcmp(h->name + n_name - n_ending, ending, n_ending)) {
            *ret_file = (struct tar_file){.name = h->name, .data = content, .len = size};
            return 0;
        }
        if (size % BLOCK) rd_skip(&r, BLOCK - size % BLOCK);
    }
    return err_set(err, ERR_NOT_FOUND, "the archive holds no file that ends with %s", ending);
}

int tar_gz_entry(const void *data, size_t len, const char *ending, struct bytes *ret_bytes, struct err *err)
{
    struct bytes tar = {0};
    struct tar_file file;
    int bad = unpack_gzip(data, len, MAX_UNPACKED_BYTES, &tar, err);
    if (!bad) bad = tar_find(tar.data, tar.len, ending, &file, err);
    if (!bad) {
        *ret_bytes = (struct bytes){.data = mem_alloc(file.len + 1), .len = file.len};
        memcpy(ret_bytes->data, file.data, file.len);
        ret_bytes->data[file.len] = 0;
    }
    bytes_free(&tar);
    return bad;
}

void tar_gz_make(const struct tar_file *files, size_t n_files, int64_t mtime_s, struct bytes *ret_bytes)
{
    struct buf tar = {0};
    tar_make(files, n_files, mtime_s, &tar);
    pack_gzip(tar.data, tar.len, 6, ret_bytes);
    buf_free(&tar);
}
