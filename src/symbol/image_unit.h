/* image_unit.h - what one unit gives to an image. Private to image_build.c and image_unit.c. */
#ifndef SYMBOL_IMAGE_UNIT_H
#define SYMBOL_IMAGE_UNIT_H

#include "symbol/dwarf/dwarf_int.h"
#include "symbol/image.h"

struct piece {
    uint64_t start;
    struct image_row row; /* numbers of the unit's own lists; all zero: nothing known from here on */
};

struct unit_function {
    const char *linkage_name, *name;
    uint32_t line;
};

struct unit_image {
    struct piece *pieces; /* sorted; the last of a run has nothing in its row */
    size_t n_pieces, cap_pieces;
    struct image_scope *scopes;
    size_t n_scopes, cap_scopes;
    struct unit_function *functions;
    size_t n_functions, cap_functions;
    const char **files;
    size_t n_files, cap_files;
};

void unit_image_make(struct worker *w, struct unit *u, struct unit_image *ret);
void unit_image_free(struct unit_image *m);

#endif
