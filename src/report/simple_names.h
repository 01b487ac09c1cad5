/* simple_names.h - demangles the function names of a profile and, as the caller chooses, removes parameters
 * and template arguments. */
#ifndef REPORT_SIMPLE_NAMES_H
#define REPORT_SIMPLE_NAMES_H

#include "profile/profile.h"

enum name_detail {
    NAME_SIMPLE,    /* ns::Class::method */
    NAME_TEMPLATES, /* ns::Class<T>::method */
    NAME_FULL,      /* ns::Class<T>::method(int) const */
    NAME_MANGLED,   /* as in the object */
};

/* Leaves names alone that already differ from the linkage name, unless force is set. */
void profile_simplify_names(struct profile *p, enum name_detail detail, bool force);

/* Does the same for one demangled name. The caller frees the result (mem_free). */
char *simple_name(const char *demangled, enum name_detail detail);

#endif
