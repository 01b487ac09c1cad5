/* sessions.h - finds the user of a request by cookie, HTTP Basic or token, and protects against CSRF.
 *
 * A browser that is not logged in has a random cookie that the server does not store; its CSRF token is a
 * keyed hash of the cookie. Only logins are stored, in memory, for 24 hours. Any thread may call these
 * functions.
 */
#ifndef SERVE_HTTP_SESSIONS_H
#define SERVE_HTTP_SESSIONS_H

#include <stdbool.h>

#include "serve/cluster/cluster.h"
#include "serve/http/http.h"

struct sessions;

struct sessions *sessions_new(void);
void sessions_free(struct sessions *s);

/* Makes a new cookie, in q->session and in a header of the answer. user is NULL when not logged in. */
void sessions_begin(struct sessions *s, struct http_request *q, struct http_answer *a,
                    const struct cluster_user *user);
void sessions_end(struct sessions *s, struct http_request *q, struct http_answer *a);
/* Finds the user of the request. A login ends when the password of the user changes. */
bool sessions_user(struct sessions *s, struct cluster *cluster, const char *cookie,
                   struct cluster_user *ret_user);

void sessions_csrf(struct sessions *s, const char *cookie, char token[33]);
bool sessions_csrf_matches(struct sessions *s, struct http_request *q);

#endif
