/* sized.c - see sized.h. */
#include "agent/host/sized.h"

#include <string.h>

#define MAX_BYTES 4096 /* a larger size is uninitialised memory */

int sized_copy(void *into, size_t into_bytes, const void *from, size_t least_bytes, const char *name,
               struct err *err)
{
    size_t size;
    memcpy(&size, from, sizeof size);
    if (size < least_bytes || size > MAX_BYTES)
        return err_set(err, ERR_INPUT, "%s.size is %zu; set it to sizeof(struct %s)", name, size, name);
    for (size_t i = into_bytes; i < size; i++)
        if (((const char *)from)[i])
            return err_set(err, ERR_UNSUPPORTED,
                           "%s: byte %zu is set, but this version of the library knows only %zu bytes; leave "
                           "it zero or use a newer library",
                           name, i, into_bytes);
    memset(into, 0, into_bytes);
    memcpy(into, from, size < into_bytes ? size : into_bytes);
    memcpy(into, &into_bytes, sizeof into_bytes);
    return 0;
}
