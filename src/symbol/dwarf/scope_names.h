/* scope_names.h - a table from linkage names to readable names. Each name is demangled once. Several threads
 * may use a table at the same time.
 *
 * The table compares keys by address instead of by text. This works because linkers merge equal strings. The
 * strings of an object must live as long as the table.
 */
#ifndef SYMBOL_DWARF_SCOPE_NAMES_H
#define SYMBOL_DWARF_SCOPE_NAMES_H

struct names;

struct names *names_new(void);
void names_free(struct names *names); /* names may be NULL */

/* Returns the readable form of linkage_name, or linkage_name itself if it is not mangled. The result lives as
 * long as the table. */
const char *names_demangle(struct names *names, const char *linkage_name);

#endif
