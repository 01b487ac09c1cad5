/* cluster_int.h - the inside of struct cluster, for cluster*.c only.
 *
 * Any thread may hold `lock`, also while it holds the lock of the collector. So no callback is made and no
 * other lock is taken while it is held. */
#ifndef SERVE_CLUSTER_CLUSTER_INT_H
#define SERVE_CLUSTER_CLUSTER_INT_H

#include <pthread.h>
#include <stdio.h>

#include "serve/cluster/cluster.h"
#include "store/db.h"

struct login_failures { /* shared by all names with the same hash */
    int64_t since_ns;   /* monotonic: start of the minute in which they are counted */
    unsigned count;
    uint32_t last_wrong; /* hash of the wrong password that was counted last; 0 when not known */
};
enum login_kind { LOGIN_PAIR, LOGIN_PEER, LOGIN_USER, LOGIN_N_KINDS };
enum { LOGIN_SLOTS = 1024 };

struct cluster {
    pthread_mutex_t lock;
    struct db db;
    struct conf conf;
    struct cluster_node *nodes; /* sorted by id */
    size_t n_nodes, cap_nodes;
    struct cluster_user *users;
    size_t n_users, cap_users;
    struct type_switch {
        int32_t node_id;
        char type[16];
        bool enabled;
    } * switches;
    size_t n_switches, cap_switches;
    int32_t *jvm_claims; /* ids of nodes, once for each claim */
    size_t n_jvm_claims, cap_jvm_claims;
    struct login_failures failures[LOGIN_N_KINDS][LOGIN_SLOTS];
    struct {
        void (*call)(void *context, enum cluster_event event, int32_t node_id);
        void *context;
    } watchers[4];
    size_t n_watchers;
    void (*bind_hook[4])(void *context);
    void *bind_hook_context[4];
    size_t n_bind_hooks;
    int audit_fd; /* -1: none. Threads write to it without the lock, one line with one write */
    char data_dir[400];
};

void cluster_notify(struct cluster *c, enum cluster_event event, int32_t node_id); /* call without the lock */
int cluster_users_load(struct cluster *c, struct err *err);
int cluster_nodes_load(struct cluster *c, struct err *err);
struct cluster_node *cluster_node_locked(struct cluster *c, int32_t id); /* NULL: none */

#endif
