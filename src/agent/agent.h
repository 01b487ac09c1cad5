/* agent.h - starts the library, linked (include/procprof.h) or preloaded (preload.c). Any thread. */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

#include "base/err.h"

/* Starts with these settings (config.h). All three fail with ERR_BUSY when the library runs or is still
 * stopping. */
int agent_start(const char *settings, struct err *err);
/* The same; listen and token are those of struct pp_options and apply when the settings do not name them.
 * Each argument may be NULL. */
int agent_start_with(const char *settings, const char *listen, const char *token, struct err *err);
/* Starts with the settings of the last start. */
int agent_start_again(struct err *err);

/* In the child of a fork, with the setting fork=1: starts a thread that starts the library as soon as the
 * address is free. */
void agent_follow_fork(void);

#endif
