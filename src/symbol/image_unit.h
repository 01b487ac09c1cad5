/* image_unit.h - the part of an image that comes from one unit. Private to image_build.c and image_unit.c. */
#ifndef SYMBOL_IMAGE_UNIT_H
#define SYMBOL_IMAGE_UNIT_H

#include "symbol/dwarf/dwarf_int.h"
#include "symbol/image.h"

struct code_piece {
    uint64_t start;
    struct image_row row; /* indexes into the unit's own lists; all zero: the code from here on is unknown */
};

struct unit_function {
    const char *linkage_name, *name;
    uint32_t line;
};

struct unit_image {
    struct code_piece *pieces; /* sorted by start; a piece with a row of zeros ends each run of code */
    size_t n_pieces, cap_pieces;
    struct image_scope *scopes;
    size_t n_scopes, cap_scopes;
    struct unit_function *functions;
    size_t n_functions, cap_functions;
    const char **files;
    size_t n_files, cap_files;
};

/* Reads all code of a unit into *ret, which must be all zero. A unit that cannot be read adds nothing. The
 * caller frees *ret with unit_image_free; its strings belong to the debug information. */
void unit_image_make(struct worker *w, struct unit *u, struct unit_image *ret);
void unit_image_free(struct unit_image *m);

#endif
