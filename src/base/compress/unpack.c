/* unpack.c - see unpack.h. libdeflate unpacks gzip: it takes whole buffers and is about three times as fast
 * as zlib. libzstd unpacks zstd. */
#include "base/compress/unpack.h"

#include <libdeflate.h>
#include <stdatomic.h>
#include <string.h>
#include <zstd.h>

#include "base/mem.h"
#include "base/parallel.h"

enum { MAX_RATIO = 1032 }; /* the most that deflate can reach */

static bool is_gzip(const uint8_t *p, size_t len)
{
    return len >= 2 && p[0] == 0x1f && p[1] == 0x8b;
}

static bool is_zstd(const uint8_t *p, size_t len)
{
    return len >= 4 && p[0] == 0x28 && p[1] == 0xb5 && p[2] == 0x2f && p[3] == 0xfd;
}

bool unpack_is_packed(const void *data, size_t len)
{
    return is_gzip(data, len) || is_zstd(data, len);
}

/* Returns the size in the last four bytes of a gzip file, modulo 2^32. It is only a hint: it is wrong if the
 * file has several members, and a hostile file may contain any number. */
static size_t gzip_size_hint(const uint8_t *p, size_t len, size_t max_bytes)
{
    uint32_t isize = 0;
    if (len >= 18) memcpy(&isize, p + len - 4, 4);
    uint64_t plausible = (uint64_t)len * MAX_RATIO + 64;
    uint64_t hint = isize;
    if (hint > plausible) hint = (uint64_t)len * 4;
    if (hint > max_bytes) hint = max_bytes;
    return (size_t)hint + 64;
}

/* ---- members side by side ----
 *
 * A large file that was packed in parallel, by us or by others, has many members. The start of each is
 * guessed from the ten bytes that nearly every writer puts there, and its unpacked size is read from its end.
 * If one guess is wrong, the result is dropped and the caller unpacks the file from its beginning. */

struct member {
    const uint8_t *in;
    size_t in_len, out_len, out_at;
};

struct members {
    struct member *items;
    size_t n, cap;
    uint8_t *out;
    atomic_bool is_wrong;
};

enum { WORTH_THREADS_BYTES = 1 << 20, SMALLEST_MEMBER = 18 };

static void find_members(const uint8_t *in, size_t len, struct members *m)
{
    static const uint8_t begin[8] = {0x1f, 0x8b, 8}; /* no flags, no time */
    const uint8_t *end = in + len, *at = in;
    while ((size_t)(end - at) >= SMALLEST_MEMBER && (at = memchr(at, begin[0], (size_t)(end - at)))) {
        if ((size_t)(end - at) >= SMALLEST_MEMBER && !memcmp(at, begin, sizeof begin)) {
            *VEC_PUSH(m->items, m->n, m->cap) = (struct member){.in = at};
            at += SMALLEST_MEMBER;
        } else {
            at++;
        }
    }
}

static void unpack_member(void *context, size_t i, unsigned worker)
{
    (void)worker;
    struct members *all = context;
    struct member *m = &all->items[i];
    if (all->is_wrong) return;
    struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
    size_t used = 0, made = 0;
    if (libdeflate_gzip_decompress_ex(d, m->in, m->in_len, all->out + m->out_at, m->out_len, &used, &made) ||
        used != m->in_len || made != m->out_len)
        all->is_wrong = true;
    libdeflate_free_decompressor(d);
}

static bool unpack_side_by_side(const uint8_t *in, size_t len, size_t max_bytes, struct bytes *ret_bytes)
{
    struct members all = {0};
    size_t total = 0;
    if (len < WORTH_THREADS_BYTES || parallel_width() == 1) return false;
    find_members(in, len, &all);
    bool fits = all.n > 1 && all.items[0].in == in;
    for (size_t i = 0; fits && i < all.n; i++) {
        struct member *m = &all.items[i];
        uint32_t isize;
        m->in_len = (size_t)((i + 1 < all.n ? all.items[i + 1].in : in + len) - m->in);
        memcpy(&isize, m->in + m->in_len - 4, 4);
        m->out_at = total;
        m->out_len = isize;
        total += isize;
        fits = isize <= m->in_len * (uint64_t)MAX_RATIO && total <= max_bytes;
    }
    if (fits) {
        all.out = mem_alloc(total);
        parallel_for(all.n, parallel_width(), unpack_member, &all);
        fits = !all.is_wrong;
        if (fits)
            *ret_bytes = (struct bytes){.data = all.out, .len = total};
        else
            mem_free(all.out);
    }
    mem_free(all.items);
    return fits;
}

int unpack_gzip(const void *data, size_t len, size_t max_bytes, struct bytes *ret_bytes, struct err *err)
{
    if (unpack_side_by_side(data, len, max_bytes, ret_bytes)) return 0;
    const uint8_t *in = data;
    struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
    size_t cap = gzip_size_hint(in, len, max_bytes), used = 0;
    uint8_t *out = mem_alloc(cap);
    int rc = 0;
    while (is_gzip(in, len)) {
        size_t in_used = 0, out_made = 0;
        enum libdeflate_result r =
            libdeflate_gzip_decompress_ex(d, in, len, out + used, cap - used, &in_used, &out_made);
        if (r == LIBDEFLATE_INSUFFICIENT_SPACE) {
            if (cap > max_bytes) {
                rc = err_set(err, ERR_LIMIT, "gzip data unpacks to more than %zu bytes", max_bytes);
                break;
            }
            cap = cap * 2 > max_bytes ? max_bytes + 1 : cap * 2;
            out = mem_realloc(out, cap);
            continue;
        }
        if (r != LIBDEFLATE_SUCCESS) {
            rc = err_set(err, ERR_INPUT, "gzip data is damaged or cut short (after %zu good bytes of %zu)",
                         (size_t)(in - (const uint8_t *)data), (size_t)(in - (const uint8_t *)data) + len);
            break;
        }
        used += out_made;
        in += in_used;
        len -= in_used;
    }
    libdeflate_free_decompressor(d);
    if (rc) {
        mem_free(out);
        return rc;
    }
    *ret_bytes = (struct bytes){.data = out, .len = used};
    return 0;
}

int unpack_zstd(const void *data, size_t len, size_t max_bytes, struct bytes *ret_bytes, struct err *err)
{
    ZSTD_DStream *d = ZSTD_createDStream();
    ZSTD_inBuffer in = {data, len, 0};
    size_t cap = 0, used = 0, r = 1;
    uint8_t *out = NULL;
    int rc = 0;
    while (in.pos < in.size) {
        out = mem_grow(out, &cap, used + ZSTD_DStreamOutSize(), 1);
        ZSTD_outBuffer o = {out + used, cap - used, 0};
        r = ZSTD_decompressStream(d, &o, &in);
        used += o.pos;
        if (ZSTD_isError(r)) {
            rc = err_set(err, ERR_INPUT, "zstd data is damaged: %s", ZSTD_getErrorName(r));
            break;
        }
        if (used > max_bytes) {
            rc = err_set(err, ERR_LIMIT, "zstd data unpacks to more than %zu bytes", max_bytes);
            break;
        }
    }
    while (!rc && r != 0) { /* drain the decoder; no progress means that input is missing */
        out = mem_grow(out, &cap, used + ZSTD_DStreamOutSize(), 1);
        ZSTD_outBuffer o = {out + used, cap - used, 0};
        r = ZSTD_decompressStream(d, &o, &in);
        used += o.pos;
        if (ZSTD_isError(r) || (r != 0 && o.pos == 0)) rc = err_set(err, ERR_INPUT, "zstd data is cut short");
        if (!rc && used > max_bytes)
            rc = err_set(err, ERR_LIMIT, "zstd data unpacks to more than %zu bytes", max_bytes);
    }
    ZSTD_freeDStream(d);
    if (rc) {
        mem_free(out);
        return rc;
    }
    *ret_bytes = (struct bytes){.data = out, .len = used};
    return 0;
}

static int unpack_once(const void *data, size_t len, size_t max_bytes, struct bytes *ret_bytes,
                       struct err *err)
{
    if (is_gzip(data, len)) return unpack_gzip(data, len, max_bytes, ret_bytes, err);
    if (is_zstd(data, len)) return unpack_zstd(data, len, max_bytes, ret_bytes, err);
    return err_set(err, ERR_INPUT, "neither gzip nor zstd");
}

int unpack(const void *data, size_t len, size_t max_bytes, struct bytes *ret_bytes, struct err *err)
{
    struct bytes once, twice;
    int rc = unpack_once(data, len, max_bytes, &once, err);
    if (rc) return rc;
    if (!unpack_is_packed(once.data, once.len)) {
        *ret_bytes = once;
        return 0;
    }
    rc = unpack_once(once.data, once.len, max_bytes, &twice, err);
    bytes_free(&once);
    if (!rc) *ret_bytes = twice;
    return rc;
}
