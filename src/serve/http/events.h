/* events.h - server-sent events: sends every change to all open pages. Any thread may call these functions.
 */
#ifndef SERVE_HTTP_EVENTS_H
#define SERVE_HTTP_EVENTS_H

#include "serve/http/http.h"

struct events;

struct events *events_new(void);
void events_free(struct events *e);
void events_stop(struct events *e); /* ends all streams; must be called before the HTTP server is stopped */

/* data is one line of JSON. Costs little when no page is open. */
void events_send(struct events *e, const char *kind, const char *data);
bool events_wanted(struct events *e);

/* Answers with the stream, or with 503 when too many pages are open. */
void events_listen(struct events *e, struct http_answer *a);

#endif
