/* A file that may be a symbol cache. Checksums would stop nearly every mutation at the door, so they are made
 * right first: what is behind them must hold by itself too. The first byte tells whether, and what is asked.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "symbol/image_int.h"
#include "symbol/symbol.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void make_right(uint8_t *p, size_t n)
{
    struct image_header h;
    if (n < sizeof h) return;
    memcpy(&h, p, sizeof h);
    memcpy(h.magic, IMAGE_MAGIC, sizeof h.magic);
    h.version = IMAGE_VERSION;
    h.byte_order = 0x01020304;
    h.n_bytes = n;
    h.build_id[sizeof h.build_id - 1] = 0;
    size_t n_blocks = (n + IMAGE_BLOCK_BYTES - 1) / IMAGE_BLOCK_BYTES, skip = sizeof h + n_blocks * 8;
    if (n < skip) return;
    h.tables[TABLE_CHECKSUMS] = (struct image_table_place){sizeof h, n_blocks};
    for (size_t b = 0; b < n_blocks; b++) {
        size_t from = b * IMAGE_BLOCK_BYTES, to = from + IMAGE_BLOCK_BYTES < n ? from + IMAGE_BLOCK_BYTES : n;
        if (from < skip) from = to <= skip ? to : skip;
        uint64_t sum = image_checksum(p + from, to - from);
        memcpy(p + sizeof h + b * 8, &sum, 8);
    }
    h.checksum = image_checksum(&h, offsetof(struct image_header, checksum)) ^
                 image_checksum(p + sizeof h, n_blocks * 8);
    memcpy(p, &h, sizeof h);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size) return 0;
    struct bytes bytes = {.data = mem_alloc(size), .len = size - 1};
    memcpy(bytes.data, data + 1, size - 1);
    if (data[0] & 1) make_right(bytes.data, bytes.len);
    struct image_header h = {0};
    if (bytes.len >= sizeof h) memcpy(&h, bytes.data, sizeof h);
    struct err err = {0};
    struct image *g = image_open(&bytes, NULL, &err);
    if (!g) {
        if (!err.text[0]) abort();
        return 0;
    }
    uint64_t addresses[256];
    for (size_t i = 0; i < 256; i++)
        addresses[i] = h.base + i * 7 + (i > 200 ? (uint64_t)data[i % size] << (i % 40) : 0);
    struct symbol_result r;
    volatile size_t sum = 0;
    struct image_want want = {.n_threads = 1, .room_for_gaps = data[0] & 2, .one_name = data[0] & 4};
    if (image_lookup(g, addresses, 256, &want, &r)) {
        for (size_t i = 0; i < r.first_frame[256]; i++) {
            const struct symbol_frame *f = &r.frames[i];
            sum = sum + (f->function ? strlen(f->function) : 0) + (f->file ? strlen(f->file) : 0);
        }
        symbol_result_free(&r);
    }
    image_free(g);
    return 0;
}
