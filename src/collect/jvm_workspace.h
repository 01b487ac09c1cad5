/* jvm_workspace.h - a temporary folder in the JVM's file system, to which the JVM writes its recording.
 *
 * The JVM writes as its own user, so the folder is created in its /tmp as that user. Its descriptor stays
 * open, so that the recording can be read even after the JVM has died. Its owner, a procprof, holds a lock on
 * a file in it. A folder without a held lock was left behind by a killed procprof, and jvm_workspace_sweep
 * removes it.
 */
#ifndef COLLECT_JVM_WORKSPACE_H
#define COLLECT_JVM_WORKSPACE_H

#include "base/file.h"
#include "collect/jvm_proc.h"

struct jvm_workspace {
    const struct jvm_proc *proc;
    int fd, lock_fd;    /* the folder and its lock */
    char jvm_path[96];  /* the folder's path as the JVM sees it: /tmp/.procprof-... */
    char own_path[640]; /* the same as this process sees it */
};

int jvm_workspace_open(const struct jvm_proc *proc, struct jvm_workspace *ret, struct err *err);
/* Removes the folder and everything in it. */
void jvm_workspace_close(struct jvm_workspace *ws);
/* Releases the folder but keeps it, while the JVM still writes there; jvm_workspace_sweep removes it later.
 */
void jvm_workspace_leave(struct jvm_workspace *ws);

/* Reads a copy of a file, because the JVM may change the file at any time. ERR_NOT_FOUND when it does not
 * exist or is empty. */
int jvm_workspace_read(const struct jvm_workspace *ws, const char *name, size_t max_bytes,
                       struct bytes *ret_bytes, struct err *err);
int jvm_workspace_write(const struct jvm_workspace *ws, const char *name, const void *data, size_t len,
                        struct err *err);
void jvm_workspace_remove(const struct jvm_workspace *ws, const char *name);

/* Whether this is the path (as the JVM sees it) of a file in a workspace whose owner has ended. */
bool jvm_workspace_is_abandoned(const struct jvm_proc *proc, const char *path);
/* Whether it is a path in any workspace. */
bool jvm_workspace_is_ours(const char *path);

/* Whether this JVM has a workspace whose owner has ended and that contains a file of this name. */
bool jvm_workspace_any_abandoned(const struct jvm_proc *proc, const char *with_file);

/* Removes the workspaces whose owners have ended. */
void jvm_workspace_sweep(const struct jvm_proc *proc);

#endif
