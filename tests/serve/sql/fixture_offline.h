/* fixture_offline.h - for fuzzers of SQL: the fixture's cluster without network, and as it was before each
 * input. */
#ifndef TESTS_SERVE_SQL_FIXTURE_OFFLINE_H
#define TESTS_SERVE_SQL_FIXTURE_OFFLINE_H

#include "fixture.h"

#include "base/mem.h"
#include "serve/collector/node_request.h"
#include "serve/sql/heapprof_jvm.h"

/* The linker takes these instead of the library's: a statement that was made up calls no host and attaches to
 * no process. */
int node_request_until(struct cluster *c, int32_t id, const char *path, const char *post_body,
                       double timeout_s, bool (*is_cancelled)(void *context), void *context,
                       struct bytes *ret_body, int *ret_status, struct err *err)
{
    (void)c, (void)id, (void)path, (void)post_body, (void)timeout_s, (void)is_cancelled, (void)context;
    (void)ret_body;
    if (ret_status) *ret_status = 0;
    return err_set(err, ERR_IO, "fuzzers call no nodes");
}

int heapprof_jvm(struct cluster *cluster, int32_t node_id, const char *type, double seconds,
                 const struct sql_cancel *cancel, struct profile **ret_profile, struct err *err)
{
    (void)cluster, (void)node_id, (void)type, (void)seconds, (void)cancel, (void)ret_profile;
    return err_set(err, ERR_NOT_FOUND, "fuzzers attach to no JVM");
}

/* Takes back what the last input changed, except settings. */
static inline void fixture_reset(struct fixture *f)
{
    struct err err;
    struct cluster_node *nodes;
    struct cluster_user *users;
    if (!f->sql.cluster) fixture_open(f, false);
    size_t n_nodes = cluster_nodes(f->sql.cluster, SQL_ALL_ROLES, &nodes),
           n_users = cluster_users(f->sql.cluster, &users);
    for (size_t i = 0; i < n_nodes; i++)
        if (nodes[i].id > 10004) cluster_node_drop(f->sql.cluster, nodes[i].id, &err);
    for (size_t i = 0; i < n_users; i++) cluster_user_drop(f->sql.cluster, users[i].name, &err);
    cluster_user_set_password(f->sql.cluster, "root", "", &err);
    mem_free(nodes);
    mem_free(users);
}

#endif
