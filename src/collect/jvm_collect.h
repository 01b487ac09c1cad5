/* jvm_collect.h - takes a profile of a running JVM, of one or several events at once, without a restart.
 *
 * async-profiler samples if its library is installed and the JVM can load it. Otherwise the JVM's own flight
 * recorder does, and the result's note says what is less exact. A session that another tool started is never
 * touched. Afterwards nothing is left behind: no file, no running profiler.
 *
 * Threads: any thread, for several JVMs at the same time. Of two calls for the same JVM, the second gets
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
                 JVM_EVENT_LIVE = 16,      /* sampled objects that still exist at the end; includes ALLOC */
                 JVM_EVENT_NATIVEMEM = 32, /* malloc */
                 JVM_EVENT_NATIVELOCK = 64,
};

enum jvm_engine { JVM_ENGINE_AUTO, JVM_ENGINE_ASYNC_PROFILER, JVM_ENGINE_FLIGHT_RECORDER };

struct jvm_collect_options {           /* all zero: the defaults */
    unsigned events;                   /* 0: JVM_EVENT_CPU */
    double duration_s;                 /* 0: 30 */
    enum jvm_engine engine;            /* AUTO: async-profiler, else the flight recorder */
    const char *library;               /* path of libasyncProfiler.so; NULL: jvm_asprof_find searches it */
    unsigned jstack_depth;             /* 0: 2048 */
    double cpu_interval_s;             /* 0: 10 ms of CPU time */
    double wall_interval_s;            /* 0: 50 ms */
    double lock_interval_s;            /* 0: 10 us of waiting */
    uint64_t alloc_interval_bytes;     /* 0: 512 KiB; StarRocks uses 2 MiB */
    uint64_t nativemem_interval_bytes; /* 0: 512 KiB */
    uint64_t memory_limit_bytes;       /* of the profiler inside the JVM; 0: 256 MiB */
    const char *keep_jfr;              /* also write the recording to this file; NULL: no */
    /* Called about every 50 ms; returns true to end the capture now. The result is then what was sampled so
     * far. May be NULL. */
    bool (*is_cancelled)(void *context);
    /* Called now and then; may be NULL. */
    void (*progress)(void *context, double elapsed_s, double duration_s, const char *doing);
    void *context;
};

struct jvm_collected {
    struct profile *profile; /* the caller frees it with profile_free */
    int64_t start_ns;        /* wall clock, when sampling began */
    bool by_flight_recorder;
    bool was_cancelled, jvm_died; /* the profile contains what was sampled until then */
    bool jvm_crashed;             /* it died and left a crash report; also set when jvm_collect fails */
    char note[400]; /* one sentence for people: what is less exact, where the crash report is; often "" */
};

/* Takes a profile and blocks for its duration. ERR_NOT_FOUND: there is no such process, or it ended before
 * anything was recorded. ERR_BUSY: another tool is profiling the JVM, or it is still starting. ERR_DENIED,
 * ERR_INPUT and ERR_TIMEOUT are those of jvm_attach. */
int jvm_collect(const struct jvm_proc *proc, const struct jvm_collect_options *options,
                struct jvm_collected *ret, struct err *err);

/* Parses "cpu,alloc,lock,wall,live,nativemem,nativelock" into bits; "mem" means alloc, "ctimer" and "itimer"
 * mean cpu. ERR_INPUT names the unknown word. */
int jvm_events_parse(const char *text, unsigned *ret_events, struct err *err);
/* Parses "auto", "async-profiler" (or "asprof") or "jfr"; ERR_INPUT otherwise. */
int jvm_engine_parse(const char *text, enum jvm_engine *ret_engine, struct err *err);

#endif
