/* pprof_web.h - `pprof -http=HOST:PORT`: the page over these profiles. */
#ifndef CMD_PPROF_PPROF_WEB_H
#define CMD_PPROF_PPROF_WEB_H

#include "cmd/load.h"

/* Serves until it is stopped; returns the exit status. */
int pprof_web(const char *host_and_port, bool open_browser, const struct load_options *loading);

#endif
