/* image_int.h - the layout of an image. Private to image*.c. */
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
    uint64_t offset; /* bytes from the start of the file */
    uint64_t count;  /* items */
};

struct image_header {
    char magic[16];
    uint32_t version, byte_order; /* byte_order is 0x01020304 in the writer's byte order */
    uint64_t n_bytes;             /* of the whole image */
    uint64_t base;                /* the address that a start of 0 stands for */
    char build_id[136];
    struct image_table_place tables[N_TABLES];
    uint64_t checksum; /* of the header before this field, and of the table of checksums */
};

/* Returns the checksum of n bytes. */
uint64_t image_checksum(const void *bytes, size_t n);

/* Returns the size of one item of a table in bytes. */
size_t image_item_bytes(enum image_table table);

#endif
