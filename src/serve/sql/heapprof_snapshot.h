/* heapprof_snapshot.h - profiles that scripts keep as files. A script can name no other files. */
#ifndef SERVE_SQL_HEAPPROF_SNAPSHOT_H
#define SERVE_SQL_HEAPPROF_SNAPSHOT_H

#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/file.h"

enum { SNAPSHOT_MAX_KEPT = 32 }; /* of one node and type; a new one removes the oldest */

/* Stores the bytes as DIR/TYPE_profile.NODE.YYYYmmdd-HHMMSS.N. *ret_path lives in the arena. */
int snapshot_store(const char *dir, const char *type, int32_t node_id, const struct bytes *bytes,
                   struct arena *arena, const char **ret_path, struct err *err);

/* Reads a snapshot. `name` is its path or file name. ERR_INPUT for any other file than a snapshot of that
 * node. */
int snapshot_read(const char *dir, const char *type, int32_t node_id, const char *name,
                  struct bytes *ret_bytes, struct err *err);

/* The paths, oldest first. They live in the arena. */
size_t snapshot_list(const char *dir, const char *type, int32_t node_id, struct arena *arena,
                     const char ***ret_paths);

int snapshot_remove(const char *dir, const char *type, int32_t node_id, const char *name, struct err *err);

#endif
