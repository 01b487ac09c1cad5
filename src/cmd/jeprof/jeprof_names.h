/* jeprof_names.h - finds the names of a jeprof profile's places in object files. It also keeps the symbol
 * tables of these objects for the reports on whole functions (source and disassembly). */
#ifndef CMD_JEPROF_JEPROF_NAMES_H
#define CMD_JEPROF_JEPROF_NAMES_H

#include "cmd/jeprof/jeprof_profile.h"
#include "symbol/elf/symtab.h"
#include "symbol/symbol.h"

struct jeprof_object {
    uint32_t name; /* string of the profile, as in jeprof_place.object */
    struct symbol_object *opened;
    struct elf *elf;
    struct symtab symtab; /* of this file, not of its debug file; the symbols that `nm` shows */
};

struct jeprof_names { /* empty if all zero */
    struct symbolizer *symbolizer;
    struct jeprof_object *objects;
    size_t n_objects, cap_objects;
};

/* Adds frames to the places that have none, if their object has names for them. An address outside every
 * symbol of a stripped object gets the next symbol below it, as a reader of `nm` would do. The function calls
 * warn for each object that it cannot read. */
void jeprof_names_find(struct jeprof_names *names, struct jeprof_profile *p,
                       const struct jeprof_options *options, void (*warn)(const char *line));
void jeprof_names_free(struct jeprof_names *names);

/* Returns NULL if no object has this name. */
const struct jeprof_object *jeprof_names_object(const struct jeprof_names *names, uint32_t name);

#endif
