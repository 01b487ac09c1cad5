/* cluster.h - what the server knows of its cluster: nodes and their state, users, settings, the audit log.
 *
 * One struct cluster is shared by the HTTP side, the MySQL side and the collector; every function here may be
 * called by any thread. Results are copies that belong to the caller: nothing handed out changes behind its
 * back. What must survive a restart (nodes, users, settings set WITH PERSISTENCE, which types of a node are
 * on) is in one SQLite file of mode 0600.
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

enum { CLUSTER_FIRST_ID = 10001, CLUSTER_MAX_NODES = 20000 };

const char *cluster_role_name(enum cluster_role role); /* "FE", "BE", "CN" */

/* ---- nodes ---- */

struct cluster_node {
    int32_t id; /* 10001 and up, never used twice */
    enum cluster_role role;
    char name[64];  /* for people; "host:port" unless one was given */
    char host[256]; /* a name or an address; IPv6 without brackets */
    uint16_t port;  /* where its profiling endpoints answer (FE: where its HTTP answers; 0 for a JVM on this
                       host) */
    uint16_t http_port, brpc_port; /* of a real StarRocks BE; 0: everything is at `port` */
    uint16_t heartbeat_port, be_port, query_port, rpc_port,
        edit_log_port;   /* only to be shown; 0: not known */
    bool is_self;        /* the FE entry of this very server: cannot be dropped */
    int32_t jvm_pid;     /* FE on this host: the JVM, when it was named by pid; 0: none */
    char jvm_match[128]; /* FE on this host: main class (or a part of the command line) to look for; "": none
                          */
    char token[128];     /* sent as "Authorization: Bearer"; never shown to anybody */
    int64_t added_ms;

    /* State, kept by the heartbeat. Times are milliseconds since 1970; 0: never. */
    bool alive;
    bool jvm_has_crashed; /* while it was sampled */
    int64_t last_start_ms, last_heartbeat_ms;
    char error[200];  /* why it is not alive; "" when it is */
    char version[64]; /* as the node says; "" when it does not */
};

struct cluster;

/* Opens (or makes) DATA_DIR/cluster.db and takes over the settings; of the conf only its nodes are left. */
int cluster_open(const char *data_dir, struct conf *conf, struct cluster **ret_cluster, struct err *err);
/* Adds those that are named there and missing here. Stops at the first that cannot be; the error says where
 * it stands. *ret_n_added may be NULL. */
int cluster_add_conf_nodes(struct cluster *c, const struct conf *conf, size_t *ret_n_added, struct err *err);
void cluster_close(struct cluster *c); /* NULL is fine */

/* Nodes of the roles in mask (1 << CLUSTER_BE | ...), by id. *ret_nodes is the caller's (mem_free); NULL when
 * there are none. */
size_t cluster_nodes(struct cluster *c, unsigned role_mask, struct cluster_node **ret_nodes);
int cluster_node_get(struct cluster *c, int32_t id, struct cluster_node *ret_node); /* or ERR_NOT_FOUND */
int cluster_node_find(struct cluster *c, unsigned role_mask, const char *host, int port,
                      struct cluster_node *ret_node);        /* any of its ports */
bool cluster_node_is_local(const struct cluster_node *node); /* on this host: its binaries are here */
/* Another procprof: it collects by itself, and what it has is taken over. */
bool cluster_node_is_followed(const struct cluster_node *node);
/* A JVM on this host: the server attaches to it instead of calling its HTTP port. */
bool cluster_node_is_jvm(const struct cluster_node *node);

/* Adds a node: role, host, port and whatever else is set in *node; the id and the state in it are ignored.
 * ERR_BUSY when a node of that host and port is there already, ERR_INPUT for a host or a port that cannot be.
 */
int cluster_node_add(struct cluster *c, const struct cluster_node *node, int32_t *ret_id, struct err *err);
int cluster_node_drop(struct cluster *c, int32_t id,
                      struct err *err); /* its profiles stay until retention takes them */

/* All ports and the JVM of an entry that comes from the settings (this server, this host's backend): they
 * follow them, which a restart may have changed. */
int cluster_node_update(struct cluster *c, int32_t id, const struct cluster_node *node, struct err *err);

/* What the heartbeat found; a change from alive to not, or back, reaches the watcher. */
void cluster_node_state(struct cluster *c, int32_t id, bool alive, int64_t start_ms, const char *version,
                        const char *error);

/* Whether somebody switched a type of a node on (1) or off (0) by hand; -1: nobody did, the settings decide.
 */
int cluster_type_switch(struct cluster *c, int32_t id, const char *type);
int cluster_type_set_switch(struct cluster *c, int32_t id, const char *type, bool enabled, struct err *err);

/* A JVM can be sampled by one at a time. Who wants that of a node at once claims it: the collector ends its
 * session early, keeps what it has, and begins the next when the claim is released. Claims are counted. */
void cluster_jvm_claim(struct cluster *c, int32_t id);
void cluster_jvm_release(struct cluster *c, int32_t id);
bool cluster_jvm_is_claimed(struct cluster *c, int32_t id);

/* Known until this server ends: the JVM died of being sampled by async-profiler, as far as anybody can tell.
 */
void cluster_jvm_crashed(struct cluster *c, int32_t id);
bool cluster_jvm_has_crashed(struct cluster *c, int32_t id);

enum cluster_event {
    CLUSTER_NODE_ADDED,
    CLUSTER_NODE_DROPPED,
    CLUSTER_NODE_STATE,
    CLUSTER_TYPE_SWITCHED,
    CLUSTER_SETTING_CHANGED
};
/* Told of every change, without any lock held, from the thread that made it. At most four watchers, set
 * before threads start. */
void cluster_watch(struct cluster *c,
                   void (*watcher)(void *context, enum cluster_event event, int32_t node_id), void *context);

/* "BE host:port [http=N] [brpc=N] [heartbeat=N] [token=T] [name=X] [pid=N] [jvm=CLASS]", as in the conf file
 * and in --node. */
int cluster_node_parse(const char *text, struct cluster_node *ret_node, struct err *err);

/* ---- settings (ADMIN SET / SHOW FRONTEND CONFIG) ---- */

struct cluster_setting {
    const char *key, *type, *comment; /* static text; type as StarRocks says it: boolean, int, long, String */
    char *value;                      /* mem_free, or cluster_settings_free for the array */
    bool is_mutable;
};

/* All settings, by name. */
size_t cluster_settings(struct cluster *c, struct cluster_setting **ret_settings);
void cluster_settings_free(struct cluster_setting *settings, size_t n_settings);
/* Takes effect at once. ERR_NOT_FOUND (with the nearest name), ERR_DENIED when not mutable, ERR_INPUT for a
 * wrong value. */
int cluster_setting_set(struct cluster *c, const char *key, const char *value, bool persist, struct err *err);
int64_t cluster_setting_int(struct cluster *c, enum conf_key key);         /* bool: 0 or 1 */
char *cluster_setting_text(struct cluster *c, enum conf_key key);          /* mem_free */
enum conf_file cluster_setting_from(struct cluster *c, enum conf_key key); /* 0: the preset */

/* ---- users ---- */

enum cluster_grant {
    CLUSTER_NONE = 0,
    CLUSTER_LOOK = 1,  /* see nodes and profiles */
    CLUSTER_ACT = 2,   /* collect, enable, heap control: ADMIN EXECUTE */
    CLUSTER_ADMIN = 4, /* nodes, settings, users */
    CLUSTER_ALL = CLUSTER_LOOK | CLUSTER_ACT | CLUSTER_ADMIN,
};

struct cluster_user {
    char name[64];
    bool has_password;
    uint8_t native_hash[20]; /* SHA1(SHA1(password)), what mysql_native_password checks against */
    unsigned grants;         /* enum cluster_grant, or-ed, as they were given */
};

/* The grants with those they imply: who acts may look, an administrator may do all. */
static inline unsigned cluster_user_may(const struct cluster_user *user)
{
    if (user->grants & CLUSTER_ADMIN) return CLUSTER_ALL;
    return user->grants & CLUSTER_ACT ? user->grants | CLUSTER_LOOK : user->grants;
}

/* "root" is always there, with all grants; at first without a password. */
int cluster_user_get(struct cluster *c, const char *name,
                     struct cluster_user *ret_user);                      /* or ERR_NOT_FOUND */
size_t cluster_users(struct cluster *c, struct cluster_user **ret_users); /* mem_free */
int cluster_user_create(struct cluster *c, const char *name, const char *password, unsigned grants,
                        struct err *err);                                    /* ERR_BUSY: exists */
int cluster_user_drop(struct cluster *c, const char *name, struct err *err); /* not root */
int cluster_user_set_password(struct cluster *c, const char *name, const char *password,
                              struct err *err); /* "" takes it away */
int cluster_user_set_password_hash(struct cluster *c, const char *name, const uint8_t hash[20],
                                   struct err *err); /* from PASSWORD('*...') */
int cluster_user_set_grants(struct cluster *c, const char *name, unsigned grants, struct err *err);

/* The plain password against the user's hash, in constant time. A user without a password only matches "". */
bool cluster_user_check(struct cluster *c, const char *name, const char *password);
/* The 20-byte answer of mysql_native_password to the 20-byte salt; n_answer 0: an empty password. */
bool cluster_user_check_native(struct cluster *c, const char *name, const uint8_t *answer, size_t n_answer,
                               const uint8_t salt[20]);

/* Whether root has a password. Until then every listener stays on loopback. */
bool cluster_is_protected(struct cluster *c);
/* Where listeners may bind now: "127.0.0.1" until protected, then the setting `listen`. mem_free. The hook is
 * called (from the thread that changed it) when that address changes. */
char *cluster_bind_host(struct cluster *c);
void cluster_on_bind_change(struct cluster *c, void (*hook)(void *context), void *context);

/* Login attempts: call before checking a password; false when this user from this peer, this peer or this
 * user has failed too often lately (wait and retry). A password that is wrong again and again is one failure:
 * that is a script whose password is old, not somebody who guesses. password: NULL where it is not known. */
bool cluster_login_allowed(struct cluster *c, const char *user, const char *peer);
#define CLUSTER_WRONG_PASSWORD "wrong user or password" /* never which of the two */
void cluster_login_result(struct cluster *c, const char *user, const char *peer, const char *password,
                          bool good);

/* ---- audit ---- */

/* One line in audit.log (and in the server's log): when, who, from where, how it ended, what, and why it did
 * not ("ok" alone has no reason: NULL or ""). */
void cluster_audit(struct cluster *c, const char *user, const char *peer, const char *result,
                   const char *reason, const char *format, ...) __attribute__((format(printf, 6, 7)));

/* The file of that name from now on: the one there was has been moved away (logrotate). */
void cluster_audit_reopen(struct cluster *c);

/* ---- the log: one line on stderr with time and level; settings: log_level ---- */

enum log_level { LOG_ERROR_, LOG_WARN_, LOG_INFO_, LOG_DEBUG_ };
void server_log(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
void server_log_level(enum log_level level);

#endif
