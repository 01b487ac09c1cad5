/* token.h - access control: the one token of the HTTP server. */
#ifndef AGENT_HTTP_TOKEN_H
#define AGENT_HTTP_TOKEN_H

#include <stdbool.h>

/* Whether this Authorization header contains the token: as Bearer TOKEN, or as a Basic password, which Go's
 * pprof and curl send for http://user:TOKEN@host/. Always true when no token is set. */
bool token_allows(const char *authorization);
bool token_is_set(void);

#endif
