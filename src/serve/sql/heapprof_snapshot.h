/* heapprof_snapshot.h - profiles that scripts keep: named, listed, limited in number, and the only files a
 * script can name. */
#ifndef SERVE_SQL_HEAPPROF_SNAPSHOT_H
#define SERVE_SQL_HEAPPROF_SNAPSHOT_H

#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/file.h"

enum { SNAPSHOT_MAX_KEPT = 32 }; /* of one node and type; the oldest goes first */

/* Stores the bytes as DIR/TYPE_profile.NODE.YYYYmmdd-HHMMSS.N and gives the path, in the arena. */
int snapshot_store(const char *dir, const char *type, int32_t node_id, const struct bytes *bytes,
                   struct arena *arena, const char **ret_path, struct err *err);

/* Reads one back. name: the path or its last part; ERR_INPUT for anything that is not a snapshot of that
 * node. */
int snapshot_read(const char *dir, const char *type, int32_t node_id, const char *name,
                  struct bytes *ret_bytes, struct err *err);

/* Paths, oldest first, in the arena. */
size_t snapshot_list(const char *dir, const char *type, int32_t node_id, struct arena *arena,
                     const char ***ret_paths);

int snapshot_remove(const char *dir, const char *type, int32_t node_id, const char *name, struct err *err);

#endif
