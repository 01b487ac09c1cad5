/* sql_cluster.c - see sql_cluster.h. Translations, but for one: a JVM is not free at once. */
#include "serve/sql/sql_cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/mem.h"
#include "collect/jvm_collect.h"
#include "collect/jvm_find.h"
#include "serve/cluster/cluster.h"
#include "serve/collector/collector.h"
#include "serve/collector/jvm_settings.h"
#include "serve/collector/node_request.h"
#include "store/store.h"
#include "symbol/symbol.h"

struct sql_cluster {
    struct cluster *cluster;
    struct store *store;         /* NULL: no profiles are kept */
    struct collector *collector; /* NULL: none are collected */
    struct sql_backend backend;
    char *snapshot_dir;
};

static struct cluster *of(void *context)
{
    return ((struct sql_cluster *)context)->cluster;
}

/* ---- nodes ---- */

static enum cluster_role role_of(enum sql_node_kind kind)
{
    return kind == SQL_FRONTEND ? CLUSTER_FE : kind == SQL_BACKEND ? CLUSTER_BE : CLUSTER_CN;
}

static int list_nodes(void *context, struct arena *arena, struct sql_node **ret_nodes, size_t *ret_n,
                      struct err *err)
{
    (void)err;
    struct cluster_node *nodes;
    size_t n = cluster_nodes(of(context), 1 << CLUSTER_FE | 1 << CLUSTER_BE | 1 << CLUSTER_CN, &nodes);
    struct sql_node *out = arena_zalloc(arena, (n + 1) * sizeof *out);
    for (size_t i = 0; i < n; i++) {
        const struct cluster_node *c = &nodes[i];
        out[i] = (struct sql_node){
            .id = (uint64_t)c->id,
            .kind = c->role == CLUSTER_FE   ? SQL_FRONTEND
                    : c->role == CLUSTER_BE ? SQL_BACKEND
                                            : SQL_COMPUTE_NODE,
            .name = arena_strdup(arena, c->name),
            .host = arena_strdup(arena, c->host),
            .heartbeat_port = c->heartbeat_port ? c->heartbeat_port : c->port,
            .be_port = c->be_port,
            .http_port = c->http_port ? c->http_port : c->port,
            .brpc_port = c->brpc_port ? c->brpc_port : c->port,
            .query_port = c->query_port,
            .rpc_port = c->rpc_port,
            .edit_log_port = c->edit_log_port,
            .alive = c->alive,
            .is_leader = c->is_self,
            .is_jvm = c->role == CLUSTER_FE && (c->is_self || !c->port),
            .start_time_s = c->last_start_ms / 1000,
            .heartbeat_time_s = c->last_heartbeat_ms / 1000,
            .error = arena_strdup(arena, c->error),
            .version = arena_strdup(arena, c->version),
            .mem_used_pct = -1,
            .cpu_used_pct = -1,
        };
    }
    mem_free(nodes);
    *ret_nodes = out;
    *ret_n = n;
    return 0;
}

static int set_property(struct cluster_node *node, const struct sql_property *p, struct err *err)
{
    struct {
        const char *key;
        uint16_t *port;
    } ports[] = {{"http_port", &node->http_port},           {"brpc_port", &node->brpc_port},
                 {"heartbeat_port", &node->heartbeat_port}, {"be_port", &node->be_port},
                 {"query_port", &node->query_port},         {"rpc_port", &node->rpc_port},
                 {"edit_log_port", &node->edit_log_port}};
    for (size_t i = 0; i < sizeof ports / sizeof *ports; i++) {
        if (strcasecmp(ports[i].key, p->key)) continue;
        char *end;
        long port = strtol(p->value, &end, 10);
        if (end == p->value || *end || port < 1 || port > 65535)
            return err_set(err, ERR_INPUT, "property \"%s\" must be a port (1 to 65535), not \"%.40s\"",
                           p->key, p->value);
        *ports[i].port = (uint16_t)port;
        return 0;
    }
    struct {
        const char *key;
        char *text;
        size_t size;
    } texts[] = {{"token", node->token, sizeof node->token},
                 {"name", node->name, sizeof node->name},
                 {"jvm", node->jvm_match, sizeof node->jvm_match}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (strcasecmp(texts[i].key, p->key)) continue;
        if (strlen(p->value) >= texts[i].size)
            return err_set(err, ERR_INPUT, "property \"%s\" is too long", p->key);
        strcpy(texts[i].text, p->value);
        return 0;
    }
    if (!strcasecmp(p->key, "pid")) {
        char *end;
        long pid = strtol(p->value, &end, 10);
        if (end == p->value || *end || pid < 1 || pid > INT32_MAX)
            return err_set(err, ERR_INPUT, "property \"pid\" must be a process id, not \"%.40s\"", p->value);
        node->jvm_pid = (int32_t)pid;
        return 0;
    }
    return err_set(err, ERR_INPUT,
                   "unknown property \"%.60s\"; known: http_port, brpc_port, heartbeat_port, be_port, "
                   "query_port, rpc_port, edit_log_port, token, name; of a frontend: jvm, pid",
                   p->key);
}

static int node_add(void *context, enum sql_node_kind kind, const char *host, int port,
                    const struct sql_property *properties, size_t n_properties, struct err *err)
{
    struct cluster_node node = {.role = role_of(kind), .port = (uint16_t)port};
    int32_t id;
    if (strlen(host) >= sizeof node.host) return err_set(err, ERR_INPUT, "the host name is too long");
    strcpy(node.host, host);
    for (size_t i = 0; i < n_properties; i++) {
        int rc = set_property(&node, &properties[i], err);
        if (rc) return rc;
    }
    if (node.jvm_pid || node.jvm_match[0]) { /* a JVM on this host is attached to, not called */
        if (kind != SQL_FRONTEND)
            return err_set(err, ERR_INPUT, "properties \"jvm\" and \"pid\" are for frontends");
        if (!node.http_port) node.http_port = node.port;
        node.port = 0;
    }
    return cluster_node_add(of(context), &node, &id, err);
}

static int node_drop(void *context, enum sql_node_kind kind, const char *host, int port, struct err *err)
{
    static const char *const names[] = {"Frontend", "Backend", "ComputeNode"};
    struct cluster_node node;
    if (cluster_node_find(of(context), 1u << role_of(kind), host, port, &node))
        return err_set(err, ERR_NOT_FOUND, "%s does not exist[%s:%d]", names[kind], host, port);
    return cluster_node_drop(of(context), node.id, err);
}

static int node_call(void *context, const struct sql_node *node, const char *path, const char *post_body,
                     double timeout_s, const struct sql_cancel *cancel, struct bytes *ret_bytes,
                     int *ret_status, struct err *err)
{
    return node_request_until(of(context), (int32_t)node->id, path, post_body, timeout_s,
                              cancel ? cancel->is_asked : NULL, cancel ? cancel->context : NULL, ret_bytes,
                              ret_status, err);
}

enum { ROOM_LIMIT_MS = 5000 }; /* for the collector to end its session; a stranger may take longer */

static int jvm_profile(void *context, const struct sql_node *node, const char *type, double seconds,
                       const struct sql_cancel *cancel, struct profile **ret_profile, struct err *err)
{
    struct cluster_node n;
    char target[sizeof n.jvm_match];
    if (cluster_node_get(of(context), (int32_t)node->id, &n))
        return err_set(err, ERR_NOT_FOUND, "node not found: %llu", (unsigned long long)node->id);
    if (n.jvm_pid)
        snprintf(target, sizeof target, "%d", (int)n.jvm_pid);
    else
        strcpy(target, n.jvm_match);
    if (!*target) return err_set(err, ERR_NOT_FOUND, "no JVM is named (setting fe_jvm)");
    struct jvm_proc proc;
    struct jvm_collected got = {0};
    struct jvm_collect_options options = {
        .duration_s = seconds,
        .events = !strcmp(type, "cpu")    ? JVM_EVENT_CPU
                  : !strcmp(type, "heap") ? JVM_EVENT_ALLOC | JVM_EVENT_LIVE
                                          : JVM_EVENT_LOCK,
        .is_cancelled = cancel ? cancel->is_asked : NULL,
        .context = cancel ? cancel->context : NULL,
    };
    char *library;
    int rc = jvm_settings_read(of(context), n.id, &options, &library, err);
    if (!rc) rc = jvm_find(target, &proc, err);
    if (!rc) {
        cluster_jvm_claim(of(context), n.id);
        rc = jvm_collect(&proc, &options, &got, err);
        for (int waited_ms = 0; rc == ERR_BUSY && waited_ms < ROOM_LIMIT_MS; waited_ms += 100) {
            if (cancel && cancel->is_asked(cancel->context)) break;
            clock_sleep_ns(100000000); /* the collector's session is ending */
            rc = jvm_collect(&proc, &options, &got, err);
        }
        cluster_jvm_release(of(context), n.id);
    }
    if (got.jvm_crashed) cluster_jvm_crashed(of(context), n.id);
    if (!rc) *ret_profile = got.profile;
    mem_free(library);
    return rc;
}

static int list_profiles(void *context, struct arena *arena, struct sql_profile **ret_profiles, size_t *ret_n,
                         struct err *err)
{
    (void)err;
    struct store *store = ((struct sql_cluster *)context)->store;
    struct store_profile *profiles = NULL;
    size_t n = store ? store_list(store, &(struct store_query){0}, &profiles, NULL) : 0;
    struct sql_profile *out = arena_array(arena, n + 1, sizeof *out);
    for (size_t i = 0; i < n; i++)
        out[i] = (struct sql_profile){.id = profiles[i].id,
                                      .node_id = (uint64_t)profiles[i].node,
                                      .type = profile_type_name(profiles[i].type),
                                      .time_ms = profiles[i].time_ms,
                                      .duration_ms = profiles[i].duration_ms,
                                      .size_bytes = profiles[i].size_bytes,
                                      .samples = profiles[i].samples,
                                      .file = arena_strdup(arena, profiles[i].file),
                                      .sample_types = arena_strdup(arena, profiles[i].sample_types)};
    mem_free(profiles);
    *ret_profiles = out;
    *ret_n = n;
    return 0;
}

static int list_failures(void *context, struct arena *arena, struct sql_failure **ret_failures, size_t *ret_n,
                         struct err *err)
{
    (void)err;
    struct collector *collector = ((struct sql_cluster *)context)->collector;
    struct collector_failure *failures = mem_array(COLLECTOR_MAX_FAILURES, sizeof *failures);
    size_t n = collector ? collector_failures(collector, failures) : 0;
    struct sql_failure *out = arena_array(arena, n + 1, sizeof *out);
    for (size_t i = 0; i < n; i++)
        out[i] = (struct sql_failure){.time_ms = failures[i].time_ms,
                                      .node_id = (uint64_t)failures[i].node,
                                      .type = profile_type_name(failures[i].type),
                                      .error = arena_strdup(arena, failures[i].error),
                                      .is_requested = failures[i].is_job};
    mem_free(failures);
    *ret_failures = out;
    *ret_n = n;
    return 0;
}

/* ---- settings ---- */

static int list_settings(void *context, struct arena *arena, struct sql_setting **ret_settings, size_t *ret_n,
                         struct err *err)
{
    (void)err;
    struct cluster_setting *settings;
    size_t n = cluster_settings(of(context), &settings);
    struct sql_setting *out = arena_zalloc(arena, (n + 1) * sizeof *out);
    for (size_t i = 0; i < n; i++)
        out[i] =
            (struct sql_setting){.key = settings[i].key,
                                 .type = settings[i].type,
                                 .comment = settings[i].comment,
                                 .value = arena_strdup(arena, settings[i].value ? settings[i].value : ""),
                                 .is_mutable = settings[i].is_mutable};
    cluster_settings_free(settings, n);
    *ret_settings = out;
    *ret_n = n;
    return 0;
}

static int setting_set(void *context, const char *key, const char *value, struct err *err)
{
    return cluster_setting_set(of(context), key, value, true, err);
}

/* ---- users ---- */

static unsigned may_of(unsigned grants)
{
    return (grants & CLUSTER_LOOK ? SQL_MAY_LOOK : 0) | (grants & CLUSTER_ACT ? SQL_MAY_ACT : 0) |
           (grants & CLUSTER_ADMIN ? SQL_MAY_ADMIN : 0);
}

static unsigned grants_of(unsigned may)
{
    return (may & SQL_MAY_LOOK ? CLUSTER_LOOK : 0) | (may & SQL_MAY_ACT ? CLUSTER_ACT : 0) |
           (may & SQL_MAY_ADMIN ? CLUSTER_ADMIN : 0);
}

static struct sql_user user_of(const struct cluster_user *u, struct arena *arena)
{
    struct sql_user user = {
        .name = arena_strdup(arena, u->name), .may = may_of(u->grants), .has_password = u->has_password};
    memcpy(user.sha1_twice, u->native_hash, sizeof user.sha1_twice);
    return user;
}

static int user_find(void *context, const char *name, struct arena *arena, struct sql_user *ret_user,
                     struct err *err)
{
    struct cluster_user user;
    (void)err;
    int rc = cluster_user_get(of(context), name, &user);
    if (!rc) *ret_user = user_of(&user, arena);
    return rc;
}

static int list_users(void *context, struct arena *arena, struct sql_user **ret_users, size_t *ret_n,
                      struct err *err)
{
    (void)err;
    struct cluster_user *users;
    size_t n = cluster_users(of(context), &users);
    *ret_users = arena_zalloc(arena, (n + 1) * sizeof **ret_users);
    for (size_t i = 0; i < n; i++) (*ret_users)[i] = user_of(&users[i], arena);
    *ret_n = n;
    mem_free(users);
    return 0;
}

static int user_create(void *context, const char *name, struct err *err)
{
    return cluster_user_create(of(context), name, "", 0, err);
}

static int user_password(void *context, const char *name, const char *password, struct err *err)
{
    return cluster_user_set_password(of(context), name, password, err);
}

static int user_password_hash(void *context, const char *name, const uint8_t sha1_twice[20], struct err *err)
{
    return cluster_user_set_password_hash(of(context), name, sha1_twice, err);
}

static int user_drop(void *context, const char *name, struct err *err)
{
    return cluster_user_drop(of(context), name, err);
}

static int user_grants(void *context, const char *name, unsigned may, struct err *err)
{
    return cluster_user_set_grants(of(context), name, grants_of(may), err);
}

static bool login_allowed(void *context, const char *user, const char *peer)
{
    return cluster_login_allowed(of(context), user, peer);
}

static void login_done(void *context, const char *user, const char *peer, bool ok)
{
    cluster_login_result(of(context), user, peer, NULL, ok);
    cluster_audit(of(context), user, peer, ok ? "ok" : "denied", ok ? NULL : CLUSTER_WRONG_PASSWORD,
                  "MySQL login");
}

static void audit(void *context, const char *user, const char *peer, const char *action, const char *target,
                  const char *detail, const char *failure)
{
    cluster_audit(of(context), user, peer, failure ? "failed" : "ok", failure, "sql %s %s%s%s", action,
                  target, *detail ? ": " : "", detail);
}

struct sql_cluster *sql_cluster_new(struct cluster *cluster, struct store *store, struct collector *collector,
                                    const char *snapshot_dir, const char *const *symbol_search)
{
    struct sql_cluster *c = mem_zalloc(sizeof *c);
    c->cluster = cluster;
    c->store = store;
    c->collector = collector;
    c->snapshot_dir = snapshot_dir ? mem_strdup(snapshot_dir) : NULL;
    c->backend = (struct sql_backend){
        .context = c,
        .nodes = list_nodes,
        .node_add = node_add,
        .node_drop = node_drop,
        .settings = list_settings,
        .setting_set = setting_set,
        .user_find = user_find,
        .users = list_users,
        .user_create = user_create,
        .user_password = user_password,
        .user_password_hash = user_password_hash,
        .user_drop = user_drop,
        .user_grants = user_grants,
        .login_allowed = login_allowed,
        .login_done = login_done,
        .node_call = node_call,
        .jvm_profile = jvm_profile,
        .profiles = list_profiles,
        .failures = list_failures,
        .audit = audit,
        .snapshot_dir = c->snapshot_dir,
        .symbols = symbolizer_new(&(struct symbol_options){.search = symbol_search}),
    };
    return c;
}

const struct sql_backend *sql_cluster_backend(const struct sql_cluster *c)
{
    return &c->backend;
}

void sql_cluster_free(struct sql_cluster *c)
{
    if (!c) return;
    symbolizer_free(c->backend.symbols);
    mem_free(c->snapshot_dir);
    mem_free(c);
}
