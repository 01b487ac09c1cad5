/* pprof_web.h - `pprof -http=HOST:PORT`: shows profiles on our page. */
#ifndef CMD_PPROF_PPROF_WEB_H
#define CMD_PPROF_PPROF_WEB_H

#include "cmd/load.h"

/* Serves until a signal ends it, and returns the exit status. */
int pprof_web(const char *host_and_port, bool open_browser, const struct load_options *loading);

#endif
