/* debugfile.h - where is the debug information of this object? Beside it, in the folders of the system, or
 * inside it. */
#ifndef SYMBOL_ELF_DEBUGFILE_H
#define SYMBOL_ELF_DEBUGFILE_H

#include "symbol/elf/elf.h"

struct debugfile_places {
    const char *const *search; /* the user's folders, NULL-ended; may be NULL */
    const char *root;          /* of a container ("/proc/12/root"); "" for our own */
    bool debuginfod;           /* ask the servers of DEBUGINFOD_URLS when nothing is found here */
};

/* The file with the given build id: PLACE/.build-id/xx/rest(.debug) and the like. want_debug: one with debug
 * sections, not the program. NULL when there is none. */
struct elf *debugfile_by_build_id(const struct debugfile_places *places, const char *build_id_hex,
                                  bool want_debug);

/* The separate debug file of elf: by build id (also in .build-id beside it), by .gnu_debuglink (build id or
 * checksum must fit), from a server. NULL: none. */
struct elf *debugfile_find(const struct elf *elf, const struct debugfile_places *places);

/* The file that dwz put shared entries in (.gnu_debugaltlink). NULL when there is no link or no file. */
struct elf *debugfile_find_alt(const struct elf *elf, const struct debugfile_places *places);

/* The object inside .gnu_debugdata (MiniDebugInfo: xz-packed symbols). NULL: none. */
struct elf *debugfile_open_mini(const struct elf *elf);

bool debugfile_has_dwarf(const struct elf *elf);

#endif
