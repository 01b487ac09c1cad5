/* jeprof_remote.h - fetches profiles and names from a server with /pprof pages, like jeprof. */
#ifndef CMD_JEPROF_JEPROF_REMOTE_H
#define CMD_JEPROF_JEPROF_REMOTE_H

#include <stdbool.h>

#include "cmd/jeprof/jeprof_options.h"
#include "cmd/jeprof/jeprof_profile.h"

struct jeprof_url { /* release with jeprof_url_free */
    char *base;     /* "http://host:port/prefix", to which /pprof/symbol or /pprof/cmdline is appended */
    char *service;  /* "/pprof/heap", "/pprof/profile" ... */
    char *host;
};

/* Parses "[http://]host:port[/prefix][/pprof/heap]". The default service is /pprof/profile. Returns false if
 * text is not such an address. */
bool jeprof_url_parse(const char *text, struct jeprof_url *ret_url);
void jeprof_url_free(struct jeprof_url *url);

/* Returns true if source is an address to fetch, false if it is the name of a file. */
bool jeprof_is_url(const char *source);

/* Fetches the profile and saves a copy under $JEPROF_TMPDIR or ~/jeprof, like jeprof. Prints jeprof's
 * progress messages to stderr. */
int jeprof_fetch(const struct jeprof_url *url, const struct jeprof_options *options, const char *program,
                 struct bytes *ret_bytes, struct err *err);

/* Requests /pprof/symbol. Fails if the server has no names. */
int jeprof_check_symbols(const struct jeprof_url *url, struct err *err);
/* Returns the program that /pprof/cmdline gives, or NULL if the server does not answer. The caller releases
 * it with mem_free. */
char *jeprof_fetch_program(const struct jeprof_url *url);
/* Requests the names of all places that have none. */
int jeprof_fetch_names(const struct jeprof_url *url, const struct jeprof_options *options,
                       struct jeprof_profile *p, struct err *err);

#endif
