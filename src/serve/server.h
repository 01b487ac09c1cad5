/* server.h - the whole server: cluster, store, collector, HTTP, MySQL; started and stopped as one. */
#ifndef SERVE_SERVER_H
#define SERVE_SERVER_H

#include <stdbool.h>

#include "base/err.h"
#include "serve/cluster/conf.h"

struct server;

struct server_options {
    const char *data_dir; /* never NULL */
    bool has_be_conf;     /* be.conf was given: its backend is a node, its sys_log_dir holds its profiles */
    bool durable;
    const char *agent_token; /* another procprof that shows it may look and collect; NULL: none */
};

/* Takes over the conf. */
int server_start(struct conf *conf, const struct server_options *options, struct server **ret_server,
                 struct err *err);
int server_http_port(const struct server *s);
int server_mysql_port(const struct server *s);
/* Settings that may change while running, and nodes that are new in the files, take effect. */
void server_reload(struct server *s, struct conf *conf);
void server_stop(struct server *s); /* NULL is fine */

#endif
