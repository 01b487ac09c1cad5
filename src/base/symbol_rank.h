/* symbol_rank.h - which of several names of one address people look for: asked by everybody who reads a
 * symbol table, so that a function has the same name wherever it is shown.
 *
 * Functions before labels, global before weak before local, then the shortest run of leading underscores. Of
 * equals the first in the table.
 */
#ifndef BASE_SYMBOL_RANK_H
#define BASE_SYMBOL_RANK_H

#include <elf.h>
#include <stdint.h>

/* Smaller is better. bind and type as in st_info. */
static inline uint16_t symbol_rank(unsigned bind, unsigned type, const char *name)
{
    unsigned n_underscores = 0;
    while (name[n_underscores] == '_' && n_underscores < 15) n_underscores++;
    unsigned by_bind = bind == STB_GLOBAL || bind == STB_GNU_UNIQUE ? 0 : bind == STB_WEAK ? 1 : 2;
    return (uint16_t)((type == STT_NOTYPE ? 1u << 8 : 0) | by_bind << 4 | n_underscores);
}

#endif
