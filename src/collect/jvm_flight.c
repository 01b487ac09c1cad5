/* jvm_flight.c - see jvm_flight.h. */
#include "collect/jvm_flight.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/jvm_asprof.h"

#define SETTINGS  "procprof.jfc"
/* The file to which the JVM writes a recording that is not stopped in time. */
#define UNCLAIMED "late.jfr"
/* Beyond this size the JVM drops the oldest records. Its default is a quarter of it. */
#define MAX_SIZE  "1g"

enum { EXTRA_S = 120, END_ABANDONED_S = 10, END_CANCELLED_S = 5 };

/* Runs a diagnostic command. A JVM that is still starting gets five seconds to register it. */
static int jcmd(struct jvm_flight *f, const char *command, struct buf *reply, struct err *err)
{
    const int64_t give_up_ns = clock_monotonic_ns() + 5000000000, step_ns = 200000000;
    for (;;) {
        reply->len = 0;
        int rc = jvm_jcmd(f->proc, command, &f->attach, reply, err);
        if (rc == 0) buf_cstr(reply);
        if (rc != ERR_BUSY || clock_monotonic_ns() >= give_up_ns) return rc;
        clock_sleep_ns(step_ns);
    }
}

static int java_version(struct jvm_flight *f, struct err *err)
{
    struct buf reply = {0};
    int rc = jcmd(f, "VM.version", &reply, err);
    const char *at = rc == 0 ? strstr(buf_cstr(&reply), "\nJDK ") : NULL;
    int version = at ? atoi(at + 5) : 0;
    buf_free(&reply);
    return rc < 0 ? rc : version;
}

/* ---- other recordings ---- */

static const char workspace_prefix[] = "/tmp/."; /* a workspace's path is this and its recording's name */

static int stop_named(struct jvm_flight *f, const char *name, struct err *err)
{
    struct buf text = {0}, reply = {0};
    buf_printf(&text, "JFR.stop name=%s", name);
    int rc = jcmd(f, buf_cstr(&text), &reply, err);
    buf_free(&text);
    buf_free(&reply);
    return rc;
}

/* Stops the recordings of ended procprofs. ERR_BUSY when the recording of a running procprof has a smaller
 * number than own_id. Two procprofs may start at the same moment and both see the other's recording;
 * comparing the numbers lets exactly one of them go on. */
static int check_other_recordings(struct jvm_flight *f, unsigned own_id, struct err *err)
{
    struct buf reply = {0};
    int rc = jcmd(f, "JFR.check", &reply, err);
    char *rest = NULL;
    for (char *line = rc < 0 ? NULL : strtok_r((char *)buf_cstr(&reply), "\n", &rest); line && rc == 0;
         line = strtok_r(NULL, "\n", &rest)) {
        unsigned id;
        char name[sizeof f->name], path[sizeof name + sizeof workspace_prefix];
        if (sscanf(line, "Recording %u: name=%95s", &id, name) != 2 || !strcmp(name, f->name) ||
            !strstr(line, "(running)"))
            continue;
        snprintf(path, sizeof path, "%s%s", workspace_prefix, name);
        if (!jvm_workspace_is_ours(path)) continue;
        if (jvm_workspace_is_abandoned(f->proc, path))
            rc = stop_named(f, name, err);
        else if (id < own_id)
            rc = err_set(err, ERR_BUSY,
                         "the flight recorder of JVM %d records for another procprof; try again later",
                         (int)f->proc->pid);
    }
    buf_free(&reply);
    return rc == ERR_INPUT ? 0 : rc; /* a JVM without flight recorder: starting a recording reports that */
}

int jvm_flight_end_abandoned(const struct jvm_proc *proc, const struct jvm_collect_options *o)
{
    struct jvm_flight f = {
        .proc = proc,
        .attach = {.timeout_s = END_ABANDONED_S, .is_cancelled = o->is_cancelled, .context = o->context}};
    return jvm_workspace_any_abandoned(proc, SETTINGS) ? check_other_recordings(&f, 0, NULL) : 0;
}

/* ---- a recording of our own ---- */

/* Adds an enabled event with stack traces and, unless NULL, one more setting. */
static void add_event(struct buf *xml, const char *name, const char *setting, const char *value)
{
    buf_printf(xml, "  <event name=\"%s\">\n    <setting name=\"enabled\">true</setting>\n", name);
    buf_str(xml, "    <setting name=\"stackTrace\">true</setting>\n");
    if (setting) buf_printf(xml, "    <setting name=\"%s\">%s</setting>\n", setting, value);
    buf_str(xml, "  </event>\n");
}

static void write_settings(struct buf *xml, unsigned events, const struct jvm_collect_options *o,
                           bool by_cpu_time)
{
    char period[32], wait[32];
    double cpu_s = o->cpu_interval_s > 0 ? o->cpu_interval_s : 0.010;
    snprintf(period, sizeof period, "%.0f ms", cpu_s < 0.001 ? 1 : cpu_s * 1e3);
    snprintf(wait, sizeof wait, "%.0f us", (o->lock_interval_s > 0 ? o->lock_interval_s : 10e-6) * 1e6);
    buf_str(
        xml,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<configuration version=\"2.0\" label=\"procprof\">\n");
    if (events & JVM_EVENT_CPU)
        add_event(xml, by_cpu_time ? "jdk.CPUTimeSample" : "jdk.ExecutionSample",
                  by_cpu_time ? "throttle" : "period", period);
    /* Not jdk.ObjectAllocationSample: a thread's first sample carries everything that the thread has
     * allocated since its start. */
    if (events & JVM_EVENT_ALLOC) {
        add_event(xml, "jdk.ObjectAllocationInNewTLAB", NULL, NULL);
        add_event(xml, "jdk.ObjectAllocationOutsideTLAB", NULL, NULL);
    }
    if (events & JVM_EVENT_LOCK) {
        add_event(xml, "jdk.JavaMonitorEnter", "threshold", wait);
        add_event(xml, "jdk.ThreadPark", "threshold", wait);
    }
    buf_str(xml, "  <event name=\"jdk.ActiveSetting\">\n    <setting name=\"enabled\">true</setting>\n  "
                 "</event>\n</configuration>\n");
}

static int begin_recording(struct jvm_flight *f, const char *command, struct err *err)
{
    static const char started[] = "Started recording ";
    struct buf reply = {0};
    int rc = jcmd(f, command, &reply, err);
    const char *at = rc < 0 ? NULL : strstr(buf_cstr(&reply), started);
    if (at)
        rc = check_other_recordings(f, (unsigned)strtoul(at + sizeof started - 1, NULL, 10), err);
    else if (rc == 0)
        rc = err_set(err, ERR_UNSUPPORTED, "the flight recorder of JVM %d did not start: %.200s",
                     (int)f->proc->pid, buf_cstr(&reply));
    buf_free(&reply);
    if (rc < 0 && (at || rc == ERR_TIMEOUT)) { /* the recording runs, or may run, and is not wanted */
        f->attach = (struct jvm_attach_options){.timeout_s = END_CANCELLED_S};
        (void)stop_named(f, f->name, NULL);
    }
    return rc;
}

int jvm_flight_start(struct jvm_flight *f, const struct jvm_proc *proc, const struct jvm_workspace *ws,
                     const struct jvm_collect_options *o, char *note, size_t note_size, struct err *err)
{
    *f = (struct jvm_flight){
        .proc = proc,
        .ws = ws,
        .attach = {.timeout_s = 60, .is_cancelled = o->is_cancelled, .context = o->context}};
    snprintf(f->name, sizeof f->name, "%s", ws->jvm_path + strlen(workspace_prefix));
    unsigned events = o->events ? o->events : JVM_EVENT_CPU,
             known = JVM_EVENT_CPU | JVM_EVENT_ALLOC | JVM_EVENT_LOCK;
    if (!(events & known))
        return err_set(
            err, ERR_UNSUPPORTED,
            "the JVM's flight recorder supports only cpu, alloc and lock; other events need async-profiler");
    int version = java_version(f, err);
    if (version < 0) return version;
    bool is_timer_taken = jvm_asprof_is_loaded(proc);
    f->by_cpu_time = version >= 25 && !is_timer_taken;
    int rc = check_other_recordings(f, UINT_MAX, err);
    if (rc < 0) return rc;
    struct buf text = {0}, reply = {0};
    write_settings(&text, events, o, f->by_cpu_time);
    rc = jvm_workspace_write(ws, SETTINGS, text.data, text.len, err);
    text.len = 0;
    buf_printf(&text, "JFR.configure stackdepth=%u",
               o->jstack_depth && o->jstack_depth < 2048 ? o->jstack_depth : 512);
    if (rc == 0)
        (void)jcmd(f, buf_cstr(&text), &reply, NULL); /* has no effect after the JVM's first recording */
    text.len = 0;
    double duration_s = o->duration_s > 0 ? o->duration_s : 30;
    buf_printf(&text,
               "JFR.start name=%s settings=%s/" SETTINGS " disk=true maxsize=" MAX_SIZE
               " duration=%ds filename=%s/" UNCLAIMED,
               f->name, ws->jvm_path, (int)duration_s + EXTRA_S, ws->jvm_path);
    if (rc == 0) rc = begin_recording(f, buf_cstr(&text), err);
    snprintf(note, note_size, "sampled by the JVM's own flight recorder: only Java frames%s%s%s",
             !(events & JVM_EVENT_CPU) ? ""
             : f->by_cpu_time          ? ", CPU time by the JVM's timers"
             : version >= 25 ? ", samples of running threads instead of CPU time (async-profiler has the "
                               "signal of the JVM's timers)"
                             : ", samples of running threads instead of CPU time",
             events & JVM_EVENT_ALLOC ? ", allocations where a thread takes a new buffer" : "",
             events & ~known ? "; wall, live and native events are left out" : "");
    buf_free(&text);
    buf_free(&reply);
    return rc;
}

/* Runs JFR.dump or JFR.stop. Their reply is prose; only the file shows whether they succeeded. */
static int write_file(struct jvm_flight *f, const char *command, const char *file, struct err *err)
{
    struct buf text = {0}, reply = {0};
    buf_printf(&text, "%s name=%s filename=%s/%s", command, f->name, f->ws->jvm_path, file);
    int rc = jcmd(f, buf_cstr(&text), &reply, err);
    char path[700];
    snprintf(path, sizeof path, "%s/%s", f->ws->own_path, file);
    if (rc == 0 && access(path, F_OK) < 0)
        rc = err_set(err, ERR_IO, "the flight recorder of JVM %d wrote no file: %.200s", (int)f->proc->pid,
                     buf_cstr(&reply));
    buf_free(&text);
    buf_free(&reply);
    return rc;
}

int jvm_flight_dump(struct jvm_flight *f, char ret_file[32], struct err *err)
{
    char file[32];
    snprintf(file, sizeof file, "part%u.jfr", f->n_dumps);
    f->attach.timeout_s = 180; /* the JVM goes through all its records, slowly on a busy machine */
    int rc = write_file(f, "JFR.dump", file, err);
    if (rc < 0) return rc;
    snprintf(ret_file, 32, "%s", file);
    if (f->n_dumps++) {
        snprintf(file, sizeof file, "part%u.jfr", f->n_dumps - 2);
        jvm_workspace_remove(f->ws, file);
    }
    return 0;
}

int jvm_flight_stop(struct jvm_flight *f, const char *file, const struct jvm_attach_options *attach,
                    struct err *err)
{
    f->attach = *attach;
    return write_file(f, "JFR.stop", file, err);
}
