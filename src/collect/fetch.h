/* fetch.h - one profile's bytes from a file, standard input or an http(s) URL. */
#ifndef COLLECT_FETCH_H
#define COLLECT_FETCH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/file.h"

struct fetch_options { /* all zero: the defaults */
    double seconds;    /* >0: sets ?seconds= */
    double timeout_s;  /* 0: seconds * 1.5 (at least 60), as pprof does */
    size_t max_bytes;  /* 0: 1 GiB */
    const char *bearer_token;
    const char *tls_cert, *tls_key, *tls_ca;
    bool insecure;          /* do not verify TLS */
    const char *post_body;  /* POST instead of GET; may be NULL */
    const char *user_agent; /* NULL: "procprof/VERSION" */
    /* Called now and then with what has arrived; non-zero stops the transfer. May be NULL. */
    int (*progress)(void *context, size_t received_bytes, double elapsed_s);
    void *progress_context;
};

bool fetch_is_url(const char *source); /* http://, https:// or https+insecure:// */

/* An existing file wins over a URL. Not 200: ERR_IO with the status (and the body's text when the server sent
 * plain text). */
int fetch(const char *source, const struct fetch_options *options, struct bytes *ret_bytes, struct err *err);

#endif
