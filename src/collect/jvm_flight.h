/* jvm_flight.h - the JVM's own flight recorder, by diagnostic commands: when async-profiler cannot be had.
 *
 * Less exact: samples of Java code only (no native, JIT or GC frames), before JDK 25 not of CPU time but of
 * some running threads at a time; allocations by the buffers of threads; no wall clock.
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
    char name[96]; /* of the recording: that of its workspace, which tells whether its owner is still there */
    bool by_cpu_time;
    unsigned n_dumps;
};

/* note: what is less exact, one sentence. ERR_UNSUPPORTED when the JVM has no flight recorder or none of the
 * events is known to it; ERR_BUSY when another procprof records with it. One that was left behind by a
 * procprof that is gone is ended first. Should we be gone ourselves, it ends two minutes after its time. */
int jvm_flight_start(struct jvm_flight *flight, const struct jvm_proc *proc, const struct jvm_workspace *ws,
                     const struct jvm_collect_options *options, char *note, size_t note_size,
                     struct err *err);
int jvm_flight_dump(struct jvm_flight *flight, char ret_file[32],
                    struct err *err); /* what there is so far; it goes on */
/* attach: how long it may take. */
int jvm_flight_stop(struct jvm_flight *flight, const char *file, const struct jvm_attach_options *attach,
                    struct err *err);

/* Ends what was left behind, for who then records otherwise: while that runs, its workspace must stay, for a
 * recording that cannot be written to its place at its end is kept by the JVM for ever. Anything below 0: it
 * may still run. */
int jvm_flight_end_abandoned(const struct jvm_proc *proc, const struct jvm_collect_options *options);

#endif
