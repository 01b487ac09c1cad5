/* jobs.h - work that takes longer than the HTTP thread may wait: captures, and the search for names. Each
 * runs in a thread of its own and rings the bell (wakeup.h) when it is done.
 *
 * Who asks for the same thing within a second gets the same result. Captures of one kind may overlap
 * otherwise too: how is the matter of capture_take.
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
    int n_users;             /* connections that wait for it or are sending its result */
    const struct kind *kind; /* NULL: a search for names */
    char verb[32];           /* of a control job */
    struct kind_options options;
    char query[2048];
    int64_t begin_ns;         /* of a capture, on the clock that never jumps */
    bool wanted[JOB_N_FORMS]; /* until is_closed under a lock */
    _Atomic bool cancel;
    bool is_closed;           /* forms can no longer be added */
    struct pages_buf request; /* of a search for names: the body */
    /* the result, when done */
    _Atomic bool done;
    int status; /* 0 or an err code */
    struct err err;
    bool has_raw;
    struct pages_buf bodies[JOB_N_FORMS]; /* has_raw: all in [0] */
};

/* A capture in this form: one that has just begun when it is the same, else a new one. ERR_BUSY: there are
 * too many. */
int jobs_capture(const struct kind *k, const struct kind_options *options, enum job_form form,
                 struct job **ret_job, struct err *err);

/* "0x1+0x2..." -> lines "0x1\tname". Takes the bytes over by copy. */
int jobs_names(const char *request, size_t n_bytes, struct job **ret_job, struct err *err);

/* A control verb of a kind. */
int jobs_control(const struct kind *k, const char *verb, const struct kind_options *options,
                 struct job **ret_job, struct err *err);

/* A connection is through with it (sent, or gone). The last one cancels it when it still runs, and frees it.
 */
void jobs_release(struct job *job);

unsigned jobs_running(void);
void jobs_forked(void);

#endif
