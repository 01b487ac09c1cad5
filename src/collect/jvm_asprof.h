/* jvm_asprof.h - one session of async-profiler inside a JVM: loads it by attaching, starts and stops it. A
 * session of another tool is never touched. */
#ifndef COLLECT_JVM_ASPROF_H
#define COLLECT_JVM_ASPROF_H

#include "collect/jvm_attach.h"
#include "collect/jvm_collect.h"
#include "collect/jvm_workspace.h"

/* Finds the library: `given`, else $PROCPROF_ASYNC_PROFILER, else the cache that tools/setup fills, else the
 * places where packages install it. ERR_UNSUPPORTED when there is none. */
int jvm_asprof_find(const char *given, char ret_path[512], struct err *err);

/* Whether the JVM has loaded an async-profiler, ours or another, running or not. Once loaded, its handler for
 * SIGPROF stays, and the JVM's own CPU timers do not work. */
bool jvm_asprof_is_loaded(const struct jvm_proc *proc);

struct jvm_asprof {
    const struct jvm_proc *proc;
    const struct jvm_workspace *ws;
    struct jvm_attach_options attach;
    char library[512]; /* as the JVM sees it */
    /* The copy of the library in the /tmp of a JVM that cannot see ours. All sessions that use the copy hold
     * a shared lock on it; the last one removes the file. */
    char copy[64];   /* the file's name; "": there is no copy */
    int copy_fd;     /* holds the lock */
    bool keeps_copy; /* never remove it: musl identifies a library by its file and would load another copy
                        each time */
};

/* Chooses a library that this JVM can load: the copy it has loaded already, our own file, or a new copy.
 * ERR_UNSUPPORTED: there is none, or the JVM has loaded another async-profiler. Close it before the
 * workspace. */
int jvm_asprof_open(struct jvm_asprof *as, const struct jvm_proc *proc, const struct jvm_workspace *ws,
                    const char *library, struct err *err);
void jvm_asprof_close(struct jvm_asprof *as);

/* Starts a recording into `file` of the workspace. A session that an ended procprof left behind is stopped
 * first. ERR_BUSY: another tool is profiling the JVM. ERR_UNSUPPORTED: the JVM cannot load the library.
 * ERR_TIMEOUT: the JVM did not answer or the call was cancelled; the session may have begun or may still
 * begin. */
int jvm_asprof_start(struct jvm_asprof *as, const struct jvm_collect_options *options, const char *file,
                     struct err *err);

/* Stops the session if it is still ours, within the limits of attach. */
int jvm_asprof_stop(struct jvm_asprof *as, const char *file, const struct jvm_attach_options *attach,
                    struct err *err);

#endif
