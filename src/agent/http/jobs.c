/* jobs.c - see jobs.h.
 *
 * Only the library's thread takes and frees entries of `jobs`. A job's own thread writes the result and sets
 * `done` as its last access to the entry, so the library's thread may read and free everything once it has
 * seen `done`. One thing crosses over while the job runs: the library's thread may add a form to a capture
 * (join) at the moment the job's thread begins to write the forms. form_lock orders the two: a form is added
 * before is_closed is set, and is written, or join fails and the client gets a job of its own.
 */
#include "agent/http/jobs.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/host/mappings.h"
#include "agent/host/threads.h"
#include "agent/host/wakeup.h"
#include "agent/hot/raw_clock.h"
#include "agent/names/agent_symbols.h"
#include "agent/sample/capture.h"

#define SHARED_NS 1000000000 /* for so long after its start, equal requests join a capture */

static struct job jobs[JOBS_MAX];
static pthread_mutex_t form_lock = PTHREAD_MUTEX_INITIALIZER; /* guards is_closed and wanted of all jobs */

static void finish(struct job *j)
{
    atomic_store(&j->done, true);
    wakeup_send();
}

static void write_forms(struct job *j, struct output *o)
{
    if (o->has_raw) {
        j->has_raw = true;
        j->bodies[0] = o->raw;
        o->raw = (struct pages_buf){0};
        return;
    }
    pthread_mutex_lock(&form_lock);
    j->is_closed = true;
    pthread_mutex_unlock(&form_lock);
    if (!j->status && j->wanted[JOB_PROTO]) j->status = output_write_proto(o, &j->bodies[JOB_PROTO], &j->err);
    if (!j->status && j->wanted[JOB_TEXT]) j->status = output_write_text(o, &j->bodies[JOB_TEXT], &j->err);
    if (!j->status && j->wanted[JOB_LEGACY]) {
        j->status = output_merge_stacks(o, &j->err);
        if (!j->status) j->status = output_write_legacy(o, &j->bodies[JOB_LEGACY], &j->err);
    }
}

static void *run_capture(void *argument)
{
    struct job *j = argument;
    struct output o = {0};
    j->status = capture_take(j->kind, &j->options, &j->cancel, &o, &j->err);
    if (!j->status) {
        write_forms(j, &o);
        output_free(&o);
    }
    finish(j);
    return NULL;
}

static void *run_names(void *argument)
{
    struct job *j = argument;
    struct mappings m;
    struct symbols symbols = {0};
    (void)mappings_read(&m);
    const char *text = j->request.data;
    for (int pass = 0; pass < 2 && !j->status; pass++) {
        for (const char *at = text; (at = strstr(at, "0x"));) {
            char *end;
            uintptr_t address = strtoull(at, &end, 16);
            if (end > at + 2) {
                if (pass == 0) {
                    symbols_add(&symbols, address);
                } else {
                    const char *name = symbols_name(&symbols, symbols_find(&symbols, address));
                    if (name) {
                        pages_buf_bytes(&j->bodies[0], at, (size_t)(end - at));
                        pages_buf_text(&j->bodies[0], "\t");
                        pages_buf_text(&j->bodies[0], name);
                        pages_buf_text(&j->bodies[0], "\n");
                    }
                }
            }
            at = end > at ? end : at + 1;
        }
        if (pass == 0 && symbols_resolve(&symbols, &m))
            j->status =
                err_set(&j->err, ERR_LIMIT,
                        "there is no memory for the names of so many addresses; ask for fewer at a time");
    }
    symbols_free(&symbols);
    mappings_free(&m);
    j->has_raw = true;
    finish(j);
    return NULL;
}

static void *run_control(void *argument)
{
    struct job *j = argument;
    j->status = j->kind->control(j->verb, &j->options, &j->bodies[0], &j->err);
    j->has_raw = true;
    finish(j);
    return NULL;
}

static struct job *take_job(struct err *err)
{
    for (unsigned i = 0; i < JOBS_MAX; i++) {
        if (jobs[i].used) continue;
        memset(&jobs[i], 0, sizeof jobs[i]);
        jobs[i].used = true;
        jobs[i].n_users = 1;
        return &jobs[i];
    }
    err_set(err, ERR_BUSY, "%d requests are being worked on; try again when one has ended", JOBS_MAX);
    return NULL;
}

static int start(struct job *j, void *(*run)(void *), struct job **ret_job, struct err *err)
{
    if (threads_start_own(run, j, "procprof-job")) {
        pages_buf_free(&j->request);
        j->used = false;
        return err_set(
            err, ERR_LIMIT,
            "cannot start a thread for this request: the process has reached a limit of threads or memory");
    }
    *ret_job = j;
    return 0;
}

/* Adds the form to a running capture; false when it is too late for that. */
static bool join(struct job *j, enum job_form form)
{
    pthread_mutex_lock(&form_lock);
    bool open = !j->is_closed && !atomic_load(&j->done) && !j->cancel;
    if (open) j->wanted[form] = true;
    pthread_mutex_unlock(&form_lock);
    if (open) j->n_users++;
    return open;
}

int jobs_capture(const struct kind *k, const struct kind_options *options, enum job_form form,
                 struct job **ret_job, struct err *err)
{
    for (unsigned i = 0; i < JOBS_MAX; i++) {
        struct job *j = &jobs[i];
        if (!j->used || j->kind != k || j->verb[0]) continue;
        bool same = j->options.seconds == options->seconds && j->options.rate == options->rate &&
                    j->options.has_seconds == options->has_seconds && j->options.legacy == options->legacy &&
                    j->options.raw == options->raw && (k->is_capture || !strcmp(j->query, options->query));
        if (same && clock_now_ns() - j->begin_ns < SHARED_NS && join(j, form)) {
            *ret_job = j;
            return 0;
        }
    }
    struct job *j = take_job(err);
    if (!j) return ERR_BUSY;
    j->kind = k;
    j->options = *options;
    snprintf(j->query, sizeof j->query, "%s", options->query);
    j->options.query = j->query;
    j->begin_ns = clock_now_ns();
    j->wanted[form] = true;
    return start(j, run_capture, ret_job, err);
}

int jobs_names(const char *request, size_t n_bytes, struct job **ret_job, struct err *err)
{
    struct job *j = take_job(err);
    if (!j) return ERR_BUSY;
    pages_buf_bytes(&j->request, request, n_bytes);
    pages_buf_bytes(&j->request, "", 1);
    if (j->request.failed) {
        j->used = false;
        return err_set(err, ERR_LIMIT,
                       "there is no memory for %zu bytes of addresses; ask for fewer at a time", n_bytes);
    }
    return start(j, run_names, ret_job, err);
}

int jobs_control(const struct kind *k, const char *verb, const struct kind_options *options,
                 struct job **ret_job, struct err *err)
{
    struct job *j = take_job(err);
    if (!j) return ERR_BUSY;
    j->kind = k;
    snprintf(j->verb, sizeof j->verb, "%s", verb);
    j->options = *options;
    snprintf(j->query, sizeof j->query, "%s", options->query);
    j->options.query = j->query;
    return start(j, run_control, ret_job, err);
}

static void free_job(struct job *j)
{
    for (unsigned i = 0; i < JOB_N_FORMS; i++) pages_buf_free(&j->bodies[i]);
    pages_buf_free(&j->request);
    j->used = false;
}

void jobs_release(struct job *j)
{
    if (j->n_users > 0) j->n_users--;
    if (j->n_users) return;
    if (atomic_load(&j->done))
        free_job(j);
    else
        j->cancel = true; /* jobs_running frees it when it is done */
}

unsigned jobs_running(void)
{
    unsigned n = 0;
    for (unsigned i = 0; i < JOBS_MAX; i++) {
        if (!jobs[i].used) continue;
        if (!atomic_load(&jobs[i].done))
            n++;
        else if (!jobs[i].n_users)
            free_job(&jobs[i]);
    }
    return n;
}

void jobs_forked(void)
{
    memset(jobs, 0, sizeof jobs);
    form_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}
