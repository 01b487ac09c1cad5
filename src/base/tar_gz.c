/* tar_gz.c - see tar_gz.h. */
#include "base/tar_gz.h"

#include <string.h>

#include "base/mem.h"
#include "base/pack.h"
#include "base/unpack.h"

enum { MAX_UNPACKED_BYTES = 1 << 30 };

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
