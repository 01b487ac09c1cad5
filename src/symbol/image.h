/* image.h - the debug information about one object's code, as one block of bytes that needs no parsing. An
 * image is built from DWARF once. It is kept in memory or in a file that processes map and share.
 *
 *   header | checksums of blocks | starts | rows | scopes | functions | files | buckets | strings
 *
 * The code is divided into pieces in which innermost function, file and line stay the same. Piece i begins at
 * starts[i] (relative to the header's base), and rows[i] describes it. A bucket for every 256 bytes of code
 * has the index of the piece where a search starts. Scopes form chains by index: an inlined call refers to
 * its caller, and so on, up to the function.
 *
 * A file has a checksum for every block, which is verified when a lookup first touches the block. If a block
 * is damaged, the whole image counts as damaged, and the caller builds a new one.
 */
#ifndef SYMBOL_IMAGE_H
#define SYMBOL_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/file.h"

#define IMAGE_VERSION 5

struct image_row {
    uint32_t scope; /* index + 1; 0: none */
    uint32_t file;  /* index + 1; 0: none */
    uint32_t line;
    uint16_t column, discriminator; /* 0: unknown, or too large */
};

struct image_scope {
    uint32_t parent;    /* index + 1; 0: none. A scope's parent always has a lower index than the scope */
    uint32_t function;  /* index */
    uint32_t call_file; /* index + 1; 0: none */
    uint32_t call_line;
    uint32_t call_column;
};

struct image_text {
    uint32_t at_plus_1; /* offset in the strings + 1; 0: there is no text */
    uint32_t n_bytes;   /* without the final NUL */
};

struct image_function {
    struct image_text linkage_name, name; /* name is demangled */
    uint32_t start_line;
};

struct image;
struct dwarf;

/* Builds an image of all code that the debug information describes. Returns NULL if it does not fit, for
 * example if the object's code spans more than 4 GiB. *ret_bytes shows the bytes to write to a file; they
 * belong to the image. ret_bytes may be NULL. The caller frees the result with image_free. */
struct image *image_build(struct dwarf *d, const char *build_id, struct bytes *ret_bytes);

/* Opens an image from the bytes of a file. The image owns the bytes, and they are freed if opening fails.
 * Returns NULL with the reason in err if the bytes are not an image of this version or not for build_id. If
 * build_id is NULL, any build is accepted. */
struct image *image_open(struct bytes *bytes, const char *build_id, struct err *err);
void image_free(struct image *image); /* image may be NULL */

struct symbol_result;
struct image_want {
    bool linkage_names; /* write the linkage name to function, instead of the readable name */
    bool one_name;      /* leave linkage_name empty if there is another name for function */
    bool no_inlines;    /* return only the innermost frame */
    bool room_for_gaps; /* return one frame of zeros, instead of none, for an unknown address */
    unsigned n_threads;
};

/* Finds the frames of each address, in the form of symbol_lookup. An unknown address has no frames. Texts in
 * the result live as long as the image. The caller frees the result with symbol_result_free. Returns false
 * without a result if the image is damaged. */
bool image_lookup(struct image *image, const uint64_t *addresses, size_t n, const struct image_want *want,
                  struct symbol_result *ret_result);

#endif
