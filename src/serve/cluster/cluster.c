/* cluster.c - opening and closing a cluster, settings, audit, log. Nodes and users are in cluster_nodes.c and
 * cluster_users.c. */
#include "serve/cluster/cluster.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/lock_rank.h"
#include "base/mem.h"
#include "serve/cluster/cluster_int.h"

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS nodes (id INTEGER PRIMARY KEY AUTOINCREMENT, role TEXT NOT NULL, name TEXT, "
    "host TEXT NOT NULL,"
    " port INTEGER NOT NULL, http_port INTEGER, brpc_port INTEGER, heartbeat_port INTEGER, be_port INTEGER, "
    "query_port INTEGER,"
    " rpc_port INTEGER, edit_log_port INTEGER, is_self INTEGER, jvm_pid INTEGER, jvm_match TEXT, token TEXT, "
    "added_ms INTEGER);"
    "INSERT INTO sqlite_sequence (name, seq) SELECT 'nodes', 10000 WHERE NOT EXISTS (SELECT 1 FROM "
    "sqlite_sequence WHERE name = 'nodes');"
    "CREATE TABLE IF NOT EXISTS users (name TEXT PRIMARY KEY, native_hash BLOB, grants INTEGER NOT NULL) "
    "WITHOUT ROWID;"
    "INSERT OR IGNORE INTO users VALUES ('root', NULL, 7);"
    "CREATE TABLE IF NOT EXISTS settings (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS switches (node_id INTEGER, type TEXT, enabled INTEGER, PRIMARY KEY (node_id, "
    "type)) WITHOUT ROWID;";

const char *cluster_role_name(enum cluster_role role)
{
    static const char *const names[] = {"FE", "BE", "CN"};
    return names[role];
}

static int load_settings(struct cluster *c, struct err *err)
{
    sqlite3_stmt *s = db_query(&c->db, err, "SELECT key, value FROM settings");
    while (db_row(s)) {
        int key = conf_key_find(db_text(s, 0), CONF_OWN_FILE);
        struct err why = {0};
        if (key < 0 || conf_set(&c->conf, (enum conf_key)key, db_text(s, 1), &why))
            server_log(LOG_WARN_, "stored setting %s is ignored: %s", db_text(s, 0),
                       key < 0 ? "no such key any more" : why.text);
    }
    return db_done(&c->db, s, err);
}

static int load_switches(struct cluster *c, struct err *err)
{
    sqlite3_stmt *s = db_query(&c->db, err, "SELECT node_id, type, enabled FROM switches");
    while (db_row(s)) {
        struct type_switch *w = VEC_PUSH(c->switches, c->n_switches, c->cap_switches);
        *w = (struct type_switch){.node_id = sqlite3_column_int(s, 0), .enabled = sqlite3_column_int(s, 2)};
        snprintf(w->type, sizeof w->type, "%s", db_text(s, 1));
    }
    return db_done(&c->db, s, err);
}

int cluster_add_conf_nodes(struct cluster *c, const struct conf *conf, size_t *ret_n_added, struct err *err)
{
    if (ret_n_added) *ret_n_added = 0;
    for (size_t i = 0; i < conf->n_nodes; i++) {
        struct cluster_node node, there;
        int bad = cluster_node_parse(conf->nodes[i].text, &node, err);
        if (!bad && !cluster_node_find(c, 1u << node.role, node.host, node.port, &there)) continue;
        if (!bad) bad = cluster_node_add(c, &node, NULL, err);
        if (bad) return err_prefix(err, "%s: node", conf->nodes[i].where), bad;
        if (ret_n_added) ++*ret_n_added;
    }
    return 0;
}

static int open_audit(const struct cluster *c)
{
    char path[sizeof c->data_dir + 32];
    snprintf(path, sizeof path, "%s/audit.log", c->data_dir);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
    if (fd < 0)
        server_log(LOG_WARN_, "cannot open %s: %s; actions are written to the log only", path,
                   strerror(errno));
    return fd;
}

void cluster_audit_reopen(struct cluster *c)
{
    int fd = open_audit(c);
    if (fd < 0 ||
        c->audit_fd < 0) { /* other threads read audit_fd without the lock, so it must not change from -1 */
        if (fd >= 0) close(fd);
        return;
    }
    dup3(fd, c->audit_fd, O_CLOEXEC);
    close(fd);
}

int cluster_open(const char *data_dir, struct conf *conf, struct cluster **ret_cluster, struct err *err)
{
    struct cluster *c = mem_zalloc(sizeof *c);
    lock_rank_init(&c->lock, LOCK_CLUSTER, NULL);
    snprintf(c->data_dir, sizeof c->data_dir, "%s", data_dir);
    c->audit_fd = -1;
    c->conf = *conf;
    c->conf.nodes = NULL;
    c->conf.n_nodes = c->conf.cap_nodes = 0;
    *conf = (struct conf){.nodes = conf->nodes, .n_nodes = conf->n_nodes, .cap_nodes = conf->cap_nodes};
    char path[sizeof c->data_dir + 32];
    bool was_damaged = false;
    int bad = file_make_dirs(data_dir, 0700, err);
    if (!bad) {
        snprintf(path, sizeof path, "%s/cluster.db", data_dir);
        bad = db_open(&c->db, path, schema, &was_damaged, err);
    }
    if (was_damaged)
        server_log(LOG_ERROR_, "%s was damaged; it was renamed to %s.damaged and replaced by an empty one",
                   path, path);
    if (!bad) bad = load_settings(c, err);
    if (!bad) bad = load_switches(c, err);
    if (!bad) bad = cluster_users_load(c, err);
    if (!bad) bad = cluster_nodes_load(c, err);
    if (!bad) c->audit_fd = open_audit(c);
    if (bad) return cluster_close(c), bad;
    *ret_cluster = c;
    return 0;
}

void cluster_close(struct cluster *c)
{
    if (!c) return;
    db_close(&c->db);
    if (c->audit_fd >= 0) close(c->audit_fd);
    conf_free(&c->conf);
    mem_free(c->nodes);
    mem_free(c->users);
    mem_free(c->switches);
    mem_free(c->jvm_claims);
    pthread_mutex_destroy(&c->lock);
    mem_free(c);
}

void cluster_watch(struct cluster *c, void (*watcher)(void *, enum cluster_event, int32_t), void *context)
{
    if (c->n_watchers == sizeof c->watchers / sizeof *c->watchers) abort();
    c->watchers[c->n_watchers].call = watcher;
    c->watchers[c->n_watchers++].context = context;
}

void cluster_notify(struct cluster *c, enum cluster_event event, int32_t node_id)
{
    for (size_t i = 0; i < c->n_watchers; i++) c->watchers[i].call(c->watchers[i].context, event, node_id);
}

/* ---- settings ---- */

static int by_key(const void *a, const void *b)
{
    return strcmp(((const struct cluster_setting *)a)->key, ((const struct cluster_setting *)b)->key);
}

size_t cluster_settings(struct cluster *c, struct cluster_setting **ret_settings)
{
    struct cluster_setting *all = mem_array(CONF_N_KEYS, sizeof *all);
    pthread_mutex_lock(&c->lock);
    for (int k = 0; k < CONF_N_KEYS; k++) {
        const struct conf_key_info *info = conf_key_info((enum conf_key)k);
        all[k] = (struct cluster_setting){.key = info->name,
                                          .type = info->type_name,
                                          .comment = info->comment,
                                          .is_mutable = info->is_mutable,
                                          .value = mem_strdup(conf_text(&c->conf, (enum conf_key)k))};
    }
    pthread_mutex_unlock(&c->lock);
    qsort(all, CONF_N_KEYS, sizeof *all, by_key);
    *ret_settings = all;
    return CONF_N_KEYS;
}

void cluster_settings_free(struct cluster_setting *settings, size_t n_settings)
{
    for (size_t i = 0; i < n_settings; i++) mem_free(settings[i].value);
    mem_free(settings);
}

int cluster_setting_set(struct cluster *c, const char *key_name, const char *value, bool persist,
                        struct err *err)
{
    int key = conf_key_find(key_name, CONF_OWN_FILE);
    if (key < 0) {
        const char *nearest = conf_key_nearest(key_name, CONF_OWN_FILE);
        return err_set(err, ERR_NOT_FOUND, "no setting '%.80s'%s%s%s", key_name,
                       nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
    }
    if (!conf_key_info((enum conf_key)key)->is_mutable)
        return err_set(err, ERR_DENIED,
                       "'%s' cannot be changed while the server runs; set it in the conf file and restart",
                       key_name);
    pthread_mutex_lock(&c->lock);
    int bad = conf_set(&c->conf, (enum conf_key)key, value, err);
    if (!bad && persist)
        bad = db_run(&c->db, err, "INSERT OR REPLACE INTO settings VALUES (?, ?)", "tt", key_name,
                     conf_text(&c->conf, (enum conf_key)key));
    pthread_mutex_unlock(&c->lock);
    if (!bad) cluster_notify(c, CLUSTER_SETTING_CHANGED, 0);
    return bad;
}

int64_t cluster_setting_int(struct cluster *c, enum conf_key key)
{
    pthread_mutex_lock(&c->lock);
    int64_t value = conf_int(&c->conf, key);
    pthread_mutex_unlock(&c->lock);
    return value;
}

enum conf_file cluster_setting_from(struct cluster *c, enum conf_key key)
{
    pthread_mutex_lock(&c->lock);
    enum conf_file from = c->conf.from[key];
    pthread_mutex_unlock(&c->lock);
    return from;
}

char *cluster_setting_text(struct cluster *c, enum conf_key key)
{
    pthread_mutex_lock(&c->lock);
    char *value = mem_strdup(conf_text(&c->conf, key));
    pthread_mutex_unlock(&c->lock);
    return value;
}

/* ---- audit and log ---- */

static void local_time(char text[40])
{
    int64_t now_ms = clock_wall_ns() / 1000000;
    time_t seconds = (time_t)(now_ms / 1000);
    struct tm tm;
    localtime_r(&seconds, &tm);
    size_t n = strftime(text, 32, "%Y-%m-%d %H:%M:%S", &tm);
    snprintf(text + n, 40 - n, ".%03d", (int)(now_ms % 1000));
}

/* Control bytes in texts of clients could forge log lines. */
static void one_line(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 32 || *text == 127) *text = '?';
}

void cluster_audit(struct cluster *c, const char *user, const char *peer, const char *result,
                   const char *reason, const char *format, ...)
{
    char what[600], when[40], line[1200];
    bool has_reason = reason && *reason;
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    snprintf(line, sizeof line, "user=%.63s peer=%.63s result=%s action=%s%s%.300s",
             user && *user ? user : "-", peer && *peer ? peer : "-", result, what,
             has_reason ? " reason=" : "", has_reason ? reason : "");
    one_line(line);
    local_time(when);
    if (c->audit_fd >= 0) {
        char whole[sizeof when + sizeof line + 2]; /* one write, so that lines of two threads do not mix */
        int n = snprintf(whole, sizeof whole, "%s %s\n", when, line);
        if (write(c->audit_fd, whole, (size_t)n) != n)
            server_log(LOG_WARN_, "cannot write audit.log: %s", strerror(errno));
    }
    server_log(LOG_INFO_, "audit %s", line);
}

static enum log_level level_now = LOG_INFO_;

void server_log_level(enum log_level level)
{
    __atomic_store_n(&level_now, level, __ATOMIC_RELAXED);
}

void server_log(enum log_level level, const char *format, ...)
{
    static const char *const names[] = {"ERROR", "WARN", "INFO", "DEBUG"};
    if (level > __atomic_load_n(&level_now, __ATOMIC_RELAXED)) return;
    char text[1400], when[40];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    one_line(text);
    local_time(when);
    fprintf(stderr, "%s %-5s %s\n", when, names[level], text);
}
