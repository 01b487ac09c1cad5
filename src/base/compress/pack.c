/* pack.c - see pack.h. ISA-L writes level 1: it is three times as fast as libdeflate, and its output is half
 * a percent larger. libdeflate writes the other levels. */
#include "base/compress/pack.h"

#include <isa-l/igzip_lib.h>
#include <libdeflate.h>

#include "base/mem.h"
#include "base/parallel.h"

/* ISA-L's best level, with small blocks, so that the codes of each block suit its content. */
enum { FAST_LEVEL = 3, FAST_WORK_BYTES = ISAL_DEF_LVL3_SMALL };

struct fast_packer {
    struct isal_zstream stream;
    uint8_t work[FAST_WORK_BYTES];
};

/* ISA-L counts in 32 bits, so larger data is passed in steps. */
enum { MAX_STEP_BYTES = 1 << 30 };

static void add_fast(const uint8_t *data, size_t len, struct buf *out)
{
    struct fast_packer *packer = mem_alloc(sizeof *packer);
    struct isal_zstream *z = &packer->stream;
    isal_deflate_init(z);
    z->level = FAST_LEVEL;
    z->level_buf = packer->work;
    z->level_buf_size = sizeof packer->work;
    z->gzip_flag = IGZIP_GZIP;
    z->next_in = (uint8_t *)data; /* ISA-L only reads it */
    z->avail_in = 0;
    buf_reserve(out, len / 2 + 4096);
    do {
        size_t taken = (size_t)(z->next_in - data) + z->avail_in;
        if (!z->avail_in) {
            z->avail_in = (uint32_t)(len - taken < MAX_STEP_BYTES ? len - taken : MAX_STEP_BYTES);
            z->end_of_stream = taken + z->avail_in == len;
        }
        buf_reserve(out, 4096);
        size_t room = out->cap - out->len;
        z->next_out = (uint8_t *)out->data + out->len;
        z->avail_out = (uint32_t)(room < MAX_STEP_BYTES ? room : MAX_STEP_BYTES);
        isal_deflate(z); /* fails only with wrong settings */
        out->len = (size_t)((char *)z->next_out - out->data);
    } while (z->internal_state.state != ZSTATE_END);
    mem_free(packer);
}

void pack_gzip_add(const void *data, size_t len, int level, struct buf *out)
{
    buf_flush(out); /* a buffer with a destination holds one member at most */
    if (level <= 1) {
        add_fast(data, len, out);
        return;
    }
    struct libdeflate_compressor *c = libdeflate_alloc_compressor(level);
    size_t room = libdeflate_gzip_compress_bound(c, len);
    buf_reserve(out, room);
    out->len += libdeflate_gzip_compress(c, data, len, out->data + out->len, room);
    libdeflate_free_compressor(c);
}

static struct bytes bytes_of(struct buf *out)
{
    size_t len = out->len;
    return (struct bytes){.data = (uint8_t *)buf_take(out), .len = len};
}

void pack_gzip_member(const void *data, size_t len, int level, struct bytes *ret_bytes)
{
    struct buf out = {0};
    pack_gzip_add(data, len, level, &out);
    *ret_bytes = bytes_of(&out);
}

struct packing {
    const uint8_t *data;
    size_t len;
    int level;
};

enum { MEMBER_BYTES = 4 << 20 };

static void add_members(void *context, size_t first, size_t end, struct buf *out)
{
    const struct packing *p = context;
    for (size_t i = first; i < end; i++) {
        size_t at = i * MEMBER_BYTES, left = p->len - at;
        pack_gzip_add(p->data + at, left < MEMBER_BYTES ? left : MEMBER_BYTES, p->level, out);
    }
}

void pack_gzip(const void *data, size_t len, int level, struct bytes *ret_bytes)
{
    struct packing p = {data, len, level};
    struct buf out = {0};
    size_t n_members = (len + MEMBER_BYTES - 1) / MEMBER_BYTES;
    parallel_write_by(&out, n_members ? n_members : 1, 1, add_members, &p);
    *ret_bytes = bytes_of(&out);
}
