/* symbol_rank.h - chooses among several names of one address. All readers of symbol tables use it, so that a
 * function has the same name everywhere.
 *
 * These come first, in this order: functions before labels, global names before local ones, the default
 * version before old ones (name@VERSION), fewer leading underscores, strong before weak. Of equal names the
 * last one in the table is chosen, as llvm-symbolizer and gimli's addr2line do. This matters for functions
 * with the same code that the compiler or linker merged.
 */
#ifndef BASE_SYMBOL_RANK_H
#define BASE_SYMBOL_RANK_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Returns the rank of a name; a smaller rank is better. bind and type are those of st_info. name includes its
 * version, if it has one. */
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
