/* pull.h - many HTTP transfers at the same time, on one thread: a slow or silent server delays nobody else.
 *
 * The caller prepares a curl handle (URL, headers, limits) and hands it over; pull takes the body, bounded,
 * and tells when it is over. Callbacks run on pull's thread and must be short.
 */
#ifndef COLLECT_PULL_H
#define COLLECT_PULL_H

#include <curl/curl.h>
#include <stddef.h>

#include "base/err.h"
#include "base/file.h"

struct pull;

struct pull_result {
    int code; /* 0: an answer came, of whatever status; else ERR_TIMEOUT, ERR_IO, ERR_LIMIT */
    long status;
    struct bytes body;     /* of any status; the callback's to take (set it to zero) or to leave */
    char content_type[80]; /* "" when none was sent */
    char server[64];       /* the header of that name, which says program and version; "": none */
    const char *error;     /* when code is not 0 */
};

typedef void pull_done(void *context, struct pull_result *result);

int pull_start(struct pull **ret_pull, struct err *err);
void pull_stop(struct pull *p); /* what is under way ends with ERR_IO "stopped"; NULL is fine */

/* Takes the handle. timeout_s bounds the whole transfer. Any thread may call it. */
void pull_add(struct pull *p, CURL *easy, struct curl_slist *headers, double timeout_s, size_t max_bytes,
              pull_done *done, void *context);

#endif
