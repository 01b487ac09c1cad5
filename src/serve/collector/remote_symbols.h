/* remote_symbols.h - names for a profile that came without any, from the process itself: POST /pprof/symbol.
 */
#ifndef SERVE_COLLECTOR_REMOTE_SYMBOLS_H
#define SERVE_COLLECTOR_REMOTE_SYMBOLS_H

#include "base/file.h"
#include "profile/profile.h"

/* One POST; 0 and the reply, or a code. */
typedef int remote_post(void *context, const char *path, const char *body, struct bytes *ret_reply);

/* Locations that the node can name get a function; the others stay as they are. Asking must be soon: after a
 * restart of the process its addresses mean something else. */
void remote_symbols(remote_post *post, void *context, struct profile *p);

#endif
