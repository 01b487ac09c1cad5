/* cache.c - see cache.h. */
#include "symbol/cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"

#define DEFAULT_MAX_BYTES ((uint64_t)4 << 30)
#define MAX_FILE_BYTES    ((size_t)8 << 30)
#define SUFFIX            ".symbols"
#define NOTE_SUFFIX       ".seen"

static uint64_t parse_size(const char *text)
{
    char *end;
    double value = strtod(text, &end);
    int shift = (*end | 32) == 'k' ? 10 : (*end | 32) == 'm' ? 20 : (*end | 32) == 'g' ? 30 : 0;
    return end == text || value < 0 || value > 1e12 ? DEFAULT_MAX_BYTES
                                                    : (uint64_t)(value * (double)(1ull << shift));
}

void symbol_cache_init(struct symbol_cache *cache, const char *folder)
{
    *cache = (struct symbol_cache){.max_bytes = DEFAULT_MAX_BYTES};
    if (!folder) folder = getenv("PROCPROF_SYMBOL_CACHE");
    const char *max = getenv("PROCPROF_SYMBOL_CACHE_MAX");
    if (max && *max) cache->max_bytes = parse_size(max);
    if (folder) {
        if (*folder) cache->folder = mem_strdup(folder);
        return;
    }
    char *user = file_user_dir("CACHE");
    cache->folder = mem_printf("%s/symbols", user);
    mem_free(user);
}

void symbol_cache_free(struct symbol_cache *cache)
{
    mem_free(cache->folder);
    cache->folder = NULL;
}

static bool is_id(const char *id)
{
    size_t n = strspn(id, TEXT_HEX_DIGITS);
    return n >= 8 && n <= 128 && !id[n];
}

static char *path_of(const struct symbol_cache *cache, const char *id, const char *suffix)
{
    return cache->folder && is_id(id) ? mem_printf("%s/%s%s", cache->folder, id, suffix) : NULL;
}

struct image *symbol_cache_load(const struct symbol_cache *cache, const char *id)
{
    char *path = path_of(cache, id, SUFFIX);
    struct image *image = NULL;
    struct bytes bytes = {0};
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
    if (fd >= 0 && file_read_fd(fd, path, MAX_FILE_BYTES, &bytes, NULL) == 0) {
        image = image_open(&bytes, id, NULL);
        if (image)
            futimens(fd, NULL); /* marks the file as just used, so that it is removed last */
        else
            unlink(path);
    }
    if (fd >= 0) close(fd);
    mem_free(path);
    return image;
}

void symbol_cache_remove(const struct symbol_cache *cache, const char *id)
{
    char *path = path_of(cache, id, SUFFIX);
    if (path) unlink(path);
    mem_free(path);
}

/* ---- the limit ---- */

struct entry {
    char *name;
    uint64_t n_bytes;
    struct timespec used;
};

static int by_use(const void *a_, const void *b_)
{
    const struct entry *a = a_, *b = b_;
    if (a->used.tv_sec != b->used.tv_sec) return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
    return a->used.tv_nsec < b->used.tv_nsec ? -1 : a->used.tv_nsec > b->used.tv_nsec;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n > m && !strcmp(text + n - m, end);
}

/* Removes the files that were not used for the longest time, until the rest and n_more bytes fit. It leaves
 * files with other suffixes alone. */
static void make_room(const struct symbol_cache *cache, uint64_t n_more)
{
    DIR *dir = opendir(cache->folder);
    if (!dir) return;
    struct entry *list = NULL;
    size_t n = 0, cap = 0;
    uint64_t total = n_more;
    for (struct dirent *e; (e = readdir(dir));) {
        struct stat st;
        if (!ends_with(e->d_name, SUFFIX) && !ends_with(e->d_name, NOTE_SUFFIX)) continue;
        if (fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode)) continue;
        uint64_t n_bytes = (uint64_t)st.st_size + 512; /* an empty note takes disk space too */
        *VEC_PUSH(list, n, cap) = (struct entry){mem_strdup(e->d_name), n_bytes, st.st_mtim};
        total += n_bytes;
    }
    if (n) qsort(list, n, sizeof *list, by_use);
    for (size_t i = 0; i < n; i++) {
        if (total > cache->max_bytes && unlinkat(dirfd(dir), list[i].name, 0) == 0) total -= list[i].n_bytes;
        mem_free(list[i].name);
    }
    mem_free(list);
    closedir(dir);
}

void symbol_cache_store(const struct symbol_cache *cache, const char *id, const void *bytes, size_t n_bytes)
{
    char *path = path_of(cache, id, SUFFIX);
    if (path && n_bytes <= cache->max_bytes && file_make_dirs(cache->folder, 0700, NULL) == 0) {
        make_room(cache, n_bytes);
        file_write_atomic(path, bytes, n_bytes, 0600, NULL);
    }
    mem_free(path);
}

bool symbol_cache_seen(const struct symbol_cache *cache, const char *id)
{
    char *path = path_of(cache, id, NOTE_SUFFIX);
    bool seen = false;
    if (path) {
        int fd = open(path, O_WRONLY | O_CLOEXEC);
        seen = fd >= 0;
        if (!seen && file_make_dirs(cache->folder, 0700, NULL) == 0)
            fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        if (fd >= 0) {
            futimens(fd, NULL);
            close(fd);
        }
    }
    mem_free(path);
    return seen;
}
