/* jvm_workspace.c - see jvm_workspace.h. */
#include "collect/jvm_workspace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/jvm_identity.h"

#define PREFIX ".procprof-jvm-"
#define LOCK   "lock"

/* Opens the folder without following links. It must belong to the JVM's user or to ours. */
static int open_folder(const struct jvm_proc *proc, const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    if (fd >= 0 && (fstat(fd, &st) < 0 || (st.st_uid != proc->euid && st.st_uid != geteuid()))) {
        close(fd);
        errno = EPERM;
        return -1;
    }
    return fd;
}

int jvm_workspace_open(const struct jvm_proc *proc, struct jvm_workspace *ret, struct err *err)
{
    static atomic_uint serial;
    struct jvm_workspace ws = {.proc = proc, .fd = -1, .lock_fd = -1};
    snprintf(ws.jvm_path, sizeof ws.jvm_path, "/tmp/" PREFIX "%d-%d-%llx%x", (int)proc->ns_pid, (int)getpid(),
             (unsigned long long)(clock_wall_ns() & 0xffffffffffff), atomic_fetch_add(&serial, 1) & 0xff);
    /* A path through /proc/PID/root is gone when the JVM ends; the plain path is not. */
    snprintf(ws.own_path, sizeof ws.own_path, "%s%s",
             proc->same_root ? "" : jvm_proc_path(proc, "%s", "").text, ws.jvm_path);
    struct jvm_identity old = jvm_identity_assume(proc);
    int rc = mkdir(ws.own_path, 0700), why = errno;
    jvm_identity_restore(old);
    if (rc < 0)
        return err_errno(err, why, "cannot make a folder for the recording in the /tmp of JVM %d",
                         (int)proc->pid);
    ws.fd = open_folder(proc, ws.own_path);
    old = jvm_identity_assume(proc);
    /* Another procprof may run jvm_workspace_sweep at any moment. It would take a lock file that exists and
     * is not locked yet for one of a dead process and delete the folder. So the file gets its name when it is
     * locked. */
    if (ws.fd >= 0)
        ws.lock_fd = openat(ws.fd, LOCK ".new", O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool is_locked = ws.lock_fd >= 0 && flock(ws.lock_fd, LOCK_EX | LOCK_NB) == 0 &&
                     renameat(ws.fd, LOCK ".new", ws.fd, LOCK) == 0;
    why = errno;
    jvm_identity_restore(old);
    if (!is_locked) {
        jvm_workspace_close(&ws);
        return err_errno(err, why, "cannot use the folder %s", ws.own_path);
    }
    *ret = ws;
    return 0;
}

static void empty_folder(int fd)
{
    int again = dup(fd);
    DIR *dir = again < 0 ? NULL : fdopendir(again);
    if (!dir) {
        if (again >= 0) close(again);
        return;
    }
    rewinddir(dir);
    for (struct dirent *e; (e = readdir(dir));)
        if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..")) unlinkat(fd, e->d_name, 0);
    closedir(dir);
}

void jvm_workspace_close(struct jvm_workspace *ws)
{
    if (ws->fd >= 0) {
        empty_folder(ws->fd);
        /* The path behind the descriptor works even when the JVM, and with it /proc/PID/root, is gone. */
        char path[64], real[256];
        snprintf(path, sizeof path, "/proc/self/fd/%d", ws->fd);
        ssize_t n = readlink(path, real, sizeof real - 1);
        if (rmdir(ws->own_path) < 0 && n > 0) {
            real[n] = 0;
            if (strstr(real, "/" PREFIX)) rmdir(real);
        }
    }
    jvm_workspace_leave(ws);
}

void jvm_workspace_leave(struct jvm_workspace *ws)
{
    if (ws->fd >= 0) close(ws->fd);
    if (ws->lock_fd >= 0) close(ws->lock_fd);
    ws->fd = ws->lock_fd = -1;
}

int jvm_workspace_read(const struct jvm_workspace *ws, const char *name, size_t max_bytes,
                       struct bytes *ret_bytes, struct err *err)
{
    int fd = openat(ws->fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || !st.st_size) {
        if (fd >= 0) close(fd);
        return err_set(err, ERR_NOT_FOUND, "the JVM %d wrote nothing to %s/%s", (int)ws->proc->pid,
                       ws->jvm_path, name);
    }
    int rc = file_read_foreign_fd(fd, name, max_bytes, ret_bytes, err);
    close(fd);
    return rc;
}

int jvm_workspace_write(const struct jvm_workspace *ws, const char *name, const void *data, size_t len,
                        struct err *err)
{
    struct jvm_identity old = jvm_identity_assume(ws->proc);
    int fd = openat(ws->fd, name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0755), why = errno;
    jvm_identity_restore(old);
    if (fd < 0) return err_errno(err, why, "cannot write %s/%s", ws->own_path, name);
    for (size_t done = 0; done < len;) {
        ssize_t n = write(fd, (const char *)data + done, len - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            why = errno;
            close(fd);
            unlinkat(ws->fd, name, 0);
            return err_errno(err, why, "cannot write %s/%s", ws->own_path, name);
        }
        done += (size_t)n;
    }
    close(fd);
    return 0;
}

void jvm_workspace_remove(const struct jvm_workspace *ws, const char *name)
{
    unlinkat(ws->fd, name, 0);
}

/* ---- abandoned workspaces ---- */

bool jvm_workspace_is_ours(const char *path)
{
    return !strncmp(path, "/tmp/" PREFIX, strlen("/tmp/" PREFIX));
}

/* The folder's descriptor when no procprof holds its lock, else -1. */
static int open_abandoned(const struct jvm_proc *proc, const char *name)
{
    int fd = open_folder(proc, jvm_proc_path(proc, "/tmp/%s", name).text);
    if (fd < 0) return -1;
    int lock = openat(fd, LOCK, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    bool is_held = lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) < 0;
    struct stat st;
    /* Another procprof may be between mkdir and its lock at this moment. So a folder without a lock file
     * counts as abandoned only after a minute. */
    bool is_fresh = lock < 0 && fstat(fd, &st) == 0 && clock_wall_ns() / 1000000000 - st.st_mtim.tv_sec < 60;
    if (lock >= 0) close(lock);
    if (!is_held && !is_fresh) return fd;
    close(fd);
    return -1;
}

bool jvm_workspace_is_abandoned(const struct jvm_proc *proc, const char *path)
{
    char name[96];
    if (!jvm_workspace_is_ours(path)) return false;
    snprintf(name, sizeof name, "%s", path + strlen("/tmp/"));
    name[strcspn(name, "/")] = 0;
    int fd = open_abandoned(proc, name);
    if (fd < 0) return access(jvm_proc_path(proc, "/tmp/%s", name).text, F_OK) < 0;
    close(fd);
    return true;
}

/* Calls visit for every abandoned folder of this JVM and of JVMs that have ended; another running JVM may
 * still write to its folder. Stops and returns true when visit returns true. */
static bool each_abandoned(const struct jvm_proc *proc,
                           bool (*visit)(const struct jvm_proc *proc, const char *name, int fd,
                                         const void *context),
                           const void *context)
{
    DIR *dir = opendir(jvm_proc_path(proc, "/tmp").text);
    bool found = false;
    for (struct dirent *e; dir && !found && (e = readdir(dir));) {
        if (strncmp(e->d_name, PREFIX, strlen(PREFIX))) continue;
        int of_pid = atoi(e->d_name + strlen(PREFIX));
        if (of_pid != proc->ns_pid && access(jvm_proc_path(proc, "/proc/%d", of_pid).text, F_OK) == 0)
            continue;
        int fd = open_abandoned(proc, e->d_name);
        if (fd < 0) continue;
        found = visit(proc, e->d_name, fd, context);
        close(fd);
    }
    if (dir) closedir(dir);
    return found;
}

static bool has_file(const struct jvm_proc *proc, const char *name, int fd, const void *file)
{
    return atoi(name + strlen(PREFIX)) == proc->ns_pid && faccessat(fd, file, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

bool jvm_workspace_any_abandoned(const struct jvm_proc *proc, const char *with_file)
{
    return each_abandoned(proc, has_file, with_file);
}

static bool remove_folder(const struct jvm_proc *proc, const char *name, int fd, const void *context)
{
    (void)context;
    empty_folder(fd);
    rmdir(jvm_proc_path(proc, "/tmp/%s", name).text);
    return false;
}

void jvm_workspace_sweep(const struct jvm_proc *proc)
{
    each_abandoned(proc, remove_folder, NULL);
}
