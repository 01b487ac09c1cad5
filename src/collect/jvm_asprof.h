/* jvm_asprof.h - one session of async-profiler inside a JVM: loaded by attaching, started, stopped, and never
 * somebody else's. */
#ifndef COLLECT_JVM_ASPROF_H
#define COLLECT_JVM_ASPROF_H

#include "collect/jvm_attach.h"
#include "collect/jvm_collect.h"
#include "collect/jvm_workspace.h"

/* The library: `given`, else $PROCPROF_ASYNC_PROFILER, the cache that tools/setup fills, and where packages
 * put it. ERR_UNSUPPORTED when there is none. */
int jvm_asprof_find(const char *given, char ret_path[512], struct err *err);

/* Is one in the JVM, ours or another, at work or not? Its handler of SIGPROF stays: the JVM's own timers do
 * not work then. */
bool jvm_asprof_is_loaded(const struct jvm_proc *proc);

struct jvm_asprof {
    const struct jvm_proc *proc;
    const struct jvm_workspace *ws;
    struct jvm_attach_options attach;
    char library[512]; /* as the JVM sees it */
    /* The copy made for a JVM that cannot see ours. "": none. Its lock is shared by all sessions that need
     * it; the last one removes it. */
    char copy[64]; /* its name in the JVM's /tmp */
    int copy_fd;
    bool keeps_copy; /* musl knows a library by its file: without it, it would load another for good */
};

/* Makes the library ready for this JVM: the copy that was loaded before, ours, or a new copy.
 * ERR_UNSUPPORTED: it cannot be had, or another async-profiler is loaded there. Before the workspace is
 * closed, close it. */
int jvm_asprof_open(struct jvm_asprof *as, const struct jvm_proc *proc, const struct jvm_workspace *ws,
                    const char *library, struct err *err);
void jvm_asprof_close(struct jvm_asprof *as);

/* Starts recording into `file` of the workspace. ERR_BUSY: somebody profiles it already (a session of a
 * procprof that is gone is ended and does not count). ERR_UNSUPPORTED: the JVM cannot load the library.
 * ERR_TIMEOUT, also when cancelled: it may have begun or begin yet. */
int jvm_asprof_start(struct jvm_asprof *as, const struct jvm_collect_options *options, const char *file,
                     struct err *err);

/* Ends the session if it is still ours. attach: how long it may take. */
int jvm_asprof_stop(struct jvm_asprof *as, const char *file, const struct jvm_attach_options *attach,
                    struct err *err);

#endif
