/* jvm_collect.c - see jvm_collect.h. */
#include "collect/jvm_collect.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "collect/jvm_asprof.h"
#include "collect/jvm_crash.h"
#include "collect/jvm_flight.h"
#include "format/format.h"

#define RECORDING "recording.jfr"
enum {
    DUMP_EVERY_S = 20,
    ASPROF_STOP_S = 60,    /* async-profiler closes its last chunk */
    FLIGHT_STOP_S = 180,   /* the flight recorder goes through all its records, slowly on a busy machine */
    CANCELLED_STOP_S = 10, /* the limit for either after a cancellation */
};

int jvm_events_parse(const char *text, unsigned *ret_events, struct err *err)
{
    static const struct {
        const char *name;
        unsigned event;
    } names[] = {{"cpu", JVM_EVENT_CPU},
                 {"ctimer", JVM_EVENT_CPU},
                 {"itimer", JVM_EVENT_CPU},
                 {"alloc", JVM_EVENT_ALLOC},
                 {"mem", JVM_EVENT_ALLOC},
                 {"lock", JVM_EVENT_LOCK},
                 {"wall", JVM_EVENT_WALL},
                 {"live", JVM_EVENT_LIVE},
                 {"nativemem", JVM_EVENT_NATIVEMEM},
                 {"nativelock", JVM_EVENT_NATIVELOCK}};
    unsigned events = 0;
    for (const char *at = text; *at;) {
        size_t n = strcspn(at, ","), i = 0, n_names = sizeof names / sizeof *names;
        while (i < n_names && (strlen(names[i].name) != n || strncmp(at, names[i].name, n))) i++;
        if (i == n_names)
            return err_set(
                err, ERR_INPUT,
                "unknown event '%.*s'; events are cpu, alloc, lock, wall, live, nativemem, nativelock",
                (int)(n < 40 ? n : 40), at);
        events |= names[i].event;
        at += n;
        if (*at == ',') at++;
    }
    if (!events)
        return err_set(err, ERR_INPUT,
                       "no event is given; events are cpu, alloc, lock, wall, live, nativemem, nativelock");
    *ret_events = events;
    return 0;
}

int jvm_engine_parse(const char *text, enum jvm_engine *ret_engine, struct err *err)
{
    static const struct {
        const char *name;
        enum jvm_engine engine;
    } engines[] = {{"auto", JVM_ENGINE_AUTO},
                   {"async-profiler", JVM_ENGINE_ASYNC_PROFILER},
                   {"asprof", JVM_ENGINE_ASYNC_PROFILER},
                   {"jfr", JVM_ENGINE_FLIGHT_RECORDER}};
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++)
        if (!strcmp(text, engines[i].name)) return *ret_engine = engines[i].engine, 0;
    return err_set(err, ERR_INPUT, "unknown engine '%.40s'; engines are auto, async-profiler and jfr", text);
}

struct capture {
    const struct jvm_proc *proc;
    const struct jvm_collect_options *o;
    double duration_s;
    struct jvm_workspace ws;
    struct jvm_asprof as;
    struct jvm_flight flight;
    char newest[32]; /* the latest recording in the workspace; "": there is none */
    struct jvm_crash crash;
    int64_t cancelled_ns; /* monotonic: when a cancellation was noticed while stopping; 0: not yet */
    bool still_records;   /* the flight recorder could not be stopped and writes to the workspace */
    struct jvm_collected *ret;
};

static void report_progress(struct capture *c, double elapsed_s, const char *doing)
{
    if (c->o->progress) c->o->progress(c->o->context, elapsed_s, c->duration_s, doing);
}

static bool is_cancelled(const struct capture *c)
{
    return c->o->is_cancelled && c->o->is_cancelled(c->o->context);
}

/* Cancellation while stopping. The user still wants what was recorded, so the JVM gets CANCELLED_STOP_S
 * seconds to close the recording. */
static bool has_waited_enough(void *context)
{
    struct capture *c = context;
    if (!is_cancelled(c)) return false;
    int64_t now = clock_monotonic_ns();
    if (!c->cancelled_ns) c->cancelled_ns = now;
    return now - c->cancelled_ns >= CANCELLED_STOP_S * (int64_t)1000000000;
}

/* Waits until the time is over, the capture is cancelled or the JVM ends. */
static void wait_for_end(struct capture *c)
{
    int64_t begin = clock_monotonic_ns(), end = begin + (int64_t)(c->duration_s * 1e9);
    int64_t next_dump = begin + DUMP_EVERY_S * (int64_t)1000000000;
    for (int64_t now = begin; now < end; now = clock_monotonic_ns()) {
        if (!jvm_proc_is_alive(c->proc)) {
            c->ret->jvm_died = true;
            return;
        }
        if (is_cancelled(c)) {
            c->ret->was_cancelled = true;
            return;
        }
        report_progress(c, (double)(now - begin) / 1e9, "sampling");
        if (c->ret->by_flight_recorder && now >= next_dump) {
            (void)jvm_flight_dump(&c->flight, c->newest, NULL); /* kept in case the JVM dies */
            next_dump = clock_monotonic_ns() + DUMP_EVERY_S * (int64_t)1000000000;
        }
        clock_sleep_ns(end - now < 50000000 ? end - now : 50000000);
    }
    report_progress(c, c->duration_s, "reading");
}

/* The JVM has died: notes where its crash report is, or that there is none. */
static void look_for_crash_report(struct capture *c)
{
    char path[300];
    bool in_profiler = false;
    c->ret->jvm_crashed = jvm_crash_find(&c->crash, c->ret->start_ns, path, sizeof path, &in_profiler);
    if (c->ret->jvm_crashed)
        snprintf(c->ret->note, sizeof c->ret->note,
                 "the JVM crashed while it was profiled%s; its crash report is %.250s",
                 in_profiler ? ", in async-profiler: use --engine jfr for it" : "", path);
    else
        snprintf(c->ret->note, sizeof c->ret->note,
                 "the JVM %d ended while it was profiled; this is what was recorded until then",
                 (int)c->proc->pid);
}

static int start(struct capture *c, struct err *err)
{
    struct err why = {0};
    int rc = ERR_UNSUPPORTED;
    if (c->o->engine != JVM_ENGINE_FLIGHT_RECORDER) {
        rc = jvm_asprof_open(&c->as, c->proc, &c->ws, c->o->library, &why);
        if (rc == 0) {
            snprintf(c->newest, sizeof c->newest, "%s", RECORDING);
            rc = jvm_asprof_start(&c->as, c->o, RECORDING, &why);
        }
        if (rc == 0) return 0;
        if (rc == ERR_TIMEOUT) { /* timed out or cancelled: the session may have begun all the same */
            struct jvm_attach_options attach = {.timeout_s = CANCELLED_STOP_S};
            (void)jvm_asprof_stop(&c->as, RECORDING, &attach, NULL);
        }
        jvm_asprof_close(&c->as);
        /* The flight recorder is the second choice only where async-profiler cannot work. A JVM that is busy,
         * stopped or of another user would refuse both. */
        if (rc != ERR_UNSUPPORTED || c->o->engine == JVM_ENGINE_ASYNC_PROFILER) {
            if (err) *err = why;
            return rc;
        }
    }
    char note[300] = "";
    *c->newest = 0;
    rc = jvm_flight_start(&c->flight, c->proc, &c->ws, c->o, note, sizeof note, err);
    if (rc < 0) return rc;
    c->ret->by_flight_recorder = true;
    snprintf(c->ret->note, sizeof c->ret->note, "%.180s%s%.200s", why.text, *why.text ? "; " : "", note);
    return 0;
}

static int stop(struct capture *c, struct err *err)
{
    if (c->ret->jvm_died) return 0;
    struct jvm_attach_options attach = {.is_cancelled = has_waited_enough, .context = c};
    attach.timeout_s = c->ret->by_flight_recorder ? FLIGHT_STOP_S : ASPROF_STOP_S;
    if (!c->ret->by_flight_recorder) return jvm_asprof_stop(&c->as, RECORDING, &attach, err);
    int rc = jvm_flight_stop(&c->flight, RECORDING, &attach, err);
    if (rc == 0) snprintf(c->newest, sizeof c->newest, "%s", RECORDING);
    return rc;
}

static int read_recording(struct capture *c, struct err *err)
{
    struct bytes bytes;
    if (!*c->newest)
        return err_set(err, ERR_NOT_FOUND, "process %d ended before anything was recorded",
                       (int)c->proc->pid);
    int rc = jvm_workspace_read(&c->ws, c->newest, (size_t)16 << 30, &bytes, err);
    if (rc < 0) return rc;
    if (c->o->keep_jfr) rc = file_write_atomic(c->o->keep_jfr, bytes.data, bytes.len, 0600, err);
    struct format_options reading = {.is_file_mapping = bytes.mapped_bytes > 0};
    if (rc == 0) rc = format_read(bytes.data, bytes.len, "the recording", &reading, &c->ret->profile, err);
    bytes_free(&bytes);
    return rc;
}

/* Stops the recording and reads it. If the JVM has died, hangs or is stopped, the profile consists of the
 * chunks that it closed before, and the note says so. It is a failure only when there is no chunk. */
static int end(struct capture *c, struct err *err)
{
    struct err stop_err = {0};
    int stopped = stop(c, &stop_err);
    if (stopped < 0 && !jvm_proc_is_alive(c->proc)) c->ret->jvm_died = true;
    if (c->ret->jvm_died) {
        look_for_crash_report(c);
    } else if (stopped < 0) {
        char before[sizeof c->ret->note];
        memcpy(before, c->ret->note, sizeof before);
        snprintf(c->ret->note, sizeof c->ret->note,
                 "the recording could not be ended: %.160s; this is what was recorded before%s%.140s",
                 stop_err.text, *before ? "; " : "", before);
    }
    c->still_records = stopped < 0 && !c->ret->jvm_died && c->ret->by_flight_recorder;
    int rc = read_recording(c, err);
    if (rc < 0 && stopped < 0 && !c->ret->jvm_died) {
        *err = stop_err; /* why there is no recording */
        rc = stopped;
    }
    return rc;
}

int jvm_collect(const struct jvm_proc *proc, const struct jvm_collect_options *options,
                struct jvm_collected *ret, struct err *err)
{
    static const struct jvm_collect_options defaults;
    struct err own_err;
    if (!err) err = &own_err;
    *ret = (struct jvm_collected){0};
    struct capture c = {.proc = proc, .o = options ? options : &defaults, .ret = ret};
    c.duration_s = c.o->duration_s > 0 ? c.o->duration_s : 30;
    int rc = jvm_proc_check_jvm(proc, err);
    if (rc < 0) return rc;
    report_progress(&c, 0, "attaching");
    if (jvm_flight_end_abandoned(proc, c.o) == 0) jvm_workspace_sweep(proc);
    if ((rc = jvm_workspace_open(proc, &c.ws, err)) < 0) return rc;
    jvm_crash_open(proc, &c.crash);
    ret->start_ns = clock_wall_ns();
    rc = start(&c, err);
    if (rc == 0) {
        wait_for_end(&c);
        rc = end(&c, err);
    } else if (!jvm_proc_is_alive(proc)) {
        ret->jvm_died = true;
        look_for_crash_report(&c);
    }
    if (rc < 0 && ret->jvm_crashed) err_set(err, rc, "%s", ret->note);
    jvm_asprof_close(&c.as);
    jvm_crash_close(&c.crash);
    if (c.still_records)
        jvm_workspace_leave(&c.ws);
    else
        jvm_workspace_close(&c.ws);
    if (rc == 0 && *ret->note) profile_add_comment(ret->profile, ret->note);
    return rc;
}
