/* jvm_workspace.h - a folder in the JVM's world that it may write to, and that is gone when we are.
 *
 * The JVM writes its recording itself, as its own user, in its own file system. The folder is made in its
 * /tmp as that user; its descriptor is kept, so that what was written can be read even after the JVM has
 * died. A lock in it tells the living from what a killed procprof left behind: jvm_workspace_sweep removes
 * the latter.
 */
#ifndef COLLECT_JVM_WORKSPACE_H
#define COLLECT_JVM_WORKSPACE_H

#include "base/file.h"
#include "collect/jvm_proc.h"

struct jvm_workspace {
    const struct jvm_proc *proc;
    int fd, lock_fd;   /* the folder and its lock */
    char seen[96];     /* the folder's path as the JVM sees it: /tmp/.procprof-... */
    char outside[640]; /* as we see it */
};

int jvm_workspace_open(const struct jvm_proc *proc, struct jvm_workspace *ret, struct err *err);
void jvm_workspace_close(struct jvm_workspace *ws); /* with all that is in it */
/* Lets go of it while the JVM still writes there: jvm_workspace_sweep removes it later. */
void jvm_workspace_leave(struct jvm_workspace *ws);

/* A copy: the JVM may do with its file what it likes. ERR_NOT_FOUND when there is no such file, or it is
 * empty. */
int jvm_workspace_read(const struct jvm_workspace *ws, const char *name, size_t max_bytes,
                       struct bytes *ret_bytes, struct err *err);
int jvm_workspace_write(const struct jvm_workspace *ws, const char *name, const void *data, size_t len,
                        struct err *err);
void jvm_workspace_remove(const struct jvm_workspace *ws, const char *name);

/* Is this the path (as the JVM sees it) of a file in a workspace whose owner is gone? */
bool jvm_workspace_is_abandoned(const struct jvm_proc *proc, const char *path);
/* Is it a path in any workspace? */
bool jvm_workspace_is_ours(const char *path);

/* Is there one of this JVM whose owner is gone, with a file of that name in it? */
bool jvm_workspace_any_abandoned(const struct jvm_proc *proc, const char *with_file);

/* Removes the folders of owners that are gone. */
void jvm_workspace_sweep(const struct jvm_proc *proc);

#endif
