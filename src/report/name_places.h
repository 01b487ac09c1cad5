/* name_places.h - names code without a symbol by its place, for example redis-server+0x6ee50. Unlike the
 * address, this name is the same after a restart of the process. */
#ifndef REPORT_NAME_PLACES_H
#define REPORT_NAME_PLACES_H

#include "profile/profile.h"
#include "symbol/symbol.h"

/* The offset is an offset in the file. It is that of the function's start when the object is on this machine
 * and its unwind table covers the address, else that of the address itself. s may be NULL: then no object is
 * opened. Call this only for reports. A profile that is written to a file keeps its bare addresses, because
 * its reader may have the symbols. */
void profile_name_places(struct profile *p, struct symbolizer *s);

#endif
