/* sessions.h - who asks: cookies, HTTP Basic, tokens; and the answer to CSRF.
 *
 * A browser that is not logged in has a cookie too, a random one that is kept nowhere: its CSRF token is a
 * keyed hash of it. Only logins are kept, in memory, for 24 hours.
 */
#ifndef SERVE_HTTP_SESSIONS_H
#define SERVE_HTTP_SESSIONS_H

#include <stdbool.h>

#include "serve/cluster/cluster.h"
#include "serve/http/http.h"

struct sessions;

struct sessions *sessions_new(void);
void sessions_free(struct sessions *s);

/* A new cookie value into q->session (and a header of the answer). user NULL: not logged in. */
void sessions_begin(struct sessions *s, struct http_request *q, struct http_answer *a,
                    const struct cluster_user *user);
void sessions_end(struct sessions *s, struct http_request *q, struct http_answer *a);
/* Whose it is. A login ends when the password it was made with is no more. */
bool sessions_user(struct sessions *s, struct cluster *cluster, const char *cookie,
                   struct cluster_user *ret_user);

void sessions_csrf(struct sessions *s, const char *cookie, char token[33]);
bool sessions_csrf_matches(struct sessions *s, struct http_request *q);

#endif
