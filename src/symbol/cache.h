/* cache.h - symbol images on disk: one file per build id in a folder, written atomically, oldest removed
 * first when the folder grows past its limit. */
#ifndef SYMBOL_CACHE_H
#define SYMBOL_CACHE_H

#include "symbol/image.h"

struct symbol_cache {
    char *folder; /* NULL: no cache */
    uint64_t max_bytes;
};

/* folder: NULL for $PROCPROF_SYMBOL_CACHE or the user's cache folder, "" for none. $PROCPROF_SYMBOL_CACHE_MAX
 * bounds it (bytes, or with k, M, G behind; default 4G). */
void symbol_cache_init(struct symbol_cache *cache, const char *folder);
void symbol_cache_free(struct symbol_cache *cache);

/* NULL when there is none. One that is damaged, or from another version, is removed. */
struct image *symbol_cache_load(const struct symbol_cache *cache, const char *build_id);

/* A failure is not reported: the next run builds it again. */
void symbol_cache_store(const struct symbol_cache *cache, const char *build_id, const void *bytes,
                        size_t n_bytes);
void symbol_cache_remove(const struct symbol_cache *cache, const char *build_id);

/* False the first time it is asked for a build id, true from then on (until the note is removed as old). */
bool symbol_cache_seen(const struct symbol_cache *cache, const char *build_id);

#endif
