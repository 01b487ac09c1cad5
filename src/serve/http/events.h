/* events.h - server-sent events: what happens, to every page that listens. */
#ifndef SERVE_HTTP_EVENTS_H
#define SERVE_HTTP_EVENTS_H

#include "serve/http/http.h"

struct events;

struct events *events_new(void);
void events_free(struct events *e);
void events_stop(struct events *e); /* ends all listeners; before the HTTP server is stopped */

/* data: one line of JSON. Cheap when nobody listens. */
void events_send(struct events *e, const char *kind, const char *data);
bool events_wanted(struct events *e);

/* Answers with the stream; 503 when there are too many listeners. */
void events_listen(struct events *e, struct http_answer *a);

#endif
