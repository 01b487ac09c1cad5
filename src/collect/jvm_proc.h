/* jvm_proc.h - what /proc tells about a process before anybody touches it: is it a JVM, whose, in which
 * namespace, still the same one?
 *
 * Everything here only reads. A pid of a container's JVM is the host's; ns_pid is what the JVM calls itself.
 */
#ifndef COLLECT_JVM_PROC_H
#define COLLECT_JVM_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

struct jvm_proc {
    pid_t pid, ns_pid;
    uid_t euid;
    gid_t egid;
    char state;           /* as in /proc/PID/stat: R S D Z T t X */
    bool catches_quit;    /* SIGQUIT has a handler: it does not end the process */
    bool same_root;       /* sees the same file system as we do */
    uint64_t start_ticks; /* with pid: names one process even when pids are used again */
    int n_threads;
    uint64_t cpu_ticks, rss_bytes;
};

/* ERR_NOT_FOUND: no such process (or a zombie). */
int jvm_proc_read(pid_t pid, struct jvm_proc *ret_proc, struct err *err);

/* The same process is still there and runs. */
bool jvm_proc_is_alive(const struct jvm_proc *proc);

/* Started less than a minute ago: what it does not know or cannot do, it may know in a moment. */
bool jvm_proc_is_young(const struct jvm_proc *proc);

/* 0 when HotSpot's libjvm is in its memory map; ERR_INPUT when it is not, ERR_UNSUPPORTED when it is
 * OpenJ9's, ERR_DENIED when we may not look. */
int jvm_proc_check_jvm(const struct jvm_proc *proc, struct err *err);

/* /proc names the files of a process in a chroot from our root on. What is before their own paths then; ""
 * when it is in none. And a path without it. */
struct jvm_chroot {
    char text[256];
};
struct jvm_chroot jvm_proc_chroot(pid_t pid);
const char *jvm_proc_own_path(const struct jvm_chroot *chroot, const char *path);

/* Calls see for every mapped file once per line of the map, by the path the process itself knows; stops when
 * it returns true. Returns that. */
bool jvm_proc_each_map(pid_t pid, bool (*see)(void *context, const char *path, uint64_t inode),
                       void *context);

/* Arguments, NUL between them. Empty when there are none or they may not be read. */
void jvm_proc_arguments(pid_t pid, struct buf *out);
/* An option of the JVM, of its arguments or of the variables of its environment that it reads, that begins
 * with these letters. The last one counts; ret_value (may be NULL): what is behind them. */
bool jvm_proc_option(pid_t pid, const char *letters, char *ret_value, size_t value_size);

/* What the JVM publishes in hsperfdata, else what its arguments tell. Empty strings where nothing is known.
 */
struct jvm_about {
    char version[64];    /* "17.0.15" */
    char command[512];   /* main class or jar and its arguments */
    char main_name[256]; /* the first word of command */
};
void jvm_proc_about(const struct jvm_proc *proc, struct jvm_about *ret_about);

/* /proc/PID/root + path; the text lives in the caller's array. */
struct jvm_path {
    char text[512];
};
struct jvm_path jvm_proc_path(const struct jvm_proc *proc, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
