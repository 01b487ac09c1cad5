/* sized.h - structs of the public header that begin with their own size, so that they may grow. */
#ifndef AGENT_HOST_SIZED_H
#define AGENT_HOST_SIZED_H

#include <stddef.h>

#include "base/err.h"

/* Copies the caller's struct into ours, into[into_bytes]. One of an older caller is shorter: what it does not
 * know is zero. One of a newer caller is longer: that is fine as long as it asks for nothing we do not know.
 * least_bytes: of the first version there was. */
int sized_copy(void *into, size_t into_bytes, const void *from, size_t least_bytes, const char *name,
               struct err *err);

#endif
