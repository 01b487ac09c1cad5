/* server.h - starts and stops the whole server: cluster, store, collector, HTTP and MySQL. */
#ifndef SERVE_SERVER_H
#define SERVE_SERVER_H

#include <stdbool.h>

#include "base/err.h"
#include "serve/cluster/conf.h"

struct server;

struct server_options {
    const char *data_dir; /* never NULL */
    bool has_be_conf; /* be.conf was given: its backend becomes a node, and its sys_log_dir holds the profiles
                       */
    bool durable;
    const char *agent_token; /* lets another procprof see and collect profiles; NULL for none */
};

/* The settings move from conf into the server. */
int server_start(struct conf *conf, const struct server_options *options, struct server **ret_server,
                 struct err *err);
int server_http_port(const struct server *s);
int server_mysql_port(const struct server *s);
/* Applies settings that can change while the server runs, and adds nodes that are new in the files. */
void server_reload(struct server *s, struct conf *conf);
void server_stop(struct server *s); /* s may be NULL */

#endif
