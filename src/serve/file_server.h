/* file_server.h - `procprof ui`: the page of the server for files instead of nodes. It collects nothing and
 * leaves nothing behind. */
#ifndef SERVE_FILE_SERVER_H
#define SERVE_FILE_SERVER_H

#include <stddef.h>

#include "base/err.h"
#include "base/file.h"

struct file_server;

struct file_server_options {
    const char *host;
    int port;                  /* 0 for any free port */
    const char *binary;        /* of the main mapping; may be NULL */
    const char *const *search; /* folders with binaries, NULL-terminated; may be NULL */
};

/* Starts a server on loopback, without files. */
int file_server_start(const struct file_server_options *options, struct file_server **ret_server,
                      struct err *err);
/* Adds a copy of a file, which must be a profile. *ret_id is its id in the URLs of the page. */
int file_server_add(struct file_server *s, const char *name, const struct bytes *bytes, long long *ret_id,
                    struct err *err);
/* The profiles that /ui/... shows: "ids=1,2" and, for a comparison, "&base_ids=3". */
void file_server_select(struct file_server *s, const char *selection);
int file_server_port(const struct file_server *s);
void file_server_stop(struct file_server *s); /* s may be NULL */

#endif
