/* java.h - the end of an old java profile: a list of names for its addresses. */
#ifndef FORMAT_JAVA_H
#define FORMAT_JAVA_H

#include "format/legacy.h"

/* " 0xID function (file:line)" lines name the locations made so far, which then lose their addresses (they
 * mean nothing outside). */
void java_read_names(struct legacy *l, struct piece text);

#endif
