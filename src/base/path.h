/* path.h - parts of a file's path. */
#ifndef BASE_PATH_H
#define BASE_PATH_H

#include <string.h>

#include "base/mem.h"

/* What stands behind the last '/', or the whole path when it has no '/' or ends in one. */
static inline const char *path_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* What stands before the last '/', or "." when there is none; mem_free it. */
static inline char *path_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? mem_strndup(path, (size_t)(slash - path)) : mem_strdup(".");
}

#endif
