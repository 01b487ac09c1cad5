/* demangle.h - linkage names in readable form, spelled as binutils spells them (addr2line -C), because users
 * compare with its output.
 *
 * Each function appends to out and returns true, or leaves out as it was and returns false when the name is
 * not of its kind or is damaged. Work and output are bounded whatever the name says.
 */
#ifndef SYMBOL_DEMANGLE_DEMANGLE_H
#define SYMBOL_DEMANGLE_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

#define DEMANGLE_MAX_INPUT  (64u << 10)
#define DEMANGLE_MAX_OUTPUT (1u << 20)

bool demangle(const char *name, size_t n, struct buf *out);             /* any of the below */
bool demangle_cxx(const char *name, size_t n, struct buf *out);         /* _Z...: Itanium C++ ABI */
bool demangle_rust_legacy(const char *name, size_t n, struct buf *out); /* _ZN...17h<hash>E */
bool demangle_rust_v0(const char *name, size_t n, struct buf *out);     /* _R... */

/* Itanium C++ and Rust names in readable form. Any other name is returned unchanged. The caller frees the
 * result with mem_free. */
char *symbol_demangle(const char *linkage_name);

#endif
