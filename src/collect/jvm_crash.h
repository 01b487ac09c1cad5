/* jvm_crash.h - finds the report that a JVM writes when it crashes (hs_err_pidN.log). The folders are opened
 * while the JVM lives, because /proc/PID/root is gone afterwards. */
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

/* Opens the places of a report: the one of -XX:ErrorFile, the JVM's working directory, its /tmp. */
void jvm_crash_open(const struct jvm_proc *proc, struct jvm_crash *ret);
void jvm_crash_close(struct jvm_crash *crash);

/* Whether there is a report written since that time; its path goes to ret_path. *ret_in_profiler says whether
 * async-profiler's code crashed. */
bool jvm_crash_find(const struct jvm_crash *crash, int64_t since_wall_ns, char *ret_path, size_t path_size,
                    bool *ret_in_profiler);

#endif
