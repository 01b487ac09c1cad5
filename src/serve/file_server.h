/* file_server.h - `procprof ui`: the same page over files instead of nodes. Nothing is collected, nothing is
 * kept. */
#ifndef SERVE_FILE_SERVER_H
#define SERVE_FILE_SERVER_H

#include <stddef.h>

#include "base/err.h"
#include "base/file.h"

struct file_server;

struct file_server_options {
    const char *host;
    int port;                  /* 0: any */
    const char *binary;        /* of the main mapping; may be NULL */
    const char *const *search; /* folders with binaries, NULL-ended; may be NULL */
};

/* A loopback server over nothing yet. */
int file_server_start(const struct file_server_options *options, struct file_server **ret_server,
                      struct err *err);
/* Adds one, decoded to know that it is a profile; *ret_id is its number in the page's addresses. The bytes
 * are copied. */
int file_server_add(struct file_server *s, const char *name, const struct bytes *bytes, long long *ret_id,
                    struct err *err);
/* What /ui/... speaks of: "ids=1,2" and, when compared, "&base_ids=3". */
void file_server_select(struct file_server *s, const char *selection);
int file_server_port(const struct file_server *s);
void file_server_stop(struct file_server *s); /* NULL is fine */

#endif
