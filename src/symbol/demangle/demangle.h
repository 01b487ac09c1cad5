/* demangle.h - turns linkage names into readable names. They are spelled as binutils spells them (addr2line
 * -C), because users compare them with its output.
 *
 * Each function with an out argument appends the readable name to out and returns true. If the name is not of
 * its kind or is damaged, it leaves out unchanged and returns false. Work and output are bounded for every
 * name.
 */
#ifndef SYMBOL_DEMANGLE_DEMANGLE_H
#define SYMBOL_DEMANGLE_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

#define DEMANGLE_MAX_INPUT  (64u << 10)
#define DEMANGLE_MAX_OUTPUT (1u << 20)

bool demangle(const char *name, size_t n, struct buf *out);             /* any of the kinds below */
bool demangle_cxx(const char *name, size_t n, struct buf *out);         /* _Z...: Itanium C++ ABI */
bool demangle_rust_legacy(const char *name, size_t n, struct buf *out); /* _ZN...17h<hash>E */
bool demangle_rust_v0(const char *name, size_t n, struct buf *out);     /* _R... */

/* Returns the readable form of a C++ (Itanium ABI) or Rust name, and a copy of any other name. The caller
 * frees the result with mem_free. */
char *symbol_demangle(const char *linkage_name);

#endif
