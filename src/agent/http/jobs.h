/* jobs.h - work that takes longer than the library's thread may wait: captures, control verbs, the search for
 * names. Each job runs in a thread of its own and wakes the library's thread (wakeup.h) when it is done.
 *
 * Clients that ask for the same capture within one second share one job. Other captures of one kind may
 * overlap; capture_take (sample/capture.h) decides how.
 *
 * Threads: all functions but jobs_forked are for the library's thread.
 */
#ifndef AGENT_HTTP_JOBS_H
#define AGENT_HTTP_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/sample/kinds.h"

#define JOBS_MAX 16

enum job_form { JOB_PROTO, JOB_LEGACY, JOB_TEXT, JOB_N_FORMS };

struct job {
    bool used;
    int n_users;             /* connections that wait for it or send its result */
    const struct kind *kind; /* NULL: a search for names */
    char verb[32];           /* of a control job; "": another one */
    struct kind_options options;
    char query[2048];
    int64_t begin_ns;         /* of a capture, on the monotonic clock */
    bool wanted[JOB_N_FORMS]; /* guarded by form_lock (jobs.c) until is_closed is set, then constant */
    _Atomic bool cancel;
    bool is_closed;           /* no form can be added any more */
    struct pages_buf request; /* the body of a search for names */
    /* The result. The job's thread writes it before it sets done; the library's thread reads it after. */
    _Atomic bool done;
    int status; /* 0 or an err code */
    struct err err;
    bool has_raw;
    struct pages_buf bodies[JOB_N_FORMS]; /* only [0] when has_raw */
};

/* Joins an equal capture that began less than a second ago, or starts a new one, with the result in this
 * form. ERR_BUSY when JOBS_MAX jobs exist. */
int jobs_capture(const struct kind *k, const struct kind_options *options, enum job_form form,
                 struct job **ret_job, struct err *err);

/* Searches names: the request "0x1+0x2..." becomes lines "0x1\tname". The request is copied. */
int jobs_names(const char *request, size_t n_bytes, struct job **ret_job, struct err *err);

/* Runs a control verb of a kind. */
int jobs_control(const struct kind *k, const char *verb, const struct kind_options *options,
                 struct job **ret_job, struct err *err);

/* To be called when a connection no longer needs the job (its answer was sent, or it was closed). The last
 * call cancels the job if it still runs; the job is freed when it is done. */
void jobs_release(struct job *job);

/* Frees finished jobs that no connection needs, and returns how many jobs run. */
unsigned jobs_running(void);
void jobs_forked(void); /* in the child of a fork */

#endif
