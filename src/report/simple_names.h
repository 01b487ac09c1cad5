/* simple_names.h - function names of a profile for people: demangled, and without parameters and template
 * arguments unless asked for. */
#ifndef REPORT_SIMPLE_NAMES_H
#define REPORT_SIMPLE_NAMES_H

#include "profile/profile.h"

enum name_detail {
    NAME_SIMPLE,    /* ns::Class::method */
    NAME_TEMPLATES, /* ns::Class<T>::method */
    NAME_FULL,      /* ns::Class<T>::method(int) const */
    NAME_MANGLED,   /* as in the object */
};

/* Names that differ from the linkage name already are left alone, unless force. */
void profile_simplify_names(struct profile *p, enum name_detail detail, bool force);

/* The same for one name that is demangled already; the result is the caller's (mem_free). */
char *simple_name(const char *demangled, enum name_detail detail);

#endif
