/* routes.h - the endpoints: turns a request into an answer, or into a job whose result is the answer. */
#ifndef AGENT_HTTP_ROUTES_H
#define AGENT_HTTP_ROUTES_H

#include "agent/host/pages.h"
#include "agent/http/http_request.h"
#include "agent/http/jobs.h"

struct routes_counters { /* shown by /debug/pprof/status; nothing is logged */
    unsigned long n_connections, n_requests, n_bad, n_denied, n_not_found, n_busy, n_too_slow, n_refused;
};
extern struct routes_counters routes_counters;

struct response {
    int status;
    const char *content_type;
    char file_name[64];    /* Content-Disposition; "": none */
    struct pages_buf body; /* the answer when there is no job; freed by the server */
    struct job *job;       /* routes_finish makes the answer from it when it is done */
    enum job_form form;
    int retry_after_s;
};

bool routes_is_health(const struct http_request *request);  /* /health: answered at once, without a token */
bool routes_is_allowed(const struct http_request *request); /* /health, or the token is right */

/* Fills the response, which must be zeroed, or starts a job. body_bytes is the request's body. */
void routes_answer(const struct http_request *request, const char *body_bytes, struct response *response);

/* For a response whose job is done: sets status and type, and returns the bytes to send. They belong to the
 * response or its job. */
void routes_finish(struct response *response, const char **ret_bytes, size_t *ret_n_bytes);

const char *routes_reason(int status);

#endif
