/* jvm_collect.h - a profile of a running JVM: for some seconds, of one or several events at once, without a
 * restart.
 *
 * async-profiler does the sampling when its library is at hand and the JVM takes it; otherwise the JVM's own
 * flight recorder does, and a sentence says what is less exact then. A session that somebody else started is
 * never touched. When it is over, nothing of ours is left in the JVM's world: no file, no running profiler.
 *
 * May be called from any thread, also for several JVMs at once; two at once for the same JVM: the second is
 * ERR_BUSY.
 */
#ifndef COLLECT_JVM_COLLECT_H
#define COLLECT_JVM_COLLECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "collect/jvm_proc.h"
#include "profile/profile.h"

enum jvm_event { /* bits */
                 JVM_EVENT_CPU = 1,
                 JVM_EVENT_ALLOC = 2,
                 JVM_EVENT_LOCK = 4,
                 JVM_EVENT_WALL = 8,
                 JVM_EVENT_LIVE = 16, /* what of the sampled objects is still there at the end; with ALLOC */
                 JVM_EVENT_NATIVEMEM = 32, /* malloc */
                 JVM_EVENT_NATIVELOCK = 64,
};

enum jvm_engine { JVM_ENGINE_AUTO, JVM_ENGINE_ASYNC_PROFILER, JVM_ENGINE_FLIGHT_RECORDER };

struct jvm_collect_options { /* all zero: the defaults */
    unsigned events;         /* 0: JVM_EVENT_CPU */
    double duration_s;       /* 0: 30 */
    enum jvm_engine engine;  /* AUTO: async-profiler, else the flight recorder */
    const char *library;    /* libasyncProfiler.so (async_profiler_lib); NULL: looked for, see jvm_asprof.h */
    unsigned jstack_depth;  /* 0: 2048 */
    double cpu_interval_s;  /* 0: 10 ms of CPU time */
    double wall_interval_s; /* 0: 50 ms */
    double lock_interval_s; /* 0: 10 us of waiting */
    uint64_t alloc_interval_bytes;     /* 0: 512 KiB; StarRocks uses 2 MiB */
    uint64_t nativemem_interval_bytes; /* 0: 512 KiB */
    uint64_t memory_limit_bytes;       /* what the profiler may take in the JVM; 0: 256 MiB */
    const char *keep_jfr;              /* also leave the recording there; NULL: no */
    /* Asked about every 50 ms; true ends the capture now. What was sampled so far is the result, as if the
     * time was over. */
    bool (*is_cancelled)(void *context);
    /* Told now and then; may be NULL. */
    void (*progress)(void *context, double elapsed_s, double duration_s, const char *doing);
    void *context;
};

struct jvm_collected {
    struct profile *profile; /* the caller's: profile_free */
    int64_t start_ns;        /* wall clock, when sampling began: the time in a file's name */
    bool by_flight_recorder;
    bool was_cancelled, jvm_died; /* the profile holds what there was until then */
    bool jvm_crashed;             /* it died, and left a crash report; also set when that is all there is */
    char note[400]; /* one sentence for the human: what is less exact, where the JVM's crash report is; often
                       "" */
};

/* ERR_NOT_FOUND: no such process, or it ended before anything was recorded; ERR_BUSY: it is being profiled by
 * somebody, or still starts; ERR_DENIED, ERR_INPUT, ERR_TIMEOUT as
 * jvm_attach. */
int jvm_collect(const struct jvm_proc *proc, const struct jvm_collect_options *options,
                struct jvm_collected *ret, struct err *err);

/* "cpu,alloc,lock" -> bits. Also "mem" (alloc), "ctimer" and "itimer" (cpu), "nativemem", "nativelock",
 * "live". ERR_INPUT names the word that is none. */
int jvm_events_parse(const char *text, unsigned *ret_events, struct err *err);
/* "auto", "async-profiler" (or "asprof"), "jfr"; ERR_INPUT otherwise. */
int jvm_engine_parse(const char *text, enum jvm_engine *ret_engine, struct err *err);

#endif
