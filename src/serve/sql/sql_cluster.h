/* sql_cluster.h - the server's cluster as SQL's backend, with a symboliser that stays warm. */
#ifndef SERVE_SQL_SQL_CLUSTER_H
#define SERVE_SQL_SQL_CLUSTER_H

#include "serve/sql/sql_backend.h"

struct cluster;
struct collector;
struct store;
struct sql_cluster;

/* store, collector NULL: no profiles, no failures to be seen. All must outlive it. */
struct sql_cluster *sql_cluster_new(struct cluster *cluster, struct store *store, struct collector *collector,
                                    const char *snapshot_dir, const char *const *symbol_search);
const struct sql_backend *sql_cluster_backend(const struct sql_cluster *c); /* as long as c */
void sql_cluster_free(struct sql_cluster *c);                               /* NULL is fine */

#endif
