/* fetch.h - one blocking HTTP request, and the bytes of one profile from a file, standard input or a URL.
 * Many requests at the same time are the concern of pull.h; fetch_prepare makes their handles too. */
#ifndef COLLECT_FETCH_H
#define COLLECT_FETCH_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/file.h"

struct fetch_options { /* all zero: the defaults */
    double seconds;    /* >0: sets ?seconds= */
    double timeout_s;  /* 0: 1.5 times the seconds in the URL (at least 5 s more than them), else 60 s */
    size_t max_bytes;  /* of the answer; 0: 1 GiB */
    const char *bearer_token;
    const char *tls_cert, *tls_key, *tls_ca;
    bool insecure;          /* do not verify TLS */
    bool is_node;           /* a node of the cluster: no proxy, no redirects, the body as the node sends it */
    const char *post_body;  /* POST instead of GET; may be NULL */
    const char *user_agent; /* NULL: "procprof" */
    /* Called about once a second and when bytes arrive; a non-zero result stops the transfer. May be NULL. */
    int (*progress)(void *context, size_t received_bytes, double elapsed_s);
    void *progress_context;
};

bool fetch_is_url(const char *source); /* http://, https:// or https+insecure:// */

/* Reads the source into *ret_bytes, which the caller frees. "-" is standard input. A source that exists as a
 * file is read as a file even when it looks like a URL. A status other than 200 is ERR_DENIED (401, 403) or
 * ERR_IO; the error contains the status and the first line of a plain-text body. */
int fetch(const char *source, const struct fetch_options *options, struct bytes *ret_bytes, struct err *err);

struct fetch_answer {
    long status;           /* 0 when no answer arrived */
    char content_type[80]; /* "" when the server sent none */
    struct bytes body;     /* NUL-terminated; the caller frees it with bytes_free */
};

/* Makes one request and waits for its answer. Returns 0 when an answer arrived, of any status; else
 * ERR_TIMEOUT (also when progress stopped the transfer), ERR_LIMIT or ERR_IO. `seconds` is not used. */
int fetch_http(const char *url, const struct fetch_options *options, struct fetch_answer *ret_answer,
               struct err *err);

/* A curl handle for that request, without limits of time and size. *ret_headers must live as long as the
 * handle. */
CURL *fetch_prepare(const char *url, const struct fetch_options *options, struct curl_slist **ret_headers);

#endif
