/* image_int.h - the bytes of an image. Private to image*.c. */
#ifndef SYMBOL_IMAGE_INT_H
#define SYMBOL_IMAGE_INT_H

#include "symbol/image.h"

#define IMAGE_MAGIC       "procprof symbols"
#define IMAGE_BLOCK_BYTES 65536u
#define IMAGE_BUCKET_LOG2 8u

enum image_table {
    TABLE_CHECKSUMS,
    TABLE_STARTS,
    TABLE_ROWS,
    TABLE_SCOPES,
    TABLE_FUNCTIONS,
    TABLE_FILES,
    TABLE_STRINGS,
    TABLE_BUCKETS,
    N_TABLES
};

struct image_table_place {
    uint64_t offset, count; /* in bytes of the file; in items */
};

struct image_header {
    char magic[16];
    uint32_t version, byte_order; /* 0x01020304 as its writer saw it */
    uint64_t n_bytes;
    uint64_t base; /* address of starts == 0 */
    char build_id[136];
    struct image_table_place tables[N_TABLES];
    uint64_t checksum; /* of the header before this field, and of the table of checksums */
};

uint64_t image_checksum(const void *bytes, size_t n);
size_t image_item_bytes(enum image_table table);

#endif
