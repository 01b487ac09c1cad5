/* agent.h - start of the library, for both ways in: linked (include/procprof.h) and preloaded (preload.c). */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

#include <stdbool.h>

#include "base/err.h"

int agent_start(const char *settings, struct err *err);
/* listen, token: as in struct pp_options, for what the settings do not say. All may be NULL. */
int agent_start_with(const char *settings, const char *listen, const char *token, struct err *err);
/* With the settings that are there. ERR_BUSY: it runs, or has not ended yet. */
int agent_start_again(struct err *err);
bool agent_is_started(void);

/* In the child of a fork, when the setting fork=1 says so: a thread that starts the server as soon as the
 * address is free. */
void agent_follow_fork(void);

#endif
