/* sql_backend.h - what SQL needs of the cluster: nodes, settings, users, a way to call a node. Nothing here
 * knows MySQL or SQLite.
 *
 * Two things stand behind it: the server's cluster (sql_cluster.c) and the double of the tests and fuzzers.
 * Every function may be called by several threads at once. Text in results lives in the arena given.
 */
#ifndef SERVE_SQL_SQL_BACKEND_H
#define SERVE_SQL_SQL_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/file.h"

struct profile;

enum sql_node_kind { SQL_FRONTEND, SQL_BACKEND, SQL_COMPUTE_NODE };

struct sql_node {
    uint64_t id;
    enum sql_node_kind kind;
    const char *name, *host;
    int heartbeat_port, be_port, http_port, brpc_port; /* 0: none */
    int query_port, rpc_port, edit_log_port;           /* frontends */
    bool alive, is_leader;
    bool is_jvm;                            /* a JVM on this host: attached to, not called */
    int64_t start_time_s, heartbeat_time_s; /* since 1970; 0: never */
    const char *error, *version;            /* never NULL */
    int n_cores;                            /* 0: unknown */
    int64_t mem_limit_bytes;                /* 0: unknown */
    double mem_used_pct, cpu_used_pct;      /* negative: unknown */
    int64_t data_used_bytes, avail_bytes, total_bytes;
};

struct sql_setting {
    const char *key, *value, *type, *comment;
    bool is_mutable;
};

/* What a user was granted. LOOK: SHOW (StarRocks: NODE on SYSTEM). ACT: ADMIN EXECUTE (OPERATE on SYSTEM),
 * and SHOW. ADMIN: nodes, settings, users, and all the rest. */
enum { SQL_MAY_LOOK = 1, SQL_MAY_ACT = 2, SQL_MAY_ADMIN = 4, SQL_MAY_ALL = 7 };

struct sql_user {
    const char *name;
    unsigned may;
    bool has_password;
    uint8_t sha1_twice[20]; /* SHA1(SHA1(password)), what mysql_native_password is checked with */
};

struct sql_profile {
    int64_t id;
    uint64_t node_id;
    const char *type;                                  /* "cpu", "heap" ... */
    int64_t time_ms, duration_ms, size_bytes, samples; /* duration 0, samples -1: unknown */
    const char *file, *sample_types;
};

struct sql_failure {
    int64_t time_ms;
    uint64_t node_id;
    const char *type, *error;
    bool is_requested;
};

struct sql_property {
    const char *key, *value;
};

/* Whether somebody wants a long call to end early: KILL, a client that went away, the server stopping. */
struct sql_cancel {
    bool (*is_asked)(void *context);
    void *context;
};

struct sql_backend {
    void *context;

    int (*nodes)(void *context, struct arena *arena, struct sql_node **ret_nodes, size_t *ret_n,
                 struct err *err);
    int (*node_add)(void *context, enum sql_node_kind kind, const char *host, int port,
                    const struct sql_property *properties, size_t n_properties, struct err *err);
    int (*node_drop)(void *context, enum sql_node_kind kind, const char *host, int port, struct err *err);

    int (*settings)(void *context, struct arena *arena, struct sql_setting **ret_settings, size_t *ret_n,
                    struct err *err);
    int (*setting_set)(void *context, const char *key, const char *value, struct err *err);

    /* ERR_NOT_FOUND without text when there is no such user. */
    int (*user_find)(void *context, const char *name, struct arena *arena, struct sql_user *ret_user,
                     struct err *err);
    int (*users)(void *context, struct arena *arena, struct sql_user **ret_users, size_t *ret_n,
                 struct err *err);
    int (*user_create)(void *context, const char *name,
                       struct err *err); /* without password and grants; ERR_BUSY: exists */
    int (*user_password)(void *context, const char *name, const char *password, struct err *err);
    int (*user_password_hash)(void *context, const char *name, const uint8_t sha1_twice[20], struct err *err);
    int (*user_drop)(void *context, const char *name, struct err *err);
    int (*user_grants)(void *context, const char *name, unsigned may,
                       struct err *err); /* all that it may, from now on */
    /* False: too many failed logins of that user or from there. Then every attempt's outcome is told. */
    bool (*login_allowed)(void *context, const char *user, const char *peer);
    void (*login_done)(void *context, const char *user, const char *peer, bool ok);

    /* One HTTP call to a node: GET, or POST with body. path begins with '/'. The reply's body is the caller's
     * (bytes_free). A status that is not 200 is an error; *ret_status (may be NULL) then tells it, 0 when
     * none came. cancel may be NULL; it is looked at about every second, and then it is ERR_TIMEOUT. */
    int (*node_call)(void *context, const struct sql_node *node, const char *path, const char *post_body,
                     double timeout_s, const struct sql_cancel *cancel, struct bytes *ret_bytes,
                     int *ret_status, struct err *err);

    /* A profile of a node that is_jvm; type is "cpu", "heap" (what is live of what is allocated in that time)
     * or "contention". NULL: this cluster has none. */
    int (*jvm_profile)(void *context, const struct sql_node *node, const char *type, double seconds,
                       const struct sql_cancel *cancel, struct profile **ret_profile, struct err *err);

    /* Those that are kept, newest first. NULL: none are. */
    int (*profiles)(void *context, struct arena *arena, struct sql_profile **ret_profiles, size_t *ret_n,
                    struct err *err);

    /* The last captures that failed, newest first. NULL: nothing is collected. */
    int (*failures)(void *context, struct arena *arena, struct sql_failure **ret_failures, size_t *ret_n,
                    struct err *err);

    /* detail: what exactly ("": the target says it all); failure: why it was not done, NULL when it was. */
    void (*audit)(void *context, const char *user, const char *peer, const char *action, const char *target,
                  const char *detail, const char *failure);

    const char *snapshot_dir; /* where heap snapshots are kept; NULL: nowhere, snapshot() then says so */
    void *symbols;            /* struct symbolizer *, kept warm; NULL: none */
};

#endif
