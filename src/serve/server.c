/* server.c - see server.h. */
#include "serve/server.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/listen_on.h"
#include "base/lock_rank.h"
#include "base/mem.h"
#include "base/version.h"
#include "serve/http/api.h"
#include "serve/http/site.h"
#include "serve/mysql/mysql_server.h"

struct server {
    struct site site;
    struct http_server *http;
    struct mysql_server *mysql;
    pthread_mutex_t listeners; /* held while listeners start or move: a client of the first one may set the
                                  password of root meanwhile */
    char *host;                /* the address of the listeners */
    char **search;
};

/* ---- events for open pages ---- */

static void on_store(void *context, enum store_event event, const struct store_profile *p)
{
    struct events *events = context;
    char text[160];
    if (event == STORE_ADDED)
        snprintf(text, sizeof text, "{\"id\":%lld,\"node\":%d,\"type\":\"%s\",\"time_ms\":%lld}",
                 (long long)p->id, p->node, profile_type_name(p->type), (long long)p->time_ms);
    else
        snprintf(text, sizeof text, "{\"id\":%lld}", (long long)p->id);
    events_send(events, event == STORE_ADDED ? "profile" : "profile-removed", text);
}

static void on_collector(void *context, enum collector_event event, int64_t id, enum profile_type type)
{
    struct site *site = context;
    if (!events_wanted(site->events) || !site->collector) return;
    struct buf text = {0};
    if (event == COLLECTOR_JOB)
        api_job_json(site, id, &text);
    else
        buf_printf(&text, "{\"node\":%lld,\"type\":\"%s\"}", (long long)id, profile_type_name(type));
    if (text.len) events_send(site->events, event == COLLECTOR_JOB ? "job" : "type", buf_cstr(&text));
    buf_free(&text);
}

static void on_cluster(void *context, enum cluster_event event, int32_t node)
{
    struct site *site = context;
    if (event == CLUSTER_SETTING_CHANGED) store_retention_wake(site->store);
    if (event != CLUSTER_NODE_STATE && event != CLUSTER_NODE_ADDED && event != CLUSTER_NODE_DROPPED) return;
    if (!events_wanted(site->events)) return;
    struct cluster_node n = {.id = node};
    struct buf text = {0};
    cluster_node_get(site->cluster, node, &n);
    buf_printf(&text, "{\"id\":%d,\"alive\":%s,\"error\":", node, n.alive ? "true" : "false");
    buf_json(&text, n.error, strlen(n.error));
    buf_char(&text, '}');
    events_send(site->events, "node", buf_cstr(&text));
    buf_free(&text);
}

static void on_bind(void *context)
{
    struct server *s = context;
    struct err err = {0};
    char *host = cluster_bind_host(s->site.cluster);
    pthread_mutex_lock(&s->listeners);
    if (s->host && strcmp(host, s->host)) {
        int bad = http_server_rebind(s->http, host, &err);
        if (!bad) {
            bad = mysql_server_rebind(s->mysql, host, &err);
            struct err again = {0};
            if (bad && http_server_rebind(s->http, s->host, &again)) server_log(LOG_ERROR_, "%s", again.text);
        }
        if (bad) {
            server_log(LOG_ERROR_, "cannot listen on %s: %s; the server still listens on %s", host, err.text,
                       s->host);
        } else {
            server_log(LOG_INFO_, "listening on %s now", host);
            char *old = s->host;
            s->host = host;
            host = old;
        }
    }
    pthread_mutex_unlock(&s->listeners);
    mem_free(host);
}

static void say_own_version(struct site *site)
{
    struct cluster_node *nodes;
    size_t n = cluster_nodes(site->cluster, ~0u, &nodes);
    for (size_t i = 0; i < n; i++)
        if (nodes[i].is_self)
            cluster_node_state(site->cluster, nodes[i].id, true, site->started_ms,
                               "procprof/" PROCPROF_VERSION, "");
    mem_free(nodes);
}

/* ---- parts ---- */

static struct store_limits limits(void *context)
{
    struct cluster *c = context;
    return (struct store_limits){
        .max_age_ms = cluster_setting_int(c, CONF_PROC_PROFILE_FILE_RETAINED_DAYS) * 86400000,
        .max_bytes = cluster_setting_int(c, CONF_PROC_PROFILE_FILE_RETAINED_SIZE_BYTES)};
}

static bool is_local(void *context, int32_t id)
{
    struct cluster_node n;
    return !cluster_node_get(context, id, &n) && cluster_node_is_local(&n);
}

static char *node_name(void *context, int32_t id)
{
    struct cluster_node n;
    if (cluster_node_get(context, id, &n)) return mem_printf("node %d", id);
    return mem_printf("%s %s", cluster_role_name(n.role), n.name);
}

/* The entry of this server, frontend 10001. */
static int set_self(struct cluster *c, int http_port, int query_port, int32_t *ret_id, struct err *err)
{
    struct cluster_node *all, self = {.role = CLUSTER_FE, .is_self = true};
    size_t n = cluster_nodes(c, 1 << CLUSTER_FE, &all);
    *ret_id = 0;
    for (size_t i = 0; i < n; i++)
        if (all[i].is_self) *ret_id = all[i].id;
    mem_free(all);
    char name[sizeof self.name] = "this host";
    gethostname(name, sizeof name - 1);
    snprintf(self.host, sizeof self.host, "127.0.0.1");
    snprintf(self.name, sizeof self.name, "%s", name);
    self.port = (uint16_t)http_port;
    self.query_port = (uint16_t)query_port;
    self.rpc_port = (uint16_t)cluster_setting_int(c, CONF_RPC_PORT);
    self.edit_log_port = (uint16_t)cluster_setting_int(c, CONF_EDIT_LOG_PORT);
    char *match = cluster_setting_text(c, CONF_FE_JVM);
    if (*match && strspn(match, "0123456789") == strlen(match))
        self.jvm_pid = atoi(match);
    else
        snprintf(self.jvm_match, sizeof self.jvm_match, "%s", match);
    mem_free(match);
    return *ret_id ? cluster_node_update(c, *ret_id, &self, err) : cluster_node_add(c, &self, ret_id, err);
}

static int add_own_backend(struct cluster *c, int32_t *ret_id, struct err *err)
{
    struct cluster_node n = {.role = CLUSTER_BE, .host = "127.0.0.1"}, there;
    n.brpc_port = n.port = (uint16_t)cluster_setting_int(c, CONF_BRPC_PORT);
    n.http_port = (uint16_t)cluster_setting_int(c, CONF_BE_HTTP_PORT);
    n.be_port = (uint16_t)cluster_setting_int(c, CONF_BE_PORT);
    n.heartbeat_port = (uint16_t)cluster_setting_int(c, CONF_HEARTBEAT_SERVICE_PORT);
    if (cluster_node_find(c, 1 << CLUSTER_BE, n.host, n.port, &there))
        return cluster_node_add(c, &n, ret_id, err);
    *ret_id = there.id;
    return cluster_node_update(c, there.id, &n, err); /* be.conf may have changed before this start */
}

static char **split_path(const char *text)
{
    char **list = NULL;
    size_t n = 0, cap = 0;
    while (*text) {
        size_t len = strcspn(text, ":");
        if (len) *VEC_PUSH(list, n, cap) = mem_strndup(text, len);
        text += len + (text[len] == ':');
    }
    *VEC_PUSH(list, n, cap) = NULL;
    return list;
}

static void more_files(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit)) return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static int start_store(struct server *s, const struct server_options *o, const struct conf *nodes,
                       struct err *err)
{
    struct cluster *c = s->site.cluster;
    char *log_dir = cluster_setting_text(c, CONF_SYS_LOG_DIR),
         *be_log_dir = cluster_setting_text(c, CONF_BE_SYS_LOG_DIR);
    char *dir =
        *log_dir ? mem_printf("%s/proc_profile", log_dir) : mem_printf("%s/log/proc_profile", o->data_dir);
    struct store_options so = {.dir = dir, .index_dir = o->data_dir, .durable = o->durable};
    int32_t self = 0, backend = 0;
    int bad = store_open(&so, &s->site.store, err);
    if (!bad)
        bad = set_self(c, (int)cluster_setting_int(c, CONF_HTTP_PORT),
                       (int)cluster_setting_int(c, CONF_QUERY_PORT), &self, err);
    if (!bad)
        bad = cluster_add_conf_nodes(c, nodes, NULL,
                                     err); /* after our own entry, which must get the id 10001 */
    if (!bad) bad = store_node_dir(s->site.store, self, dir, true, err);
    if (!bad && o->has_be_conf) {
        bad = add_own_backend(c, &backend, err);
        if (!bad && *be_log_dir && strcmp(be_log_dir, log_dir)) {
            char *be_dir = mem_printf("%s/proc_profile", be_log_dir);
            bad = store_node_dir(s->site.store, backend, be_dir, true, err);
            mem_free(be_dir);
        }
    }
    if (!bad) bad = store_load(s->site.store, err);
    if (!bad) {
        struct store_state state;
        store_state(s->site.store, &state);
        server_log(LOG_INFO_, "%zu profiles (%lld bytes) in %s", state.n_profiles, (long long)state.bytes,
                   dir);
    }
    mem_free(dir);
    mem_free(log_dir);
    mem_free(be_log_dir);
    return bad;
}

/* The server binds a port that the user named for it or refuses to start. The default port, and a port of
 * fe.conf, which the frontend on this host may use itself, are replaced by the next free one. */
static bool is_wish(struct cluster *c, enum conf_key port)
{
    enum conf_file from = cluster_setting_from(c, port);
    return !from || from == CONF_FE_FILE;
}

static void say_other_port(struct cluster *c, enum conf_key key, const char *what, int port)
{
    int wanted = (int)cluster_setting_int(c, key);
    if (wanted && port != wanted)
        server_log(LOG_WARN_, "port %d is in use by another server%s; %s listens on %d", wanted,
                   cluster_setting_from(c, key) ? " (perhaps the frontend)" : "", what, port);
}

static int start_listeners(struct server *s, const struct server_options *o, struct err *err)
{
    struct cluster *c = s->site.cluster;
    char *host = cluster_bind_host(c), *cert = cluster_setting_text(c, CONF_TLS_CERT),
         *key = cluster_setting_text(c, CONF_TLS_KEY), *snapshots = mem_printf("%s/snapshots", o->data_dir);
    s->site.is_tls = *cert != 0;
    struct http_server_options http = {.host = host,
                                       .port = (int)cluster_setting_int(c, CONF_HTTP_PORT),
                                       .port_is_wish = is_wish(c, CONF_HTTP_PORT),
                                       .if_taken = "choose one with --http-port",
                                       .tls_cert = cert,
                                       .tls_key = key};
    /* The setting applies only after root has a password, but an error in it is reported at the start. */
    char *listen = cluster_setting_text(c, CONF_LISTEN);
    int bad = listen_check(&(struct listen_words){.whom = "clients (the setting listen)"}, listen, err);
    mem_free(listen);
    if (!bad) bad = http_server_start(&s->site, &http, &s->http, err);
    if (!bad) {
        struct mysql_options mysql = {.store = s->site.store,
                                      .collector = s->site.collector,
                                      .host = host,
                                      .port = (int)cluster_setting_int(c, CONF_QUERY_PORT),
                                      .port_is_wish = is_wish(c, CONF_QUERY_PORT),
                                      .tls_cert = *cert ? cert : NULL,
                                      .tls_key = *key ? key : NULL,
                                      .snapshot_dir = snapshots,
                                      .symbol_search = (const char *const *)s->search};
        file_make_dirs(snapshots, 0700, NULL);
        bad = mysql_server_start(c, &mysql, &s->mysql, err);
    }
    if (!bad) {
        say_other_port(c, CONF_HTTP_PORT, "the page", http_server_port(s->http));
        say_other_port(c, CONF_QUERY_PORT, "MySQL", mysql_server_port(s->mysql));
    }
    if (!bad)
        server_log(LOG_INFO_, "HTTP%s on %s:%d, MySQL on %s:%d%s", *cert ? "S" : "", host,
                   http_server_port(s->http), host, mysql_server_port(s->mysql),
                   cluster_is_protected(c) ? "" : " (loopback only: root has no password yet)");
    s->host = host;
    mem_free(cert);
    mem_free(key);
    mem_free(snapshots);
    return bad;
}

static void set_log_level(const char *text)
{
    server_log_level(!strcmp(text, "error")   ? LOG_ERROR_
                     : !strcmp(text, "warn")  ? LOG_WARN_
                     : !strcmp(text, "debug") ? LOG_DEBUG_
                                              : LOG_INFO_);
}

int server_start(struct conf *conf, const struct server_options *o, struct server **ret_server,
                 struct err *err)
{
    struct server *s = mem_zalloc(sizeof *s);
    struct site *site = &s->site;
    lock_rank_init(&s->listeners, LOCK_LISTENERS, NULL);
    set_log_level(conf_text(conf, CONF_LOG_LEVEL));
    more_files();
    curl_global_init(CURL_GLOBAL_DEFAULT);
    site->agent_token = o->agent_token && *o->agent_token ? mem_strdup(o->agent_token) : NULL;
    site->started_ms = clock_wall_ns() / 1000000;
    site->events = events_new();
    site->sessions = sessions_new();
    int bad = cluster_open(o->data_dir, conf, &site->cluster, err);
    if (!bad) bad = start_store(s, o, conf, err);
    if (!bad) {
        char *path = cluster_setting_text(site->cluster, CONF_SYMBOL_PATH);
        s->search = split_path(path);
        mem_free(path);
        struct views_options vo = {.store = site->store,
                                   .symbol_search = (const char *const *)s->search,
                                   .is_local = is_local,
                                   .node_name = node_name,
                                   .context = site->cluster};
        site->views = views_new(&vo);
        store_watch(site->store, on_store, site->events);
        cluster_watch(site->cluster, on_cluster, site);
        cluster_on_bind_change(site->cluster, on_bind, s);
        bad = store_retention_start(site->store, limits, site->cluster, err);
    }
    if (!bad) say_own_version(site);
    if (!bad) bad = collector_start(site->cluster, site->store, on_collector, site, &site->collector, err);
    if (!bad) {
        pthread_mutex_lock(&s->listeners);
        bad = start_listeners(s, o, err);
        pthread_mutex_unlock(&s->listeners);
    }
    int32_t self;
    if (!bad)
        bad = set_self(site->cluster, server_http_port(s), server_mysql_port(s), &self,
                       err); /* port 0 has become a real port */
    if (bad) return server_stop(s), bad;
    *ret_server = s;
    return 0;
}

int server_http_port(const struct server *s)
{
    return http_server_port(s->http);
}

int server_mysql_port(const struct server *s)
{
    return mysql_server_port(s->mysql);
}

void server_reload(struct server *s, struct conf *conf)
{
    struct cluster *c = s->site.cluster;
    struct err err = {0};
    for (int k = 0; k < CONF_N_KEYS; k++) {
        const struct conf_key_info *info = conf_key_info((enum conf_key)k);
        if (!conf->from[k]) continue;
        char *now = cluster_setting_text(c, (enum conf_key)k);
        if (strcmp(now, conf_text(conf, (enum conf_key)k))) {
            if (!info->is_mutable)
                server_log(LOG_WARN_, "%s changed in the conf file; that takes effect after a restart",
                           info->name);
            else if (cluster_setting_set(c, info->name, conf_text(conf, (enum conf_key)k), false, &err))
                server_log(LOG_WARN_, "%s", err.text);
            else
                server_log(LOG_INFO_, "%s is %s now", info->name, conf_text(conf, (enum conf_key)k));
        }
        mem_free(now);
    }
    set_log_level(conf_text(conf, CONF_LOG_LEVEL));
    size_t n_added;
    if (cluster_add_conf_nodes(c, conf, &n_added, &err)) server_log(LOG_WARN_, "%s", err.text);
    if (n_added) server_log(LOG_INFO_, "%zu nodes added", n_added);
    cluster_audit_reopen(c);
}

void server_stop(struct server *s)
{
    if (!s) return;
    struct site *site = &s->site;
    mysql_server_stop(s->mysql);
    events_stop(site->events);
    http_server_stop(s->http);
    collector_stop(site->collector);
    views_free(site->views);
    store_close(site->store);
    cluster_close(site->cluster);
    sessions_free(site->sessions);
    mem_free(site->agent_token);
    events_free(site->events);
    for (size_t i = 0; s->search && s->search[i]; i++) mem_free(s->search[i]);
    mem_free(s->search);
    mem_free(s->host);
    pthread_mutex_destroy(&s->listeners);
    mem_free(s);
}
