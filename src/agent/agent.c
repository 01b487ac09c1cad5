/* agent.c - the public functions of include/procprof.h; start, stop and fork. */
#include "agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/host/config.h"
#include "agent/host/deadline.h"
#include "agent/host/loader.h"
#include "agent/host/profsignal.h"
#include "agent/host/sized.h"
#include "agent/host/threads.h"
#include "agent/hot/sampler.h"
#include "agent/http/agent_server.h"
#include "agent/sample/capture.h"
#include "agent/sample/labels.h"
#include "agent/unwind/tables.h"
#include "base/version.h"
#include "procprof.h"

#define PUBLIC __attribute__((visibility("default")))

/* Goes first in a public function and restores the host's errno when the function returns. */
#define PRESERVE_ERRNO __attribute__((cleanup(restore_errno), unused)) int errno_before = errno
static void restore_errno(const int *before)
{
    errno = *before;
}

#define MAX_SECONDS   1e6  /* of a capture */
#define CALLS_WAIT_MS 2000 /* how long the end waits for running calls */

/* Sizes of the structs in the first version of the header, up to their last member. */
#define FIRST_OPTIONS_BYTES (offsetof(struct pp_options, settings) + sizeof(char *))
#define FIRST_CAPTURE_BYTES (offsetof(struct pp_capture, format) + sizeof(char *))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* one start or stop at a time */
static bool has_fork_handlers;
static _Atomic bool started;
static _Thread_local struct err last_error;

/* Calls of pp_profile and pp_control that have not returned. Threads of the host add and remove their call;
 * pp_agent_stop cancels all calls and the library's thread waits for them. A call is an entry in this array
 * and not a variable on its thread's stack, because the host may leave the call by longjmp (out of a signal
 * handler) and reuse that stack while the entry is still here. Such an entry never becomes free; `run` lets
 * only the end of its own run wait for it, not the end of every later one. */
#define MAX_CALLS 1024
struct call {
    _Atomic bool cancel;
    unsigned run; /* in which the call began; 0: the entry is free */
};
static pthread_mutex_t calls_lock =
    PTHREAD_MUTEX_INITIALIZER; /* guards calls and current_run; started changes under it */
static struct call calls[MAX_CALLS];
static unsigned current_run; /* number of the latest start */

static int call_begin(struct call **ret_call)
{
    struct call *c = calls;
    pthread_mutex_lock(&calls_lock);
    bool is_running = started;
    while (is_running && c < calls + MAX_CALLS && c->run) c++;
    if (is_running && c < calls + MAX_CALLS) {
        c->cancel = false;
        c->run = current_run;
    }
    pthread_mutex_unlock(&calls_lock);
    if (!is_running)
        return err_set(&last_error, ERR_UNSUPPORTED,
                       "the profiler is not running; call pp_agent_start first");
    if (c == calls + MAX_CALLS)
        return err_set(&last_error, ERR_BUSY, "%d calls are running; try again when one has returned",
                       MAX_CALLS);
    threads_own_begin(); /* while it waits here, the thread appears in no profile */
    *ret_call = c;
    return 0;
}

static void call_end(struct call *c)
{
    threads_own_end();
    pthread_mutex_lock(&calls_lock);
    c->run = 0;
    pthread_mutex_unlock(&calls_lock);
}

static void calls_allow(void)
{
    pthread_mutex_lock(&calls_lock);
    if (++current_run == 0) current_run = 1;
    started = true;
    pthread_mutex_unlock(&calls_lock);
}

static void calls_cancel(void)
{
    pthread_mutex_lock(&calls_lock);
    started = false;
    for (struct call *c = calls; c < calls + MAX_CALLS; c++)
        if (c->run) c->cancel = true;
    pthread_mutex_unlock(&calls_lock);
}

static bool has_calls_left(void)
{
    bool some = false;
    pthread_mutex_lock(&calls_lock);
    for (struct call *c = calls; c < calls + MAX_CALLS; c++) some |= c->run == current_run;
    pthread_mutex_unlock(&calls_lock);
    return some;
}

PUBLIC const char *pp_version(void)
{
    return PROCPROF_VERSION;
}

PUBLIC const char *pp_error_text(void)
{
    return last_error.text;
}

/* In the child only the thread that called fork exists. Locks and entries of the parent's other threads would
 * never be released, so everything is reset. */
static void after_fork_in_child(void)
{
    lock = calls_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    memset(calls, 0, sizeof calls);
    loader_forked();
    epoch_reset(&sampler_epoch);
    sampler_own_tid = 0;
    server_forked();
    profsignal_forked();
    threads_forked();
    tables_forked();
    labels_forked();
    kinds_forked();
    bool was_started = started;
    started = false;
    if (was_started && config_flag("fork", false)) agent_follow_fork();
}

static int configure(const char *settings, const char *listen, const char *token, struct err *err)
{
    int status = config_load(settings ? settings : "", err);
    if (!status && listen) status = config_add("listen", listen, err);
    if (!status && token) status = config_add("token", token, err);
    return status;
}

/* Runs in the library's thread, as its last action. Switching profilers off needs the loader's lock, which a
 * thread of the host may hold for long. Here it delays the library's thread only, and not the thread of the
 * host that called pp_agent_stop. */
static void end_profilers(void)
{
    int64_t deadline_ns = deadline_after_ms(CALLS_WAIT_MS);
    while (has_calls_left() && deadline_sleep_us(deadline_ns, 1000)) continue;
    kinds_agent_stopped();
}

static int start_locked(struct err *err)
{
    if (!has_fork_handlers)
        has_fork_handlers = pthread_atfork(loader_before_fork, loader_after_fork, after_fork_in_child) == 0;
    int status = server_start(config_text("listen", "off"), end_profilers, err);
    if (status) return status;
    kinds_agent_started();
    calls_allow();
    return 0;
}

static int check_none_runs(struct err *err)
{
    if (started)
        return err_set(err, ERR_BUSY,
                       "the profiler is running already; call pp_agent_stop before you start it again");
    if (server_is_running())
        return err_set(err, ERR_BUSY, "the profiler is still stopping; try again in a moment");
    return 0;
}

int agent_start_with(const char *settings, const char *listen, const char *token, struct err *err)
{
    pthread_mutex_lock(&lock);
    int status = check_none_runs(err);
    if (!status) status = configure(settings, listen, token, err);
    if (!status) status = start_locked(err);
    pthread_mutex_unlock(&lock);
    return status;
}

int agent_start_again(struct err *err)
{
    pthread_mutex_lock(&lock);
    int status = check_none_runs(err);
    if (!status) status = start_locked(err);
    pthread_mutex_unlock(&lock);
    return status;
}

int agent_start(const char *settings, struct err *err)
{
    return agent_start_with(settings, NULL, NULL, err);
}

PUBLIC int pp_agent_start(const struct pp_options *options)
{
    THREADS_NOT_CANCELLED;
    PRESERVE_ERRNO;
    struct pp_options o = {.size = sizeof o};
    int status =
        options ? sized_copy(&o, sizeof o, options, FIRST_OPTIONS_BYTES, "pp_options", &last_error) : 0;
    return status ? status : agent_start_with(o.settings, o.listen, o.token, &last_error);
}

PUBLIC void pp_agent_stop(void)
{
    THREADS_NOT_CANCELLED;
    PRESERVE_ERRNO;
    pthread_mutex_lock(&lock);
    if (started) {
        calls_cancel();
        server_stop();
    }
    pthread_mutex_unlock(&lock);
}

PUBLIC int pp_agent_port(void)
{
    return server_port();
}

static bool is_format(const char *format, const char *name)
{
    return !strcmp(format ? format : "proto", name);
}

static int write_in_format(struct output *o, const char *format, struct pages_buf *body)
{
    if (o->has_raw) {
        *body = o->raw;
        o->raw = (struct pages_buf){0};
        return 0;
    }
    if (is_format(format, "proto")) return output_write_proto(o, body, &last_error);
    if (is_format(format, "text")) return output_write_text(o, body, &last_error);
    int status = output_merge_stacks(o, &last_error);
    return status ? status : output_write_legacy(o, body, &last_error);
}

/* Reports every wrong argument before the capture and not after it. */
static int check_capture(const struct pp_capture *c, const struct kind **ret_kind)
{
    if (!c->kind)
        return err_set(&last_error, ERR_INPUT,
                       "pp_capture.kind is NULL; set it to a profile such as \"profile\" or \"heap\"");
    if (!(c->seconds >= 0 && c->seconds <= MAX_SECONDS))
        return err_set(&last_error, ERR_INPUT, "pp_capture.seconds is %g; use 0 to %g", c->seconds,
                       MAX_SECONDS);
    if (!is_format(c->format, "proto") && !is_format(c->format, "text") && !is_format(c->format, "legacy"))
        return err_set(&last_error, ERR_INPUT, "pp_capture.format is \"%s\"; use proto, legacy or text",
                       c->format);
    *ret_kind = kind_find(c->kind, strlen(c->kind));
    if (*ret_kind) return 0;
    return err_set(&last_error, ERR_NOT_FOUND,
                   "this process has no profile \"%s\"; procprof.h lists the kinds", c->kind);
}

static int capture(const struct pp_capture *given, struct pages_buf *body)
{
    struct pp_capture c;
    const struct kind *k = NULL;
    struct output o = {0};
    struct call *call = NULL;
    if (!given) return err_set(&last_error, ERR_INPUT, "the pointer to struct pp_capture is NULL");
    int status = sized_copy(&c, sizeof c, given, FIRST_CAPTURE_BYTES, "pp_capture", &last_error);
    if (!status) status = check_capture(&c, &k);
    if (!status) status = call_begin(&call);
    if (status) return status;
    struct kind_options options = {.seconds = c.seconds,
                                   .has_seconds = c.seconds > 0,
                                   .rate = c.frequency,
                                   .legacy = is_format(c.format, "legacy"),
                                   .query = ""};
    status = capture_take(k, &options, &call->cancel, &o, &last_error);
    if (!status) {
        status = write_in_format(&o, c.format, body);
        output_free(&o);
        if (status) pages_buf_free(body);
    }
    call_end(call);
    return status;
}

PUBLIC int pp_profile(const struct pp_capture *c, void **bytes, size_t *n_bytes)
{
    THREADS_NOT_CANCELLED;
    PRESERVE_ERRNO;
    struct pages_buf body = {0};
    if (!bytes || !n_bytes) return err_set(&last_error, ERR_INPUT, "pp_profile: bytes or n_bytes is NULL");
    int status = capture(c, &body);
    if (status) return status;
    /* pp_free gets only the size of the content, so whole pages behind it are unmapped now. */
    size_t page = (size_t)sysconf(_SC_PAGESIZE), kept = (body.size + page - 1) / page * page;
    if (kept == 0) kept = page;
    if (body.room > kept) pages_unmap(body.data + kept, body.room - kept);
    *bytes = body.data;
    *n_bytes = body.size;
    return 0;
}

PUBLIC void pp_free(void *bytes, size_t n_bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (bytes) pages_unmap(bytes, n_bytes ? (n_bytes + page - 1) / page * page : page);
}

/* 0 or an errno. */
static int write_all(int fd, const char *bytes, size_t n_bytes)
{
    for (size_t done = 0; done < n_bytes;) {
        ssize_t n = write(fd, bytes + done, n_bytes - done);
        if (n < 0 && errno != EINTR) return errno;
        if (n > 0) done += (size_t)n;
    }
    return 0;
}

PUBLIC int pp_profile_to_file(const struct pp_capture *c, const char *path)
{
    THREADS_NOT_CANCELLED;
    PRESERVE_ERRNO;
    static _Atomic unsigned n_files;
    struct pages_buf body = {0};
    char part[4096]; /* a name of its own: other threads and processes may write the same path */
    if (!path ||
        snprintf(part, sizeof part, "%s.%d.%u.part", path, (int)getpid(), n_files++) >= (int)sizeof part)
        return err_set(&last_error, ERR_INPUT, "pp_profile_to_file: the path is %s",
                       path ? "too long" : "NULL");
    int status = capture(c, &body);
    if (status) return status;
    int fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int why = fd < 0 ? errno : write_all(fd, body.data, body.size);
    if (fd >= 0 && close(fd) && !why) why = errno;
    if (!why && rename(part, path)) why = errno;
    if (fd >= 0 && why) unlink(part);
    pages_buf_free(&body);
    return why ? err_errno(&last_error, why, "cannot write the profile to %s", path) : 0;
}

PUBLIC int pp_control(const char *kind, const char *verb, const char *query, char *reply, size_t size)
{
    THREADS_NOT_CANCELLED;
    PRESERVE_ERRNO;
    if (!kind || !verb) return err_set(&last_error, ERR_INPUT, "pp_control: kind or verb is NULL");
    const struct kind *k = kind_find(kind, strlen(kind));
    if (!k || !k->control)
        return err_set(&last_error, ERR_NOT_FOUND,
                       "this process has no profile \"%s\" that can be switched on or off", kind);
    struct kind_options options = {.query = query ? query : ""};
    struct pages_buf text = {0};
    struct call *call = NULL;
    int status = call_begin(&call);
    if (status) return status;
    status = k->control(verb, &options, &text, &last_error);
    call_end(call);
    if (reply && size) snprintf(reply, size, "%.*s", (int)text.size, text.size ? text.data : "");
    pages_buf_free(&text);
    return status;
}

PUBLIC int pp_label_set(const char *key, const char *value)
{
    THREADS_NOT_CANCELLED;
    PRESERVE_ERRNO;
    if (!key || !*key) return err_set(&last_error, ERR_INPUT, "pp_label_set: the key is NULL or empty");
    if (labels_set(key, value))
        return err_set(&last_error, ERR_LIMIT,
                       "pp_label_set: the thread would have more than 8 labels, or the process has 16,383 "
                       "different sets of labels");
    return 0;
}
