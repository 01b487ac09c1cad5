/* jeprof_remote.h - profiles from a server with /pprof pages, as jeprof asks for them. */
#ifndef CMD_JEPROF_JEPROF_REMOTE_H
#define CMD_JEPROF_JEPROF_REMOTE_H

#include <stdbool.h>

#include "cmd/jeprof/jeprof_options.h"
#include "cmd/jeprof/jeprof_profile.h"

struct jeprof_url { /* release with jeprof_url_free */
    char *base;     /* "http://host:port/prefix": /pprof/symbol and /pprof/cmdline stand behind it */
    char *service;  /* "/pprof/heap", "/pprof/profile" ... */
    char *host;
};

/* "[http://]host:port[/prefix][/pprof/heap]"; a missing service is /pprof/profile. False when it cannot be
 * one. */
bool jeprof_url_parse(const char *text, struct jeprof_url *ret_url);
void jeprof_url_free(struct jeprof_url *url);

/* Is it the name of a file, or something to fetch. */
bool jeprof_is_url(const char *source);

/* Fetches, and keeps a copy under $JEPROF_TMPDIR or ~/jeprof, as jeprof does; what it says goes to stderr. */
int jeprof_fetch(const struct jeprof_url *url, const struct jeprof_options *options, const char *program,
                 struct bytes *ret_bytes, struct err *err);

/* /pprof/symbol: fails when the server has no names. */
int jeprof_check_symbols(const struct jeprof_url *url, struct err *err);
/* /pprof/cmdline; NULL when the server does not tell. mem_free it. */
char *jeprof_fetch_program(const struct jeprof_url *url);
/* Asks for the names of all places that have none. */
int jeprof_fetch_names(const struct jeprof_url *url, const struct jeprof_options *options,
                       struct jeprof_profile *p, struct err *err);

#endif
