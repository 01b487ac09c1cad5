/* sized.h - structs of the public header begin with their own size, so that later versions can add members.
 */
#ifndef AGENT_HOST_SIZED_H
#define AGENT_HOST_SIZED_H

#include <stddef.h>

#include "base/err.h"

/* Copies the caller's struct into ours, into[into_bytes]. An older caller's struct is shorter; the members it
 * lacks become zero. A newer caller's struct is longer; that is an error only when the bytes this library
 * does not know are not zero. least_bytes is the size of the first version of the struct. */
int sized_copy(void *into, size_t into_bytes, const void *from, size_t least_bytes, const char *name,
               struct err *err);

#endif
