/* cluster.h - nodes and their state, users, settings and the audit log of the cluster.
 *
 * The HTTP server, the MySQL server and the collector share one struct cluster. Every function may be called
 * from any thread. Results are copies that belong to the caller and never change. Nodes, users, persistent
 * settings and the switched types of nodes survive a restart in one SQLite file of mode 0600.
 */
#ifndef SERVE_CLUSTER_CLUSTER_H
#define SERVE_CLUSTER_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/file.h"
#include "serve/cluster/conf.h"

enum cluster_role { CLUSTER_FE, CLUSTER_BE, CLUSTER_CN, CLUSTER_N_ROLES };

enum { CLUSTER_MAX_NODES = 20000 };

const char *cluster_role_name(enum cluster_role role); /* "FE", "BE", "CN" */

/* ---- nodes ---- */

struct cluster_node {
    int32_t id; /* from 10001 on; an id is never used again */
    enum cluster_role role;
    char name[64];  /* shown to users; "host:port" unless the user named the node */
    char host[256]; /* a name or an address; IPv6 without brackets */
    uint16_t port;  /* of its profiling endpoints (FE: of its HTTP server; 0 for a JVM on this host) */
    uint16_t http_port, brpc_port; /* of a StarRocks BE; 0 when `port` serves everything */
    uint16_t heartbeat_port, be_port, query_port, rpc_port, edit_log_port; /* only shown; 0 when not known */
    bool is_self;        /* the FE entry of this server, which cannot be dropped */
    int32_t jvm_pid;     /* FE on this host: the process id of its JVM; 0 when not given */
    char jvm_match[128]; /* FE on this host: main class or another part of the command line; "" when not given
                          */
    char token[128];     /* sent as "Authorization: Bearer"; never shown */
    int64_t added_ms;

    /* State, which the heartbeat updates. Times are milliseconds since 1970; 0 means never. */
    bool alive;
    bool jvm_has_crashed; /* while it was sampled */
    int64_t last_start_ms, last_heartbeat_ms;
    char error[200];  /* why the node is not alive; "" when it is */
    char version[64]; /* as the node reports it; "" when it reports none */
};

struct cluster;

/* Opens DATA_DIR/cluster.db, which it creates if needed. The settings move from conf into the cluster; conf
 * keeps only its nodes. */
int cluster_open(const char *data_dir, struct conf *conf, struct cluster **ret_cluster, struct err *err);
/* Adds the nodes of conf that the cluster does not have yet. Stops at the first invalid one; the error names
 * its file and line. ret_n_added may be NULL. */
int cluster_add_conf_nodes(struct cluster *c, const struct conf *conf, size_t *ret_n_added, struct err *err);
void cluster_close(struct cluster *c); /* c may be NULL */

/* The nodes whose role is in the mask (1 << CLUSTER_BE | ...), sorted by id. The caller frees *ret_nodes with
 * mem_free; it is NULL when there are none. */
size_t cluster_nodes(struct cluster *c, unsigned role_mask, struct cluster_node **ret_nodes);
int cluster_node_get(struct cluster *c, int32_t id, struct cluster_node *ret_node); /* or ERR_NOT_FOUND */
int cluster_node_find(struct cluster *c, unsigned role_mask, const char *host, int port,
                      struct cluster_node *ret_node);        /* port is any of its ports */
bool cluster_node_is_local(const struct cluster_node *node); /* on this host, so that its binaries are here */
/* Whether the node is another procprof, which collects by itself and whose profiles are fetched. */
bool cluster_node_is_followed(const struct cluster_node *node);
/* Whether the node is a JVM on this host, to which the server attaches instead of calling its HTTP port. */
bool cluster_node_is_jvm(const struct cluster_node *node);

/* Adds a node. The id and the state in *node are ignored. ERR_BUSY when there is a node with that host and
 * port, ERR_INPUT when the host or the port is invalid. */
int cluster_node_add(struct cluster *c, const struct cluster_node *node, int32_t *ret_id, struct err *err);
int cluster_node_drop(struct cluster *c, int32_t id,
                      struct err *err); /* its profiles stay until retention removes them */

/* Updates ports and JVM of an entry that comes from the settings (this server, the backend on this host),
 * which may have changed before a restart. */
int cluster_node_update(struct cluster *c, int32_t id, const struct cluster_node *node, struct err *err);

/* Stores the result of a heartbeat. The watchers are called when the node became alive or stopped being
 * alive. */
void cluster_node_state(struct cluster *c, int32_t id, bool alive, int64_t start_ms, const char *version,
                        const char *error);

/* Whether a user switched a type of a node on (1) or off (0); -1 when not, so that the settings decide. */
int cluster_type_switch(struct cluster *c, int32_t id, const char *type);
int cluster_type_set_switch(struct cluster *c, int32_t id, const char *type, bool enabled, struct err *err);

/* A JVM can be sampled by one session at a time. A script that needs the JVM at once claims it: the collector
 * then ends its session early, publishes what it has, and starts the next session when the last claim is
 * released. */
void cluster_jvm_claim(struct cluster *c, int32_t id);
void cluster_jvm_release(struct cluster *c, int32_t id);
bool cluster_jvm_is_claimed(struct cluster *c, int32_t id);

/* Remembers, until the server ends, that the JVM probably crashed because async-profiler sampled it. */
void cluster_jvm_crashed(struct cluster *c, int32_t id);
bool cluster_jvm_has_crashed(struct cluster *c, int32_t id);

enum cluster_event {
    CLUSTER_NODE_ADDED,
    CLUSTER_NODE_DROPPED,
    CLUSTER_NODE_STATE,
    CLUSTER_TYPE_SWITCHED,
    CLUSTER_SETTING_CHANGED
};
/* The watcher is called after every change, on the thread that made it, with no lock held. At most four
 * watchers can be added, and only before other threads use the cluster. */
void cluster_watch(struct cluster *c,
                   void (*watcher)(void *context, enum cluster_event event, int32_t node_id), void *context);

/* "BE host:port [http=N] [brpc=N] [heartbeat=N] [token=T] [name=X] [pid=N] [jvm=CLASS]", as in the conf file
 * and in --node. */
int cluster_node_parse(const char *text, struct cluster_node *ret_node, struct err *err);

/* ---- settings (ADMIN SET / SHOW FRONTEND CONFIG) ---- */

struct cluster_setting {
    const char *key, *type,
        *comment; /* static texts; type is one of StarRocks' words: boolean, int, long, String */
    char *value;  /* mem_free, or cluster_settings_free for the array */
    bool is_mutable;
};

/* All settings, sorted by name. */
size_t cluster_settings(struct cluster *c, struct cluster_setting **ret_settings);
void cluster_settings_free(struct cluster_setting *settings, size_t n_settings);
/* Changes a setting at once. ERR_NOT_FOUND (with the nearest name) for an unknown key, ERR_DENIED for a
 * setting that needs a restart, ERR_INPUT for an invalid value. */
int cluster_setting_set(struct cluster *c, const char *key, const char *value, bool persist, struct err *err);
int64_t cluster_setting_int(struct cluster *c, enum conf_key key);         /* bool: 0 or 1 */
char *cluster_setting_text(struct cluster *c, enum conf_key key);          /* mem_free */
enum conf_file cluster_setting_from(struct cluster *c, enum conf_key key); /* 0 for the default */

/* ---- users ---- */

enum cluster_grant {
    CLUSTER_NONE = 0,
    CLUSTER_LOOK = 1,  /* to see nodes and profiles */
    CLUSTER_ACT = 2,   /* to collect, to switch types, ADMIN EXECUTE */
    CLUSTER_ADMIN = 4, /* to change nodes, settings and users */
    CLUSTER_ALL = CLUSTER_LOOK | CLUSTER_ACT | CLUSTER_ADMIN,
};

struct cluster_user {
    char name[64];
    bool has_password;
    uint8_t native_hash[20]; /* SHA1(SHA1(password)), as mysql_native_password needs it */
    unsigned grants;         /* enum cluster_grant, or-ed, without implied ones */
};

/* The grants of the user and those that they imply: ACT implies LOOK, ADMIN implies all. */
static inline unsigned cluster_user_may(const struct cluster_user *user)
{
    if (user->grants & CLUSTER_ADMIN) return CLUSTER_ALL;
    return user->grants & CLUSTER_ACT ? user->grants | CLUSTER_LOOK : user->grants;
}

/* The user "root" always exists, with all grants, and has no password at first. */
int cluster_user_get(struct cluster *c, const char *name,
                     struct cluster_user *ret_user);                      /* or ERR_NOT_FOUND */
size_t cluster_users(struct cluster *c, struct cluster_user **ret_users); /* mem_free */
int cluster_user_create(struct cluster *c, const char *name, const char *password, unsigned grants,
                        struct err *err); /* ERR_BUSY when the user exists */
int cluster_user_drop(struct cluster *c, const char *name, struct err *err); /* root cannot be dropped */
int cluster_user_set_password(struct cluster *c, const char *name, const char *password,
                              struct err *err); /* "" removes the password */
int cluster_user_set_password_hash(struct cluster *c, const char *name, const uint8_t hash[20],
                                   struct err *err); /* from PASSWORD('*...') */
int cluster_user_set_grants(struct cluster *c, const char *name, unsigned grants, struct err *err);

/* Compares a password with the hash of the user in constant time. A user without a password matches only "".
 */
bool cluster_user_check(struct cluster *c, const char *name, const char *password);
/* Checks the 20-byte answer of mysql_native_password to the 20-byte salt. n_answer is 0 for an empty
 * password. */
bool cluster_user_check_native(struct cluster *c, const char *name, const uint8_t *answer, size_t n_answer,
                               const uint8_t salt[20]);

/* Whether root has a password. Before that, every listener is bound to loopback. */
bool cluster_is_protected(struct cluster *c);
/* The address for listeners: "127.0.0.1" until root has a password, then the setting `listen`. The caller
 * frees it with mem_free. The hook is called when the address changes, on the thread that changed it. */
char *cluster_bind_host(struct cluster *c);
void cluster_on_bind_change(struct cluster *c, void (*hook)(void *context), void *context);

/* Limits login attempts. cluster_login_allowed must be called before a password is checked; it returns false
 * when the user at this peer, the peer or the user has failed too often in the last minute.
 * cluster_login_result records the outcome. The same wrong password again counts as one failure, because it
 * is a script with an outdated password and not an attacker who guesses. password is NULL when it is not
 * known. */
bool cluster_login_allowed(struct cluster *c, const char *user, const char *peer);
#define CLUSTER_WRONG_PASSWORD "wrong user or password" /* does not reveal which of the two is wrong */
void cluster_login_result(struct cluster *c, const char *user, const char *peer, const char *password,
                          bool good);

/* ---- audit ---- */

/* Writes one line to audit.log and to the log of the server: time, user, peer, result, action, and the reason
 * of a failure. reason is NULL or "" when the result is "ok". */
void cluster_audit(struct cluster *c, const char *user, const char *peer, const char *result,
                   const char *reason, const char *format, ...) __attribute__((format(printf, 6, 7)));

/* Opens audit.log again after logrotate has renamed it. */
void cluster_audit_reopen(struct cluster *c);

/* ---- log: one line on stderr with time and level, filtered by the setting log_level ---- */

enum log_level { LOG_ERROR_, LOG_WARN_, LOG_INFO_, LOG_DEBUG_ };
void server_log(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
void server_log_level(enum log_level level);

#endif
