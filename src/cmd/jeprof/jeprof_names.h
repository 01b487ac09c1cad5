/* jeprof_names.h - names for the places of a jeprof profile, from object files; and the objects' symbol
 * tables, for what stands on whole functions (source, disassembly). */
#ifndef CMD_JEPROF_JEPROF_NAMES_H
#define CMD_JEPROF_JEPROF_NAMES_H

#include "cmd/jeprof/jeprof_profile.h"
#include "symbol/elf/symtab.h"
#include "symbol/symbol.h"

struct jeprof_object {
    uint32_t name; /* string of the profile: as places have it */
    struct symbol_object *opened;
    struct elf *elf;
    struct symtab symtab; /* of this very file, not of its debug file: what `nm` shows */
};

struct jeprof_names { /* all zero: none */
    struct symbolizer *symbolizer;
    struct jeprof_object *objects;
    size_t n_objects, cap_objects;
};

/* Places that have no frames get them where an object tells. An address outside every symbol of a stripped
 * object gets the next symbol below it, as `nm` users read it. Objects that cannot be read are told to warn.
 */
int jeprof_names_find(struct jeprof_names *names, struct jeprof_profile *p,
                      const struct jeprof_options *options, void (*warn)(const char *line), struct err *err);
void jeprof_names_free(struct jeprof_names *names);

const struct jeprof_object *jeprof_names_object(const struct jeprof_names *names, uint32_t name);

#endif
