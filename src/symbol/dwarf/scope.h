/* scope.h - what a lookup finds, before it is turned into frames: the innermost function or inlined call, and
 * the line.
 *
 * Scopes form chains (inlined call -> the one it was inlined into -> ... -> function); addresses share them.
 */
#ifndef SYMBOL_DWARF_SCOPE_H
#define SYMBOL_DWARF_SCOPE_H

#include <stdint.h>

struct scope {
    const struct scope *parent;          /* the function this was inlined into; NULL: a function of its own */
    const char *function, *linkage_name; /* NULL when unknown */
    const char *call_file;               /* where the parent calls it; NULL when unknown or no parent */
    uint32_t call_line, call_column;
    uint32_t start_line;
};

struct hit { /* all zero: nothing known */
    const struct scope *scope;
    const char *file;
    uint32_t line, column;
    uint32_t discriminator; /* which of several blocks of that line; 0: not told */
};

#endif
