/* image.h - all that the debug information of one object says about its code, as one block of bytes that can
 * be looked up without parsing: built from DWARF once, kept in memory or in a file, mapped and shared.
 *
 *   header | checksums of blocks | starts | rows | scopes | functions | files | strings | buckets
 *
 * Code is cut into pieces in which innermost function, file and line stay the same. starts[i] is where piece
 * i begins (relative to the header's base), rows[i] what holds there. A bucket for every 256 bytes of code
 * tells where to start the search. Scopes form chains by index (inlined call -> its caller -> ... ->
 * function).
 *
 * A file is trusted block by block: each is checked when it is first touched. A damaged one makes the image
 * bad, and the caller builds it anew.
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
    uint32_t parent;    /* index + 1; 0: none. Always smaller than its own */
    uint32_t function;  /* index */
    uint32_t call_file; /* index + 1; 0: none */
    uint32_t call_line;
    uint32_t call_column;
};

struct image_text { /* a string; at 0: none */
    uint32_t at_plus_1, n_bytes;
};

struct image_function {
    struct image_text linkage_name, name; /* name is demangled */
    uint32_t start_line;
};

struct image;
struct dwarf;

/* Everything the debug information knows. NULL when the object's code does not fit (more than 4 GiB apart).
 * ret_bytes shows what can be written to a file; it belongs to the image. */
struct image *image_build(struct dwarf *d, const char *build_id, struct bytes *ret_bytes);

/* Takes the bytes over, also when it fails: NULL with the reason in err. build_id: what it must be for; NULL:
 * any. */
struct image *image_open(struct bytes *bytes, const char *build_id, struct err *err);
void image_free(struct image *image); /* NULL is fine */

struct symbol_result;
struct image_want {
    bool linkage_names; /* function = linkage name */
    bool one_name;      /* only function is wanted */
    bool no_inlines;
    bool room_for_gaps; /* an address that nothing is known about gets a frame of zeros, not none */
    unsigned n_threads;
};

/* Frames of each address, as symbol_lookup gives them; those without any are left empty. False when the image
 * turned out to be damaged: nothing is given then. */
bool image_lookup(struct image *image, const uint64_t *addresses, size_t n, const struct image_want *want,
                  struct symbol_result *ret_result);

size_t image_bytes(const struct image *image);

#endif
