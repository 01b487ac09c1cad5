/* jvm_crash.h - the report that a JVM leaves when it crashes (hs_err_pidN.log): where it would be is found
 * out while the JVM lives, for afterwards the way into its world is gone. */
#ifndef COLLECT_JVM_CRASH_H
#define COLLECT_JVM_CRASH_H

#include "collect/jvm_proc.h"

struct jvm_crash {
    struct jvm_crash_place {
        int dir_fd;
        char path[520]; /* as the JVM sees it */
    } places[3];
    size_t n_places;
};

/* Where -XX:ErrorFile says, the JVM's working directory, its /tmp. */
void jvm_crash_open(const struct jvm_proc *proc, struct jvm_crash *ret);
void jvm_crash_close(struct jvm_crash *crash);

/* Is there a report written since then? in_profiler: it was async-profiler's code that crashed. */
bool jvm_crash_find(const struct jvm_crash *crash, int64_t since_wall_ns, char *ret_path, size_t path_size,
                    bool *ret_in_profiler);

#endif
