/* jvm_crash.c - see jvm_crash.h. */
#include "collect/jvm_crash.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* path is the report's path as the JVM sees it; outside is its folder as we see it. */
static void add_place(struct jvm_crash *crash, const char *path, const char *outside)
{
    int fd = open(outside, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    struct jvm_crash_place *place = &crash->places[crash->n_places++];
    place->dir_fd = fd;
    snprintf(place->path, sizeof place->path, "%s", path);
}

/* Replaces %p by the pid and %% by a percent sign. */
static void expand(const char *pattern, pid_t pid, char *into, size_t size)
{
    size_t n = 0;
    for (const char *p = pattern; *p && n + 12 < size; p++) {
        if (p[0] == '%' && p[1] == 'p')
            n += (size_t)snprintf(into + n, size - n, "%d", (int)pid), p++;
        else if (p[0] == '%' && p[1] == '%')
            into[n++] = '%', p++;
        else
            into[n++] = *p;
    }
    into[n] = 0;
}

void jvm_crash_open(const struct jvm_proc *proc, struct jvm_crash *ret)
{
    char link[64], cwd[256], pattern[256], file[256], path[sizeof ret->places[0].path], outside[600];
    *ret = (struct jvm_crash){0};
    snprintf(link, sizeof link, "/proc/%d/cwd", (int)proc->pid);
    ssize_t n = readlink(link, cwd, sizeof cwd - 1);
    cwd[n > 0 ? n : 0] = 0;
    struct jvm_chroot chroot = jvm_proc_chroot(proc->pid);
    const char *own_cwd = jvm_proc_own_path(&chroot, cwd);
    if (jvm_proc_option(proc->pid, "-XX:ErrorFile=", pattern, sizeof pattern) && *pattern) {
        expand(pattern, proc->ns_pid, file, sizeof file);
        if (*file == '/') {
            snprintf(path, sizeof path, "%s", file);
            snprintf(outside, sizeof outside, "/proc/%d/root%s", (int)proc->pid, file);
        } else {
            snprintf(path, sizeof path, "%s/%s", own_cwd, file);
            snprintf(outside, sizeof outside, "%s/%s", link, file);
        }
        *strrchr(outside, '/') = 0;
        add_place(ret, path, outside);
    }
    snprintf(path, sizeof path, "%s/hs_err_pid%d.log", own_cwd, (int)proc->ns_pid);
    add_place(ret, path, link);
    snprintf(path, sizeof path, "/tmp/hs_err_pid%d.log", (int)proc->ns_pid);
    add_place(ret, path, jvm_proc_path(proc, "/tmp").text);
}

void jvm_crash_close(struct jvm_crash *crash)
{
    while (crash->n_places) close(crash->places[--crash->n_places].dir_fd);
}

bool jvm_crash_find(const struct jvm_crash *crash, int64_t since_wall_ns, char *ret_path, size_t path_size,
                    bool *ret_in_profiler)
{
    bool found = false;
    for (size_t i = 0; i < crash->n_places && !found; i++) {
        const struct jvm_crash_place *place = &crash->places[i];
        int fd = openat(place->dir_fd, strrchr(place->path, '/') + 1,
                        O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
        struct stat st;
        found = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
                (int64_t)st.st_mtim.tv_sec * 1000000000 >= since_wall_ns - 1000000000;
        if (found) {
            char head[4096]; /* the part that names the library which crashed */
            ssize_t n = pread(fd, head, sizeof head, 0);
            size_t len = n > 0 ? (size_t)n : 0;
            *ret_in_profiler = memmem(head, len, "asyncProfiler", 13) != NULL ||
                               memmem(head, len, "procprof-asprof", 15) != NULL;
            snprintf(ret_path, path_size, "%s", place->path);
        }
        if (fd >= 0) close(fd);
    }
    return found;
}
