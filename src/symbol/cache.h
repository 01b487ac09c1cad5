/* cache.h - a folder of symbol images on disk, one file per build id. Files are written atomically. When the
 * folder grows past its limit, the files that were not used for the longest time are removed. */
#ifndef SYMBOL_CACHE_H
#define SYMBOL_CACHE_H

#include "symbol/image.h"

struct symbol_cache {
    char *folder; /* NULL: there is no cache, and all functions below do nothing */
    uint64_t max_bytes;
};

/* Initialises the cache. If folder is NULL, $PROCPROF_SYMBOL_CACHE or the user's cache folder is used. If
 * folder is "", there is no cache. $PROCPROF_SYMBOL_CACHE_MAX limits its size, in bytes or with the suffix k,
 * M or G; the default is 4G. */
void symbol_cache_init(struct symbol_cache *cache, const char *folder);
void symbol_cache_free(struct symbol_cache *cache);

/* Returns the image of this build id, or NULL if the cache does not have it. A file that is damaged or from
 * another version is removed. The caller frees the result with image_free. */
struct image *symbol_cache_load(const struct symbol_cache *cache, const char *build_id);

/* Writes an image to the cache. A failure is not reported, because the next run can build the image again. */
void symbol_cache_store(const struct symbol_cache *cache, const char *build_id, const void *bytes,
                        size_t n_bytes);

/* Removes the image of this build id, if there is one. */
void symbol_cache_remove(const struct symbol_cache *cache, const char *build_id);

/* Returns false in the first call for a build id and true in later calls, also of later processes. A small
 * file in the folder notes the first call. If that file is removed as old, the next call returns false. */
bool symbol_cache_seen(const struct symbol_cache *cache, const char *build_id);

#endif
