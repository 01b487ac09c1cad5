/* sql_cluster.h - the parts of the server that SQL works on, and the changes to nodes that only SQL makes.
 *
 * Any thread may call these functions.
 */
#ifndef SERVE_SQL_SQL_CLUSTER_H
#define SERVE_SQL_SQL_CLUSTER_H

#include "serve/cluster/cluster.h"

struct collector;
struct store;
struct symbolizer;

/* Everything in it outlives the sessions that use it. */
struct sql_cluster {
    struct cluster *cluster;
    struct store *store;         /* NULL: there are no profiles to select */
    struct collector *collector; /* NULL: there are no failed captures to select */
    const char *snapshot_dir;    /* where scripts keep heap snapshots; NULL: snapshot() fails */
    struct symbolizer *symbols;  /* names addresses for scripts; keeps what it read; NULL: none */
};

enum { SQL_ALL_ROLES = 1 << CLUSTER_FE | 1 << CLUSTER_BE | 1 << CLUSTER_CN };

struct sql_property {
    const char *key, *value;
};

/* Tells a long call to end early, because of KILL, a client that disconnected or a server that stops. */
struct sql_cancel {
    bool (*is_asked)(void *context); /* NULL: never */
    void *context;
};

/* Adds a node of that role. Properties are those of ALTER SYSTEM ADD ... PROPERTIES (docs/sql.md). */
int sql_node_add(struct cluster *cluster, enum cluster_role role, const char *host, int port,
                 const struct sql_property *properties, size_t n_properties, struct err *err);
int sql_node_drop(struct cluster *cluster, enum cluster_role role, const char *host, int port,
                  struct err *err);

/* One line in the audit log. detail may be "". failure is the reason why the action failed, NULL when it was
 * done. */
void sql_audit(struct cluster *cluster, const char *user, const char *peer, const char *action,
               const char *target, const char *detail, const char *failure);

#endif
