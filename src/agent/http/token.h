/* token.h - the one secret of the HTTP server. */
#ifndef AGENT_HTTP_TOKEN_H
#define AGENT_HTTP_TOKEN_H

#include <stdbool.h>

/* Does this Authorization header open the door? Bearer TOKEN, or Basic with the token as the password (what a
 * URL can carry: Go's pprof and curl send it). Always true when no token is set. */
bool token_allows(const char *authorization);
bool token_is_set(void);

#endif
