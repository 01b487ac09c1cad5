/* jvm_proc.h - reads from /proc what must be known about a process before it is touched: whether it is a JVM,
 * its user, its namespace, and whether it is still the same process.
 *
 * All functions only read. pid is the number on this host, also for a JVM in a container; ns_pid is the
 * number that the JVM itself sees.
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
    bool catches_quit;    /* it has a handler for SIGQUIT, so the signal does not kill it */
    bool same_root;       /* it sees the same file system as we do */
    uint64_t start_ticks; /* together with pid identifies the process even after its pid is reused */
    int n_threads;
    uint64_t cpu_ticks, rss_bytes;
};

/* Reads the process. ERR_NOT_FOUND when it does not exist or is a zombie. */
int jvm_proc_read(pid_t pid, struct jvm_proc *ret_proc, struct err *err);

/* Whether the same process still runs. */
bool jvm_proc_is_alive(const struct jvm_proc *proc);

/* Whether it was started less than a minute ago; a failure may then only mean that it is not ready yet. */
bool jvm_proc_is_young(const struct jvm_proc *proc);

/* Returns 0 when HotSpot's libjvm is mapped in the process, ERR_INPUT when it is not, ERR_UNSUPPORTED for
 * OpenJ9, and ERR_DENIED when we may not read its mappings. */
int jvm_proc_check_jvm(const struct jvm_proc *proc, struct err *err);

/* /proc shows the files of a process in a chroot with paths from our root on. jvm_proc_chroot returns the
 * prefix of these paths, "" without a chroot; jvm_proc_own_path returns a path without the prefix. */
struct jvm_chroot {
    char text[256];
};
struct jvm_chroot jvm_proc_chroot(pid_t pid);
const char *jvm_proc_own_path(const struct jvm_chroot *chroot, const char *path);

/* Calls visit for every line of the process's memory map that has a file, with the path as the process sees
 * it. Stops and returns true when visit returns true. */
bool jvm_proc_each_map(pid_t pid, bool (*visit)(void *context, const char *path, uint64_t inode),
                       void *context);

/* Appends the process's arguments, separated by NUL; nothing when they may not be read. */
void jvm_proc_arguments(pid_t pid, struct buf *out);
/* Whether an option of the JVM begins with these letters, in its arguments or in the environment variables
 * that it reads. The last such option counts; what follows the letters goes to ret_value, which may be NULL.
 */
bool jvm_proc_option(pid_t pid, const char *letters, char *ret_value, size_t value_size);

/* What the JVM publishes in hsperfdata, or else what its arguments show. Unknown strings are empty. */
struct jvm_about {
    char version[64];    /* "17.0.15" */
    char command[512];   /* main class or jar and its arguments */
    char main_name[256]; /* the first word of command */
};
void jvm_proc_about(const struct jvm_proc *proc, struct jvm_about *ret_about);

/* /proc/PID/root followed by the formatted path. */
struct jvm_path {
    char text[512];
};
struct jvm_path jvm_proc_path(const struct jvm_proc *proc, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
