/* symbol_rank.h - which of several names of one address people look for: asked by everybody who reads a
 * symbol table, so that a function has the same name wherever it is shown.
 *
 * Functions before labels, what other objects can see before what is local, the default version before old
 * ones (name@VERSION), the shortest run of leading underscores, strong before weak. Of equals the last in the
 * table, as llvm-symbolizer and gimli's addr2line have it: that is how functions with the same code, which
 * the compiler or linker made one, are named.
 */
#ifndef BASE_SYMBOL_RANK_H
#define BASE_SYMBOL_RANK_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Smaller is better. bind and type as in st_info, the name with its version, if it has one. */
static inline uint16_t symbol_rank(unsigned bind, unsigned type, const char *name, size_t n_name)
{
    unsigned n_underscores = 0;
    while (n_underscores < n_name && name[n_underscores] == '_' && n_underscores < 15) n_underscores++;
    const char *version = (const char *)memchr(name, '@', n_name);
    bool is_old = version && version + 1 < name + n_name && version[1] != '@';
    return (uint16_t)((unsigned)(type == STT_NOTYPE) << 7 | (unsigned)(bind == STB_LOCAL) << 6 |
                      (unsigned)is_old << 5 | n_underscores << 1 | (unsigned)(bind == STB_WEAK));
}

#endif
