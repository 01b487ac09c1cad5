/* scope_names.h - linkage name -> readable name, demangled once per name. Safe for several threads.
 *
 * Keys are compared by address, not by text: linkers merge equal strings, and an object's strings live as
 * long as the table.
 */
#ifndef SYMBOL_DWARF_SCOPE_NAMES_H
#define SYMBOL_DWARF_SCOPE_NAMES_H

struct names;

struct names *names_new(void);
void names_free(struct names *names);

/* Lives as long as the table. The name itself when it is not mangled. */
const char *names_demangle(struct names *names, const char *linkage_name);

#endif
