/* pull.h - many HTTP transfers at the same time, on one thread. A slow server does not delay the other
 * transfers.
 *
 * The caller prepares a curl handle (URL, headers) and hands it over. pull receives the body, up to a limit,
 * and calls back when the transfer is over. Callbacks run on pull's thread and must be short.
 */
#ifndef COLLECT_PULL_H
#define COLLECT_PULL_H

#include <curl/curl.h>
#include <stddef.h>

#include "base/err.h"
#include "base/file.h"

struct pull;

struct pull_result {
    int code;              /* 0: an answer arrived; else ERR_TIMEOUT, ERR_IO or ERR_LIMIT */
    long status;           /* of the answer: 200, 404 ... */
    struct bytes body;     /* the callback may take it and set it to zero; otherwise it is freed afterwards */
    char content_type[80]; /* "": the header is missing */
    char server[64];       /* the Server header, which names program and version; "": it is missing */
    const char *error;     /* the reason when code is not 0; valid during the callback */
};

typedef void pull_done(void *context, struct pull_result *result);

int pull_start(struct pull **ret_pull, struct err *err);
/* Ends pull's thread. The callbacks of unfinished transfers get ERR_IO "stopped" before this returns. p may
 * be NULL. */
void pull_stop(struct pull *p);

/* Starts a transfer and takes ownership of easy and headers. timeout_s limits the whole transfer. Any thread.
 * done is called exactly once, on pull's thread; after pull_stop has begun, on the calling thread. */
void pull_add(struct pull *p, CURL *easy, struct curl_slist *headers, double timeout_s, size_t max_bytes,
              pull_done *done, void *context);

#endif
