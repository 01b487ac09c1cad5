/* java.h - reads the list of names at the end of an old Java profile. */
#ifndef FORMAT_JAVA_H
#define FORMAT_JAVA_H

#include "format/legacy.h"

/* Names the locations made so far from lines of the form " 0xID function (file:line)". These locations lose
 * their addresses, because the numbers have no meaning outside the file. */
void java_read_names(struct legacy *l, struct piece text);

#endif
