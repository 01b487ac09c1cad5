/* heapprof_snapshot.c - see heapprof_snapshot.h. */
#include "serve/sql/heapprof_snapshot.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

enum { MAX_PREFIX = 64, MAX_SNAPSHOT_BYTES = 1 << 30 };

static void make_prefix(char prefix[MAX_PREFIX], const char *type, int32_t node_id)
{
    snprintf(prefix, MAX_PREFIX, "%s_profile.%d.", type, (int)node_id);
}

/* PREFIX YYYYmmdd-HHMMSS . NNN, and nothing else. */
static bool is_snapshot(const char *name, const char *prefix)
{
    size_t n = strlen(prefix);
    if (strncmp(name, prefix, n)) return false;
    const char *rest = name + n;
    if (strspn(rest, "0123456789") != 8 || rest[8] != '-') return false;
    if (strspn(rest + 9, "0123456789") != 6 || rest[15] != '.') return false;
    size_t digits = strspn(rest + 16, "0123456789");
    return digits > 0 && digits < 10 && !rest[16 + digits];
}

size_t snapshot_list(const char *dir, const char *type, int32_t node_id, struct arena *arena,
                     const char ***ret_paths)
{
    char prefix[MAX_PREFIX];
    struct dirent **entries = NULL;
    make_prefix(prefix, type, node_id);
    int n = scandir(dir, &entries, NULL, alphasort);
    size_t n_paths = 0;
    *ret_paths = arena_array(arena, n > 0 ? (size_t)n : 1, sizeof **ret_paths);
    for (int i = 0; i < n; i++) {
        if (is_snapshot(entries[i]->d_name, prefix))
            (*ret_paths)[n_paths++] = arena_printf(arena, "%s/%s", dir, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return n_paths;
}

int snapshot_store(const char *dir, const char *type, int32_t node_id, const struct bytes *bytes,
                   struct arena *arena, const char **ret_path, struct err *err)
{
    char prefix[MAX_PREFIX], stamp[32];
    const char **paths, *path = NULL;
    time_t now = (time_t)(clock_wall_ns() / 1000000000);
    struct tm tm;
    int rc = file_make_dirs(dir, 0700, err);
    if (rc) return rc;
    make_prefix(prefix, type, node_id);
    localtime_r(&now, &tm);
    strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &tm);
    for (unsigned i = 0; i < 1000; i++) { /* there may be several within a second */
        path = arena_printf(arena, "%s/%s%s.%03u", dir, prefix, stamp, i);
        if (access(path, F_OK)) break;
    }
    if ((rc = file_write_atomic(path, bytes->data, bytes->len, 0600, err))) return rc;
    size_t n = snapshot_list(dir, type, node_id, arena, &paths);
    for (size_t i = 0; i + SNAPSHOT_MAX_KEPT < n; i++) unlink(paths[i]);
    *ret_path = path;
    return 0;
}

/* The full path of a snapshot, given by its path or by its file name. */
static int resolve(const char *dir, const char *type, int32_t node_id, const char *name, char *path,
                   size_t n_path, struct err *err)
{
    char prefix[MAX_PREFIX];
    size_t n_dir = strlen(dir);
    make_prefix(prefix, type, node_id);
    if (!strncmp(name, dir, n_dir) && name[n_dir] == '/') name += n_dir + 1;
    if (!is_snapshot(name, prefix))
        return err_set(err, ERR_INPUT, "'%.120s' is not a snapshot of this node; snapshots() lists them.",
                       name);
    snprintf(path, n_path, "%s/%s", dir, name);
    return 0;
}

int snapshot_read(const char *dir, const char *type, int32_t node_id, const char *name,
                  struct bytes *ret_bytes, struct err *err)
{
    char path[4096];
    int rc = resolve(dir, type, node_id, name, path, sizeof path, err);
    if (!rc) rc = file_read(path, MAX_SNAPSHOT_BYTES, ret_bytes, err);
    return rc;
}

int snapshot_remove(const char *dir, const char *type, int32_t node_id, const char *name, struct err *err)
{
    char path[4096];
    int rc = resolve(dir, type, node_id, name, path, sizeof path, err);
    if (!rc && unlink(path)) rc = err_errno(err, errno, "%s: cannot remove", path);
    return rc;
}
