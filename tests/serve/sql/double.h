/* double.h - a cluster for tests and fuzzers: one frontend, two backends, a compute node, all in memory. Node
 * 10002 has a heap profiler that can be switched, and whose profile is of this very process; node 10003 does
 * not answer. */
#ifndef TESTS_MYSQL_DOUBLE_H
#define TESTS_MYSQL_DOUBLE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "serve/mysql/mysql_auth.h"
#include "serve/sql/sql_backend.h"
#include "symbol/symbol.h"

enum { DOUBLE_MAX = 32 };

struct double_user {
    char name[64];
    struct sql_user user;
};

struct double_cluster {
    struct sql_backend backend;
    struct sql_node nodes[DOUBLE_MAX];
    char hosts[DOUBLE_MAX][64];
    size_t n_nodes;
    uint64_t last_id;
    struct double_user users[DOUBLE_MAX];
    size_t n_users;
    char cpu_enable[16];
    bool heap_on;
    atomic_uint n_failed_logins;
    char last_audit[512]; /* under double_audit_lock: connections have threads of their own */
};

/* Two functions whose addresses appear in the profile, so that names can be looked for. */
__attribute__((noinline, used)) static void double_allocates_much(void)
{
    __asm__ volatile("nop");
}

__attribute__((noinline, used)) static void double_calls_it(void)
{
    double_allocates_much();
    __asm__ volatile("nop");
}

static inline int double_nodes(void *context, struct arena *arena, struct sql_node **ret, size_t *ret_n,
                               struct err *err)
{
    struct double_cluster *d = context;
    (void)err;
    *ret = arena_array(arena, d->n_nodes + 1, sizeof **ret);
    memcpy(*ret, d->nodes, d->n_nodes * sizeof **ret);
    *ret_n = d->n_nodes;
    return 0;
}

static inline int double_node_add(void *context, enum sql_node_kind kind, const char *host, int port,
                                  const struct sql_property *properties, size_t n_properties, struct err *err)
{
    struct double_cluster *d = context;
    if (d->n_nodes == DOUBLE_MAX) return err_set(err, ERR_LIMIT, "full");
    struct sql_node *n = &d->nodes[d->n_nodes];
    snprintf(d->hosts[d->n_nodes], sizeof d->hosts[0], "%s", host);
    *n = (struct sql_node){.id = ++d->last_id,
                           .kind = kind,
                           .name = d->hosts[d->n_nodes],
                           .host = d->hosts[d->n_nodes],
                           .heartbeat_port = port,
                           .http_port = port,
                           .brpc_port = port,
                           .error = "",
                           .version = "procprof-0.1.0"};
    for (size_t i = 0; i < n_properties; i++)
        if (!strcmp(properties[i].key, "http_port"))
            n->http_port = atoi(properties[i].value);
        else if (!strcmp(properties[i].key, "brpc_port"))
            n->brpc_port = atoi(properties[i].value);
        else
            return err_set(err, ERR_INPUT, "unknown property \"%.60s\"", properties[i].key);
    d->n_nodes++;
    return 0;
}

static inline int double_node_drop(void *context, enum sql_node_kind kind, const char *host, int port,
                                   struct err *err)
{
    struct double_cluster *d = context;
    for (size_t i = 0; i < d->n_nodes; i++) {
        if (d->nodes[i].kind != kind || strcmp(d->nodes[i].host, host) || d->nodes[i].heartbeat_port != port)
            continue;
        d->nodes[i].id = 0; /* hidden; the arrays keep their places */
        d->nodes[i].kind = (enum sql_node_kind)99;
        return 0;
    }
    return err_set(err, ERR_NOT_FOUND, "Backend does not exist[%s:%d]", host, port);
}

static inline int double_settings(void *context, struct arena *arena, struct sql_setting **ret, size_t *ret_n,
                                  struct err *err)
{
    struct double_cluster *d = context;
    (void)err;
    *ret = arena_array(arena, 2, sizeof **ret);
    (*ret)[0] =
        (struct sql_setting){"proc_profile_collect_time_s", "120", "long", "seconds of one profile", true};
    (*ret)[1] = (struct sql_setting){"proc_profile_cpu_enable", arena_strdup(arena, d->cpu_enable), "boolean",
                                     "", true};
    *ret_n = 2;
    return 0;
}

static inline int double_setting_set(void *context, const char *key, const char *value, struct err *err)
{
    struct double_cluster *d = context;
    if (strcmp(key, "proc_profile_cpu_enable"))
        return err_set(err, ERR_NOT_FOUND, "Config '%.60s' does not exist", key);
    snprintf(d->cpu_enable, sizeof d->cpu_enable, "%s", value);
    return 0;
}

static inline struct double_user *double_user(struct double_cluster *d, const char *name)
{
    for (size_t i = 0; i < d->n_users; i++)
        if (!strcmp(d->users[i].name, name)) return &d->users[i];
    return NULL;
}

static inline int double_user_find(void *context, const char *name, struct arena *arena, struct sql_user *ret,
                                   struct err *err)
{
    struct double_user *u = double_user(context, name);
    (void)arena;
    if (!u) return err_set(err, ERR_NOT_FOUND, "no such user");
    *ret = u->user;
    return 0;
}

static inline int double_users(void *context, struct arena *arena, struct sql_user **ret, size_t *ret_n,
                               struct err *err)
{
    struct double_cluster *d = context;
    (void)err;
    *ret = arena_array(arena, d->n_users + 1, sizeof **ret);
    for (size_t i = 0; i < d->n_users; i++) (*ret)[i] = d->users[i].user;
    *ret_n = d->n_users;
    return 0;
}

static inline int double_user_create(void *context, const char *name, struct err *err)
{
    struct double_cluster *d = context;
    if (d->n_users == DOUBLE_MAX || strlen(name) > 60) return err_set(err, ERR_LIMIT, "full");
    struct double_user *u = &d->users[d->n_users++];
    *u = (struct double_user){0};
    strcpy(u->name, name);
    u->user.name = u->name;
    return 0;
}

static inline int double_user_password(void *context, const char *name, const char *password, struct err *err)
{
    struct double_user *u = double_user(context, name);
    (void)err;
    u->user.has_password = *password != 0;
    mysql_native_hash(password, u->user.sha1_twice);
    return 0;
}

static inline int double_user_password_hash(void *context, const char *name, const uint8_t hash[20],
                                            struct err *err)
{
    struct double_user *u = double_user(context, name);
    (void)err;
    u->user.has_password = true;
    memcpy(u->user.sha1_twice, hash, 20);
    return 0;
}

static inline int double_user_drop(void *context, const char *name, struct err *err)
{
    (void)err;
    double_user(context, name)->name[0] = '\0';
    return 0;
}

static inline int double_user_grants(void *context, const char *name, unsigned may, struct err *err)
{
    (void)err;
    double_user(context, name)->user.may = may;
    return 0;
}

static inline bool double_login_allowed(void *context, const char *user, const char *peer)
{
    struct double_cluster *d = context;
    (void)user;
    (void)peer;
    return d->n_failed_logins < 100;
}

static inline void double_login_done(void *context, const char *user, const char *peer, bool ok)
{
    struct double_cluster *d = context;
    (void)user;
    (void)peer;
    if (!ok) d->n_failed_logins++;
}

static pthread_mutex_t double_audit_lock = PTHREAD_MUTEX_INITIALIZER;

static inline void double_audit(void *context, const char *user, const char *peer, const char *action,
                                const char *target, const char *detail, const char *failure)
{
    struct double_cluster *d = context;
    pthread_mutex_lock(&double_audit_lock);
    snprintf(d->last_audit, sizeof d->last_audit, "%s@%s %s %s %s %s %s", user, peer, action, target,
             failure ? "failed" : "ok", detail, failure ? failure : "");
    pthread_mutex_unlock(&double_audit_lock);
}

static inline bool double_audit_says(struct double_cluster *d, const char *words)
{
    pthread_mutex_lock(&double_audit_lock);
    bool found = strstr(d->last_audit, words) != NULL;
    pthread_mutex_unlock(&double_audit_lock);
    return found;
}

static inline void double_heap_text(struct buf *b)
{
    /* 4 MB allocated in one function, called by another; sampled exactly (period 1). */
    unsigned long long a = (unsigned long long)(uintptr_t)double_allocates_much + 1,
                       c = (unsigned long long)(uintptr_t)double_calls_it + 4;
    buf_printf(b, "heap_v2/1\n  t*: 3: 4194304 [0: 0]\n  t0: 3: 4194304 [0: 0]\n");
    buf_printf(b, "@ 0x%llx 0x%llx\n  t*: 3: 4194304 [0: 0]\n  t0: 3: 4194304 [0: 0]\n\nMAPPED_LIBRARIES:\n",
               a, c);
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4096];
    while (maps && fgets(line, sizeof line, maps)) buf_str(b, line);
    if (maps) fclose(maps);
}

static inline int double_node_call(void *context, const struct sql_node *node, const char *path,
                                   const char *post_body, double timeout_s, const struct sql_cancel *cancel,
                                   struct bytes *ret, int *ret_status, struct err *err)
{
    struct double_cluster *d = context;
    struct buf b = {0};
    (void)post_body;
    (void)cancel;
    (void)timeout_s;
    if (ret_status) *ret_status = 0;
    if (node->id != 10002)
        return err_set(err, ERR_IO, "http://%s:%d%s: Connection refused", node->host, node->http_port, path);
    if (!strcmp(path, "/pprof/heap/enable"))
        d->heap_on = true;
    else if (!strcmp(path, "/pprof/heap/disable"))
        d->heap_on = false;
    else if (!strcmp(path, "/pprof/heap/status"))
        buf_printf(&b, "heap profiler: %s\nsource: double\n", d->heap_on ? "on" : "off");
    else if (!strcmp(path, "/pprof/heap?format=legacy"))
        double_heap_text(&b);
    else if (strcmp(path, "/pprof/heap/reset")) {
        if (ret_status) *ret_status = 404;
        return err_set(err, ERR_IO, "%s: HTTP status 404", path);
    }
    if (ret_status) *ret_status = 200;
    buf_cstr(&b);
    *ret = (struct bytes){.len = b.len};
    ret->data = (uint8_t *)buf_take(&b);
    return 0;
}

static inline void double_init(struct double_cluster *d)
{
    *d = (struct double_cluster){.last_id = 10000, .cpu_enable = "true"};
    d->backend = (struct sql_backend){.context = d,
                                      .nodes = double_nodes,
                                      .node_add = double_node_add,
                                      .node_drop = double_node_drop,
                                      .settings = double_settings,
                                      .setting_set = double_setting_set,
                                      .user_find = double_user_find,
                                      .users = double_users,
                                      .user_create = double_user_create,
                                      .user_password = double_user_password,
                                      .user_password_hash = double_user_password_hash,
                                      .user_drop = double_user_drop,
                                      .user_grants = double_user_grants,
                                      .login_allowed = double_login_allowed,
                                      .login_done = double_login_done,
                                      .node_call = double_node_call,
                                      .audit = double_audit};
    double_node_add(d, SQL_FRONTEND, "127.0.0.1", 8030, NULL, 0, NULL);
    double_node_add(d, SQL_BACKEND, "10.0.0.2", 8040, NULL, 0, NULL);
    double_node_add(d, SQL_BACKEND, "10.0.0.3", 8040, NULL, 0, NULL);
    double_node_add(d, SQL_COMPUTE_NODE, "10.0.0.4", 8040, NULL, 0, NULL);
    d->nodes[0].is_leader = true;
    for (size_t i = 0; i < 3; i++) {
        d->nodes[i].alive = true;
        d->nodes[i].start_time_s = d->nodes[i].heartbeat_time_s = 1700000000;
    }
    d->nodes[2].alive = false;
    d->nodes[2].error = "connection refused";
    double_user_create(d, "root", NULL);
    double_user_grants(d, "root", SQL_MAY_ALL, NULL);
}

#endif
