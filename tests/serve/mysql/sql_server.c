/* sql_server.c - the MySQL side alone over a real cluster file: what the protocol tests and the drivers talk
 * to.
 *
 *   sql_server DATA_DIR [--cert FILE --key FILE] [--max-clients N] [--idle-seconds N]
 *
 * Prints "port N", then serves until its standard input ends. No heartbeat and no collector run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "serve/cluster/cluster.h"
#include "serve/mysql/mysql_server.h"

int main(int argc, char **argv)
{
    struct mysql_options options = {0};
    struct conf conf = {0};
    struct cluster *cluster;
    struct mysql_server *server;
    struct err err;
    char snapshots[4096], byte;
    if (argc < 2) return 2;
    snprintf(snapshots, sizeof snapshots, "%s/snapshots", argv[1]);
    options.snapshot_dir = snapshots;
    for (int i = 2; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--cert")) options.tls_cert = argv[i + 1];
        if (!strcmp(argv[i], "--key")) options.tls_key = argv[i + 1];
        if (!strcmp(argv[i], "--max-clients")) options.max_clients = (unsigned)atoi(argv[i + 1]);
        if (!strcmp(argv[i], "--idle-seconds")) options.idle_limit_s = (unsigned)atoi(argv[i + 1]);
    }
    if (cluster_open(argv[1], &conf, &cluster, &err) ||
        mysql_server_start(cluster, &options, &server, &err)) {
        fprintf(stderr, "sql_server: %s\n", err.text);
        return 1;
    }
    printf("port %d\n", mysql_server_port(server));
    fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0) {
    }
    mysql_server_stop(server);
    cluster_close(cluster);
    conf_free(&conf);
    return 0;
}
