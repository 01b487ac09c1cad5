/* jvm_flight.h - records with the JVM's own flight recorder, by diagnostic commands, when async-profiler is
 * not available.
 *
 * It is less exact. It samples Java code only (no native, JIT or GC frames); before JDK 25 it samples some
 * running threads at a time instead of CPU time; it counts an allocation when a thread takes a new buffer; it
 * has no wall clock.
 */
#ifndef COLLECT_JVM_FLIGHT_H
#define COLLECT_JVM_FLIGHT_H

#include "collect/jvm_attach.h"
#include "collect/jvm_collect.h"
#include "collect/jvm_workspace.h"

struct jvm_flight {
    const struct jvm_proc *proc;
    const struct jvm_workspace *ws;
    struct jvm_attach_options attach;
    /* The recording's name is that of its workspace, whose lock shows whether its owner still runs. */
    char name[96];
    bool by_cpu_time;
    unsigned n_dumps;
};

/* Starts a recording. note becomes one sentence about what is less exact. A recording that an ended procprof
 * left behind is stopped first. If this procprof ends, the recording ends by itself two minutes after its
 * time. ERR_UNSUPPORTED: the JVM has no flight recorder, or it knows none of the events. ERR_BUSY: another
 * procprof records with it. */
int jvm_flight_start(struct jvm_flight *flight, const struct jvm_proc *proc, const struct jvm_workspace *ws,
                     const struct jvm_collect_options *options, char *note, size_t note_size,
                     struct err *err);
/* Writes what was recorded so far to a file of the workspace; the recording goes on. */
int jvm_flight_dump(struct jvm_flight *flight, char ret_file[32], struct err *err);
/* Stops the recording and writes it to `file` of the workspace, within the limits of attach. */
int jvm_flight_stop(struct jvm_flight *flight, const char *file, const struct jvm_attach_options *attach,
                    struct err *err);

/* Stops the recordings that ended procprofs left behind. Call it before jvm_workspace_sweep, and sweep only
 * when it returns 0: a recording that cannot be written to its folder at its end stays in the JVM for ever. A
 * negative result means that one may still run. */
int jvm_flight_end_abandoned(const struct jvm_proc *proc, const struct jvm_collect_options *options);

#endif
