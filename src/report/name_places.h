/* name_places.h - code without a name is called by where it is: redis-server+0x6ee50, the same after every
 * restart of the process, whereas its address is not. */
#ifndef REPORT_NAME_PLACES_H
#define REPORT_NAME_PLACES_H

#include "profile/profile.h"
#include "symbol/symbol.h"

/* The offset is that in the file: of the function's start where the object is here and its unwind table tells
 * it, else of the address itself. s may be NULL: no object is looked at. Only for what people read: a profile
 * that is written keeps its addresses, for who may have the symbols. */
void profile_name_places(struct profile *p, struct symbolizer *s);

#endif
