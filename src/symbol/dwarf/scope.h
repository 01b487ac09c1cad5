/* scope.h - the result of a lookup before it becomes frames: the innermost function or inlined call, and the
 * line.
 *
 * Scopes form chains: an inlined call points to the call that it was inlined into, and so on, up to the
 * function. Several addresses may share a scope.
 */
#ifndef SYMBOL_DWARF_SCOPE_H
#define SYMBOL_DWARF_SCOPE_H

#include <stdint.h>

struct scope {
    const struct scope *parent;          /* the scope this was inlined into; NULL: it was not inlined */
    const char *function, *linkage_name; /* NULL when unknown */
    const char *call_file;               /* where the parent calls it; NULL when unknown or no parent */
    uint32_t call_line, call_column;
    uint32_t start_line; /* where the function is declared; 0: unknown */
};

struct hit { /* all zero: nothing is known about the address */
    const struct scope *scope;
    const char *file;
    uint32_t line, column;
    uint32_t discriminator; /* which of several blocks of that line; 0: unknown */
};

#endif
