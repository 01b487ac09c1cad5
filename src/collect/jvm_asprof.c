/* jvm_asprof.c - see jvm_asprof.h. */
#include "collect/jvm_asprof.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/strtab.h"
#include "collect/jvm_identity.h"

#define VERSION "4.5"

/* ---- where the library is ---- */

static bool resolve(const char *path, char ret_path[512])
{
    char full[PATH_MAX];
    if (access(path, R_OK) < 0 || !realpath(path, full) || strlen(full) >= 512) return false;
    strcpy(ret_path, full);
    return true;
}

int jvm_asprof_find(const char *given, char ret_path[512], struct err *err)
{
    const char *named = given && *given ? given : getenv("PROCPROF_ASYNC_PROFILER");
    if (named && *named) {
        if (!resolve(named, ret_path)) return err_errno(err, errno, "cannot use %s as async-profiler", named);
        if (strchr(ret_path, ','))
            return err_set(err, ERR_INPUT, "%s: async-profiler cannot be loaded from a path with a comma",
                           named);
        return 0;
    }
    char *cache = file_user_dir("CACHE");
    char in_cache[512];
    snprintf(in_cache, sizeof in_cache, "%s/async-profiler-" VERSION "/libasyncProfiler.so",
             cache ? cache : "");
    mem_free(cache);
    const char *const places[] = {
        in_cache,
        "/usr/local/lib/procprof/libasyncProfiler.so",
        "/usr/lib/procprof/libasyncProfiler.so",
        "/opt/async-profiler/lib/libasyncProfiler.so",
#ifdef __x86_64__
        "/usr/lib/x86_64-linux-gnu/jni/libasyncProfiler.so",
#else
        "/usr/lib/aarch64-linux-gnu/jni/libasyncProfiler.so",
#endif
    };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (resolve(places[i], ret_path)) return 0;
    return err_set(
        err, ERR_UNSUPPORTED,
        "async-profiler is not installed; run tools/setup run, or give the path of libasyncProfiler.so with "
        "--async-profiler");
}

/* ---- a path that the JVM can load ---- */

static bool jvm_can_read(const struct jvm_proc *proc, const char *path)
{
    struct jvm_identity old = jvm_identity_assume(proc);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    jvm_identity_restore(old);
    if (fd >= 0) close(fd);
    return fd >= 0;
}

#define COPY_PREFIX ".procprof-asprof-"
#define TEMPORARY   "library" /* in the workspace, while it is written */
#define DELETED     " (deleted)"

enum { MAX_LIBRARY_BYTES = 64 << 20 };

/* Opens the JVM's /tmp; works after the JVM has ended, too. */
static int open_tmp(const struct jvm_asprof *as)
{
    return openat(as->ws->fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Takes the shared lock of a copy. A session that is removing the copy holds the exclusive lock, but only for
 * a moment, so this waits 200 ms at most. */
static void share_lock(int fd)
{
    for (int i = 0; i < 20 && flock(fd, LOCK_SH | LOCK_NB) < 0; i++) clock_sleep_ns(10000000);
}

static bool is_file_of(const struct jvm_proc *proc, const struct stat *st)
{
    return S_ISREG(st->st_mode) && (st->st_uid == proc->euid || st->st_uid == 0);
}

/* Uses the existing copy and returns 1. Returns 0 when there is none or it was not usable and was removed.
 * ERR_UNSUPPORTED when a file of another user has its name. */
static int take_copy(struct jvm_asprof *as, int tmp, const struct bytes *library, struct err *err)
{
    int fd = openat(tmp, as->copy, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK), why = errno;
    if (fd < 0 && why == ENOENT) return 0;
    struct stat st;
    bool is_ours = fd >= 0 && fstat(fd, &st) == 0 && is_file_of(as->proc, &st) && !(st.st_mode & 022);
    if (!is_ours) {
        if (fd >= 0) close(fd);
        return err_set(err, ERR_UNSUPPORTED, "/tmp/%s of JVM %d belongs to another user; remove it", as->copy,
                       (int)as->proc->pid);
    }
    share_lock(fd);
    struct bytes there = {0};
    bool is_there = fstat(fd, &st) == 0 &&
                    st.st_nlink > 0; /* another session may have removed it before we had the lock */
    bool is_good = is_there && file_read_foreign_fd(fd, as->copy, MAX_LIBRARY_BYTES, &there, NULL) == 0 &&
                   there.len == library->len && !memcmp(there.data, library->data, library->len) &&
                   st.st_mode & (st.st_uid == as->proc->euid ? 0400 : 0004);
    bytes_free(&there);
    if (is_good) {
        as->copy_fd = fd;
        return 1;
    }
    if (is_there) unlinkat(tmp, as->copy, 0); /* incomplete, or unreadable for the JVM's user */
    close(fd);
    return 0;
}

/* Creates the copy by a link to a complete file, so that no session sees half of it. If another session was
 * faster, its copy is there and this succeeds too. */
static int make_copy(const struct jvm_asprof *as, int tmp, const struct bytes *library, struct err *err)
{
    int rc = jvm_workspace_write(as->ws, TEMPORARY, library->data, library->len, err);
    if (rc < 0) return rc;
    struct jvm_identity old = jvm_identity_assume(as->proc);
    int failed = linkat(as->ws->fd, TEMPORARY, tmp, as->copy, 0), why = errno;
    jvm_identity_restore(old);
    jvm_workspace_remove(as->ws, TEMPORARY);
    if (failed && why != EEXIST)
        return err_errno(err, why, "cannot put a copy of the library where JVM %d sees it: /tmp/%s",
                         (int)as->proc->pid, as->copy);
    return 0;
}

/* Copies the library into the /tmp of a JVM in a container or of another user. The name depends only on the
 * library's content, so the JVM recognises the library the next time, even though the file was removed in
 * between. */
static int place_copy(struct jvm_asprof *as, const char *path, struct err *err)
{
    struct bytes library;
    int rc = file_read(path, MAX_LIBRARY_BYTES, &library, err);
    if (rc < 0) return rc;
    snprintf(as->copy, sizeof as->copy, COPY_PREFIX "%08x.so", hash_bytes(library.data, library.len));
    snprintf(as->library, sizeof as->library, "/tmp/%s", as->copy);
    int tmp = open_tmp(as), taken = 0;
    if (tmp < 0) rc = err_errno(err, errno, "cannot open the /tmp of JVM %d", (int)as->proc->pid);
    for (int tries = 0; rc == 0 && !taken && tries < 10; tries++) {
        taken = take_copy(as, tmp, &library, err);
        rc = taken < 0 ? taken : taken ? 0 : make_copy(as, tmp, &library, err);
    }
    if (rc == 0 && !taken)
        rc = err_set(err, ERR_UNSUPPORTED, "%s of JVM %d can be neither used nor replaced; remove it",
                     as->library, (int)as->proc->pid);
    if (tmp >= 0) close(tmp);
    bytes_free(&library);
    if (rc < 0) *as->copy = 0;
    return rc;
}

/* ---- libraries that the JVM has loaded already ---- */

struct mapped {
    const char *own; /* the path of our own file; NULL: the JVM cannot see it */
    bool has_own, has_musl;
    char copy[300]; /* a copy that procprof made, of this library or an older one; "": none */
    uint64_t copy_inode;
    bool is_copy_deleted;
    char foreign[300]; /* an async-profiler of another tool; "": none */
};

static bool visit_library(void *context, const char *path, uint64_t inode)
{
    struct mapped *m = context;
    const char *name = path_base_name(path);
    size_t n = strlen(path);
    bool is_deleted = n > strlen(DELETED) && !strcmp(path + n - strlen(DELETED), DELETED);
    if (is_deleted) n -= strlen(DELETED);
    if (!strncmp(name, "ld-musl-", 8)) m->has_musl = true;
    if (!strncmp(name, COPY_PREFIX, strlen(COPY_PREFIX)) && n < sizeof m->copy) {
        snprintf(m->copy, sizeof m->copy, "%.*s", (int)n, path);
        m->copy_inode = inode;
        m->is_copy_deleted = is_deleted;
    } else if (strstr(name, "libasyncProfiler")) {
        if (m->own && strlen(m->own) == n && !strncmp(path, m->own, n))
            m->has_own = true;
        else
            snprintf(m->foreign, sizeof m->foreign, "%s", path);
    }
    return false;
}

bool jvm_asprof_is_loaded(const struct jvm_proc *proc)
{
    struct mapped mapped = {.own = NULL};
    jvm_proc_each_map(proc->pid, visit_library, &mapped);
    return *mapped.copy || *mapped.foreign;
}

/* Whether the JVM, when it loads this copy again, reuses the loaded one. glibc compares the name. musl
 * compares the file, which must still be the same one and must belong to the JVM's user or root. */
static bool would_reuse_copy(const struct jvm_proc *proc, const struct mapped *m)
{
    if (!m->has_musl) return true;
    struct stat st;
    return !m->is_copy_deleted && lstat(jvm_proc_path(proc, "%s", m->copy).text, &st) == 0 &&
           is_file_of(proc, &st) && st.st_ino == m->copy_inode;
}

/* Uses the copy that the JVM has loaded. If a killed procprof left the file behind, this session takes it
 * over and removes it at the end. */
static void use_loaded_copy(struct jvm_asprof *as, const char *path)
{
    snprintf(as->library, sizeof as->library, "%s", path);
    const char *name = path + strlen("/tmp/");
    if (strncmp(path, "/tmp/", strlen("/tmp/")) || strchr(name, '/') || strlen(name) >= sizeof as->copy)
        return;
    int tmp = open_tmp(as);
    int fd = tmp < 0 ? -1 : openat(tmp, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    if (fd >= 0 && fstat(fd, &st) == 0 && is_file_of(as->proc, &st)) {
        share_lock(fd);
        snprintf(as->copy, sizeof as->copy, "%s", name);
        as->copy_fd = fd;
    } else if (fd >= 0) {
        close(fd);
    }
    if (tmp >= 0) close(tmp);
}

int jvm_asprof_open(struct jvm_asprof *as, const struct jvm_proc *proc, const struct jvm_workspace *ws,
                    const char *library, struct err *err)
{
    char path[512];
    int rc = jvm_asprof_find(library, path, err);
    if (rc < 0) return rc;
    *as = (struct jvm_asprof){.proc = proc, .ws = ws};
    struct mapped mapped = {.own = proc->same_root ? path : NULL};
    jvm_proc_each_map(proc->pid, visit_library, &mapped);
    if (*mapped.foreign)
        return err_set(err, ERR_UNSUPPORTED,
                       "the JVM %d has another async-profiler loaded (%.150s), which procprof does not touch",
                       (int)proc->pid, mapped.foreign);
    as->keeps_copy = mapped.has_musl;
    if (*mapped.copy && would_reuse_copy(proc, &mapped))
        use_loaded_copy(as, mapped.copy);
    else if (proc->same_root && (mapped.has_own || jvm_can_read(proc, path)))
        snprintf(as->library, sizeof as->library, "%s", path);
    else
        rc = place_copy(as, path, err);
    return rc;
}

void jvm_asprof_close(struct jvm_asprof *as)
{
    if (!*as->copy) return;
    int tmp = open_tmp(as);
    if (!as->keeps_copy && tmp >= 0 && flock(as->copy_fd, LOCK_EX | LOCK_NB) == 0) unlinkat(tmp, as->copy, 0);
    if (tmp >= 0) close(tmp);
    close(as->copy_fd);
    *as->copy = 0;
}

/* ---- commands ---- */

/* Reads and removes a file that the library wrote, as one line; "" when there is none. */
static void read_answer(struct jvm_asprof *as, const char *name, char *into, size_t size)
{
    struct bytes bytes;
    *into = 0;
    if (jvm_workspace_read(as->ws, name, 1 << 20, &bytes, NULL) == 0) {
        size_t n = bytes.len < size ? bytes.len : size - 1;
        memcpy(into, bytes.data, n);
        while (n && (into[n - 1] == '\n' || into[n - 1] == ' ')) n--;
        into[n] = 0;
        for (char *c = into; *c; c++)
            if (*c == '\n') *c = ' ';
        bytes_free(&bytes);
    }
    jvm_workspace_remove(as->ws, name);
}

/* The library keeps its log file open until it gets another one, so commands name stderr. */
#define NO_LOG ",loglevel=none,log=stderr"

/* Sends a command to the library. *ret_result is its return value; 0 means success. */
static int command(struct jvm_asprof *as, const char *text, int *ret_result, struct err *err)
{
    char line[JVM_MAX_ARGUMENT_BYTES + 1];
    int n = snprintf(line, sizeof line, "%s", text);
    if (n < 0 || (size_t)n >= sizeof line)
        return err_set(err, ERR_LIMIT,
                       "the options for async-profiler are longer than %d bytes; use fewer events",
                       JVM_MAX_ARGUMENT_BYTES);
    return jvm_load_agent(as->proc, as->library, line, &as->attach, ret_result, err);
}

static int is_running(struct jvm_asprof *as, bool *ret_running, struct err *err)
{
    char text[200], answer[400];
    int result = 0;
    snprintf(text, sizeof text, "status" NO_LOG ",file=%s/status", as->ws->jvm_path);
    int rc = command(as, text, &result, err);
    if (rc < 0) return rc;
    read_answer(as, "status", answer, sizeof answer);
    if (result != 0 || !*answer)
        return err_set(err, ERR_UNSUPPORTED, "async-profiler in JVM %d did not report its status (code %d)",
                       (int)as->proc->pid, result);
    *ret_running = strstr(answer, "not active") == NULL;
    return 0;
}

/* Whether the JVM has a file open whose path begins with `wanted`; with NULL, a file in a workspace whose
 * owner has ended. */
static bool writes_to(const struct jvm_proc *proc, const char *wanted)
{
    char path[64], target[600];
    snprintf(path, sizeof path, "/proc/%d/fd", (int)proc->pid);
    DIR *dir = opendir(path);
    bool found = false;
    struct jvm_chroot chroot = jvm_proc_chroot(proc->pid);
    for (struct dirent *e; dir && !found && (e = readdir(dir));) {
        ssize_t n = readlinkat(dirfd(dir), e->d_name, target, sizeof target - 1);
        if (n <= 0) continue;
        target[n] = 0;
        const char *own = jvm_proc_own_path(&chroot, target);
        found = wanted ? !strncmp(own, wanted, strlen(wanted))
                       : jvm_workspace_is_ours(own) && jvm_workspace_is_abandoned(proc, own);
    }
    if (dir) closedir(dir);
    return found;
}

static void add_events(struct buf *text, const struct jvm_collect_options *o)
{
    unsigned events = o->events ? o->events : JVM_EVENT_CPU;
    double cpu_s = o->cpu_interval_s > 0 ? o->cpu_interval_s : 0.010;
    double wall_s = o->wall_interval_s > 0 ? o->wall_interval_s : 0.050;
    double lock_s = o->lock_interval_s > 0 ? o->lock_interval_s : 10e-6;
    uint64_t alloc = o->alloc_interval_bytes ? o->alloc_interval_bytes : 524288;
    uint64_t nativemem = o->nativemem_interval_bytes ? o->nativemem_interval_bytes : 524288;
    /* "cpu" means perf events, with kernel frames, where they are permitted, and a timer per thread (ctimer)
     * elsewhere. */
    if (events & JVM_EVENT_CPU) buf_printf(text, ",event=cpu,interval=%.0f", cpu_s * 1e9);
    if (events & JVM_EVENT_WALL) buf_printf(text, ",wall=%.0f", wall_s * 1e9);
    if (events & (JVM_EVENT_ALLOC | JVM_EVENT_LIVE))
        buf_printf(text, ",alloc=%llu", (unsigned long long)alloc);
    if (events & JVM_EVENT_LIVE) buf_str(text, ",live");
    if (events & JVM_EVENT_LOCK) buf_printf(text, ",lock=%.0f", lock_s * 1e9);
    /* nofree: every free would be recorded too, which slows a busy allocator down by half. */
    if (events & JVM_EVENT_NATIVEMEM)
        buf_printf(text, ",nativemem=%llu,nofree", (unsigned long long)nativemem);
    if (events & JVM_EVENT_NATIVELOCK) buf_printf(text, ",nativelock=%.0f", lock_s * 1e9);
}

int jvm_asprof_start(struct jvm_asprof *as, const struct jvm_collect_options *o, const char *file,
                     struct err *err)
{
    bool running = false;
    as->attach =
        (struct jvm_attach_options){.timeout_s = 60, .is_cancelled = o->is_cancelled, .context = o->context};
    int result = 0, rc = is_running(as, &running, err);
    if (rc < 0) return rc;
    char log[300];
    if (running && writes_to(as->proc, NULL)) { /* the session of a procprof that was killed */
        if ((rc = command(as, "stop" NO_LOG, &result, err)) < 0) return rc;
        if ((rc = is_running(as, &running, err)) < 0) return rc;
    }
    if (running)
        return err_set(err, ERR_BUSY,
                       "another tool is profiling JVM %d; its session is left alone; try again later",
                       (int)as->proc->pid);
    struct buf text = {0};
    buf_printf(&text, "start,quiet,loglevel=error,log=%s/log,cstack=vm", as->ws->jvm_path);
    add_events(&text, o);
    double duration_s = o->duration_s > 0 ? o->duration_s : 30;
    /* A chunk is closed every few seconds and stays readable when the JVM dies. The timeout ends the session
     * if procprof dies. */
    buf_printf(
        &text, ",jstackdepth=%u,memlimit=%lluk,jfr,jfropts=2,chunktime=%ds,timeout=%ds,file=%s/%s",
        o->jstack_depth ? o->jstack_depth : 2048,
        (unsigned long long)((o->memory_limit_bytes ? o->memory_limit_bytes : (uint64_t)256 << 20) >> 10),
        duration_s <= 60 ? 5 : 10, (int)duration_s + 120, as->ws->jvm_path, file);
    rc = command(as, buf_cstr(&text), &result, err);
    buf_free(&text);
    read_answer(as, "log", log, sizeof log);
    if (rc < 0) return rc;
    bool ignored;
    if (result) (void)is_running(as, &ignored, NULL); /* makes the library close the log file */
    if (result && strstr(log, "already"))
        return err_set(err, ERR_BUSY,
                       "another tool is profiling JVM %d; its session is left alone; try again later",
                       (int)as->proc->pid);
    if (result)
        return err_set(err, ERR_UNSUPPORTED, "async-profiler did not start in JVM %d (code %d): %.200s",
                       (int)as->proc->pid, result, *log ? log : "it gave no reason");
    return 0;
}

int jvm_asprof_stop(struct jvm_asprof *as, const char *file, const struct jvm_attach_options *attach,
                    struct err *err)
{
    char path[200];
    int result = 0;
    snprintf(path, sizeof path, "%s/%s", as->ws->jvm_path, file);
    if (!writes_to(as->proc, path))
        return 0; /* our session has ended already; a session that runs now is not ours */
    snprintf(path, sizeof path, "stop" NO_LOG ",file=%s/%s", as->ws->jvm_path, file);
    as->attach = *attach;
    int rc = command(as, path, &result, err);
    if (rc == 0 && result)
        rc = err_set(err, ERR_IO, "async-profiler did not stop in JVM %d (code %d)", (int)as->proc->pid,
                     result);
    return rc;
}
