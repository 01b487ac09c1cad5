/* server.h - the whole server: cluster, store, collector, HTTP, MySQL; started and stopped as one. */
#ifndef SERVE_SERVER_H
#define SERVE_SERVER_H

#include <stdbool.h>

#include "base/err.h"
#include "serve/conf.h"

struct server;

struct server_options {
    const char *data_dir; /* never NULL */
    const char *version;
    bool has_be_conf; /* be.conf was given: its backend is a node, its sys_log_dir holds its profiles */
    bool durable;
};

/* Takes over the conf. */
int server_start(struct conf *conf, const struct server_options *options, struct server **ret_server,
                 struct err *err);
int server_http_port(const struct server *s);
int server_mysql_port(const struct server *s);
/* Settings that may change while running, and nodes that are new in the files, take effect. */
void server_reload(struct server *s, struct conf *conf);
void server_stop(struct server *s); /* NULL is fine */

/* `procprof ui`: the page over files. names[i] is shown for paths[i]. */
struct file_server_options {
    const char *host;
    int port;
    const char *binary, *version;
    const char *const *paths;
    size_t n_paths;
    const char *const *search; /* NULL-ended; may be NULL */
};
struct file_server;
int file_server_start(const struct file_server_options *options, struct file_server **ret_server,
                      struct err *err);
int file_server_port(const struct file_server *s);
/* The part of the page's address that shows what was asked for: one file, all merged, or compared with a
 * base. mem_free. */
void file_server_stop(struct file_server *s);

#endif
