/* routes.h - what a path means: an answer at once, or a job to wait for. */
#ifndef AGENT_HTTP_ROUTES_H
#define AGENT_HTTP_ROUTES_H

#include "agent/host/pages.h"
#include "agent/http/http_request.h"
#include "agent/http/jobs.h"

struct routes_counters { /* all there is to see about bad clients: nothing is logged */
    unsigned long n_connections, n_requests, n_bad, n_denied, n_not_found, n_busy, n_too_slow, n_refused;
};
extern struct routes_counters routes_counters;

struct response {
    int status;
    const char *content_type;
    char file_name[64];    /* Content-Disposition; "": none */
    struct pages_buf body; /* ours to free, when there is no job */
    struct job *job;       /* the body comes from here when it is done */
    enum job_form form;
    int retry_after_s;
};

bool routes_is_health(const struct http_request *request);  /* answered always, to everybody, at once */
bool routes_is_open_to(const struct http_request *request); /* health, or the token is right */

/* Fills response; *response is zeroed. body_bytes: of the request. */
void routes_answer(const struct http_request *request, const char *body_bytes, struct response *response);

/* The job is done: status, type and the bytes to send (which stay the job's). */
void routes_finish(struct response *response, const char **ret_bytes, size_t *ret_n_bytes);

const char *routes_reason(int status);

#endif
