/* debugfile.h - finds the debug information of an object: beside the object, in the system's folders, inside
 * the object, or on a debuginfod server.
 *
 * The caller closes every returned object with elf_close. */
#ifndef SYMBOL_ELF_DEBUGFILE_H
#define SYMBOL_ELF_DEBUGFILE_H

#include "symbol/elf/elf.h"

struct debugfile_places {
    const char *const *search; /* the user's folders, ended by NULL; may be NULL */
    const char *root;          /* the root folder of a container ("/proc/12/root"); "" for our own root */
    bool debuginfod;           /* ask the servers in DEBUGINFOD_URLS if no local file is found */
};

/* Returns the file with this build id, found as PLACE/.build-id/xx/rest(.debug) and similar names, or NULL.
 * If want_debug is true, the file must have debug sections. */
struct elf *debugfile_by_build_id(const struct debugfile_places *places, const char *build_id_hex,
                                  bool want_debug);

/* Returns the separate debug file of elf, or NULL. Searches by build id (also in .build-id beside elf), then
 * by .gnu_debuglink (build id or checksum must match), then asks the debuginfod servers. */
struct elf *debugfile_find(const struct elf *elf, const struct debugfile_places *places);

/* Returns the file in which dwz put shared entries (.gnu_debugaltlink), or NULL if there is no link or no
 * file. */
struct elf *debugfile_find_alt(const struct elf *elf, const struct debugfile_places *places);

/* Returns the object inside .gnu_debugdata (MiniDebugInfo: symbols compressed with xz), or NULL. */
struct elf *debugfile_open_mini(const struct elf *elf);

/* Returns true if elf has debug entries or line tables, compressed or not. */
bool debugfile_has_dwarf(const struct elf *elf);

#endif
