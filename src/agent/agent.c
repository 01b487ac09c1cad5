/* agent.c - the public functions of include/procprof.h, and what happens at start and fork. */
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
#include "procprof.h"

#define PUBLIC __attribute__((visibility("default")))

/* First in a public function: errno is the host's. */
#define KEEPS_ERRNO __attribute__((cleanup(set_errno), unused)) int errno_before = errno
static void set_errno(const int *before)
{
    errno = *before;
}

#define MAX_SECONDS   1e6  /* of a capture */
#define CALLS_WAIT_MS 2000 /* for the calls under way, at the end */

/* Of the first version of the header: up to its last member. */
#define FIRST_OPTIONS_BYTES (offsetof(struct pp_options, settings) + sizeof(char *))
#define FIRST_CAPTURE_BYTES (offsetof(struct pp_capture, format) + sizeof(char *))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* start and stop */
static bool forks_are_watched;
static _Atomic bool started;
static _Thread_local struct err last_error;

/* Calls of pp_profile and pp_control under way: the end waits for them. Not on the stacks of their threads: a
 * host that jumps out of one (a signal handler's longjmp) has its stack for other things while its call still
 * stands here. Such a call is waited for at the end of its own run, and no more. */
#define MAX_CALLS 1024
struct call {
    _Atomic bool cancel;
    unsigned run; /* it began in; 0: free */
};
static pthread_mutex_t calls_lock = PTHREAD_MUTEX_INITIALIZER;
static struct call calls[MAX_CALLS];
static unsigned run; /* counts the starts */

static int call_begin(struct call **ret_call)
{
    struct call *c = calls;
    pthread_mutex_lock(&calls_lock);
    bool may = started;
    while (may && c < calls + MAX_CALLS && c->run) c++;
    if (may && c < calls + MAX_CALLS) {
        c->cancel = false;
        c->run = run;
    }
    pthread_mutex_unlock(&calls_lock);
    if (!may) return err_set(&last_error, ERR_UNSUPPORTED, "pp_agent_start has not been called");
    if (c == calls + MAX_CALLS) return err_set(&last_error, ERR_BUSY, "%d calls are under way", MAX_CALLS);
    threads_own_begin(); /* the thread that waits is in no profile */
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
    if (++run == 0) run = 1;
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

static bool calls_are_left(void)
{
    bool some = false;
    pthread_mutex_lock(&calls_lock);
    for (struct call *c = calls; c < calls + MAX_CALLS; c++) some |= c->run == run;
    pthread_mutex_unlock(&calls_lock);
    return some;
}

PUBLIC const char *pp_version(void)
{
    return "0.1.0";
}

PUBLIC const char *pp_error_text(void)
{
    return last_error.text;
}

/* In the child only the calling thread exists; everything the others held is theirs no more. */
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

/* In the library's own thread, as its last: whoever keeps the loader, or waits for it inside a switch, keeps
 * that thread and not the host's that called pp_agent_stop. */
static void end_profilers(void)
{
    int64_t deadline_ns = deadline_after_ms(CALLS_WAIT_MS);
    while (calls_are_left() && deadline_sleep_us(deadline_ns, 1000)) continue;
    kinds_agent_stopped();
}

static int start_locked(struct err *err)
{
    if (!forks_are_watched)
        forks_are_watched = pthread_atfork(loader_before_fork, loader_after_fork, after_fork_in_child) == 0;
    int status = server_start(config_text("listen", "off"), end_profilers, err);
    if (status) return status;
    kinds_agent_started();
    calls_allow();
    return 0;
}

/* ERR_BUSY, or 0. */
static int check_none_runs(struct err *err)
{
    if (started) return err_set(err, ERR_BUSY, "the agent runs already");
    if (server_is_running()) return err_set(err, ERR_BUSY, "the agent is still about to end");
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

bool agent_is_started(void)
{
    return started;
}

PUBLIC int pp_agent_start(const struct pp_options *options)
{
    THREADS_NOT_CANCELLED;
    KEEPS_ERRNO;
    struct pp_options o = {.size = sizeof o};
    int status =
        options ? sized_copy(&o, sizeof o, options, FIRST_OPTIONS_BYTES, "pp_options", &last_error) : 0;
    return status ? status : agent_start_with(o.settings, o.listen, o.token, &last_error);
}

PUBLIC void pp_agent_stop(void)
{
    THREADS_NOT_CANCELLED;
    KEEPS_ERRNO;
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

static bool is_form(const char *format, const char *name)
{
    return !strcmp(format ? format : "proto", name);
}

static int write_form(struct output *o, const char *format, struct pages_buf *body)
{
    if (o->has_raw) {
        *body = o->raw;
        o->raw = (struct pages_buf){0};
        return 0;
    }
    if (is_form(format, "proto")) return output_write_proto(o, body, &last_error);
    if (is_form(format, "text")) return output_write_text(o, body, &last_error);
    int status = output_merge_stacks(o, &last_error);
    return status ? status : output_write_legacy(o, body, &last_error);
}

/* All that can be wrong is said before the capture, not after it. */
static int check_capture(const struct pp_capture *c, const struct kind **ret_kind)
{
    if (!c->kind) return err_set(&last_error, ERR_INPUT, "pp_capture.kind is not set");
    if (!(c->seconds >= 0 && c->seconds <= MAX_SECONDS))
        return err_set(&last_error, ERR_INPUT, "pp_capture.seconds is %g, must be 0 to %g", c->seconds,
                       MAX_SECONDS);
    if (!is_form(c->format, "proto") && !is_form(c->format, "text") && !is_form(c->format, "legacy"))
        return err_set(&last_error, ERR_INPUT, "format \"%s\": must be proto, legacy or text", c->format);
    *ret_kind = kind_find(c->kind, strlen(c->kind));
    if (*ret_kind) return 0;
    return err_set(&last_error, ERR_NOT_FOUND, "there is no profile called \"%s\" here", c->kind);
}

static int capture(const struct pp_capture *given, struct pages_buf *body)
{
    struct pp_capture c;
    const struct kind *k = NULL;
    struct output o = {0};
    struct call *call = NULL;
    if (!given) return err_set(&last_error, ERR_INPUT, "pp_capture: none is given");
    int status = sized_copy(&c, sizeof c, given, FIRST_CAPTURE_BYTES, "pp_capture", &last_error);
    if (!status) status = check_capture(&c, &k);
    if (!status) status = call_begin(&call);
    if (status) return status;
    struct kind_options options = {.seconds = c.seconds,
                                   .has_seconds = c.seconds > 0,
                                   .rate = c.frequency,
                                   .legacy = is_form(c.format, "legacy"),
                                   .query = ""};
    status = capture_take(k, &options, &call->cancel, &o, &last_error);
    if (!status) {
        status = write_form(&o, c.format, body);
        output_free(&o);
        if (status) pages_buf_free(body);
    }
    call_end(call);
    return status;
}

PUBLIC int pp_profile(const struct pp_capture *c, void **bytes, size_t *n_bytes)
{
    THREADS_NOT_CANCELLED;
    KEEPS_ERRNO;
    struct pages_buf body = {0};
    if (!bytes || !n_bytes) return err_set(&last_error, ERR_INPUT, "pp_profile: no place for the profile");
    int status = capture(c, &body);
    if (status) return status;
    /* pp_free gets the size of the content; what lies behind it on whole pages goes back now. */
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

/* 0, or why not. */
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
    KEEPS_ERRNO;
    static _Atomic unsigned n_files;
    struct pages_buf body = {0};
    char part[4096]; /* a new file, whoever else writes or links to what is there */
    if (!path ||
        snprintf(part, sizeof part, "%s.%d.%u.part", path, (int)getpid(), n_files++) >= (int)sizeof part)
        return err_set(&last_error, ERR_INPUT, "pp_profile_to_file: the path is %s",
                       path ? "too long" : "missing");
    int status = capture(c, &body);
    if (status) return status;
    int fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int why = fd < 0 ? errno : write_all(fd, body.data, body.size);
    if (fd >= 0 && close(fd) && !why) why = errno;
    if (!why && rename(part, path)) why = errno;
    if (fd >= 0 && why) unlink(part);
    pages_buf_free(&body);
    return why ? err_errno(&last_error, why, "writing %s", path) : 0;
}

PUBLIC int pp_control(const char *kind, const char *verb, const char *query, char *reply, size_t size)
{
    THREADS_NOT_CANCELLED;
    KEEPS_ERRNO;
    if (!kind || !verb) return err_set(&last_error, ERR_INPUT, "pp_control: kind or verb is missing");
    const struct kind *k = kind_find(kind, strlen(kind));
    if (!k || !k->control)
        return err_set(&last_error, ERR_NOT_FOUND, "\"%s\" is no profile that has switches", kind);
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
    KEEPS_ERRNO;
    if (!key || !*key) return err_set(&last_error, ERR_INPUT, "a label needs a key");
    if (labels_set(key, value)) return err_set(&last_error, ERR_LIMIT, "too many labels");
    return 0;
}
