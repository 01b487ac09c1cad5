/* remote_symbols.h - names for a profile that came without any, from the process itself (POST /pprof/symbol).
 */
#ifndef SERVE_COLLECTOR_REMOTE_SYMBOLS_H
#define SERVE_COLLECTOR_REMOTE_SYMBOLS_H

#include "base/file.h"
#include "profile/profile.h"

/* Makes one POST request. Returns 0 and the body of the answer, or an error code. */
typedef int remote_post(void *context, const char *path, const char *body, struct bytes *ret_reply);

/* Gives every location that has an address and no function the function that the node names, demangled.
 * Locations that the node cannot name stay as they are. The caller must ask soon: after a restart of the
 * process its addresses mean something else. */
void remote_symbols(remote_post *post, void *context, struct profile *p);

#endif
