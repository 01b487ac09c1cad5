/* remote_symbols.h - names for a profile that came without any, from the process itself: POST /pprof/symbol.
 */
#ifndef SERVE_REMOTE_SYMBOLS_H
#define SERVE_REMOTE_SYMBOLS_H

#include "profile/profile.h"
#include "serve/cluster.h"

/* Locations that the node can name get a function; the others stay as they are. Asking must be soon: after a
 * restart of the process its addresses mean something else. */
void remote_symbols(struct cluster *cluster, int32_t node, struct profile *p);

#endif
