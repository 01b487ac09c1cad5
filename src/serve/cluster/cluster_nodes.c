/* cluster_nodes.c - the nodes of a cluster, in memory and in SQLite. */
#include <arpa/inet.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "serve/cluster/cluster_int.h"

int cluster_nodes_load(struct cluster *c, struct err *err)
{
    sqlite3_stmt *s =
        db_query(&c->db, err,
                 "SELECT id, role, name, host, port, http_port, brpc_port, heartbeat_port, be_port, "
                 "query_port, rpc_port,"
                 " edit_log_port, is_self, jvm_pid, jvm_match, token, added_ms FROM nodes ORDER BY id");
    while (db_row(s)) {
        struct cluster_node *n = VEC_PUSH(c->nodes, c->n_nodes, c->cap_nodes);
        *n = (struct cluster_node){.id = sqlite3_column_int(s, 0)};
        for (int r = 0; r < CLUSTER_N_ROLES; r++)
            if (!strcmp(db_text(s, 1), cluster_role_name((enum cluster_role)r)))
                n->role = (enum cluster_role)r;
        snprintf(n->name, sizeof n->name, "%s", db_text(s, 2));
        snprintf(n->host, sizeof n->host, "%s", db_text(s, 3));
        uint16_t *ports[] = {&n->port,    &n->http_port,  &n->brpc_port, &n->heartbeat_port,
                             &n->be_port, &n->query_port, &n->rpc_port,  &n->edit_log_port};
        for (int i = 0; i < 8; i++) *ports[i] = (uint16_t)sqlite3_column_int(s, 4 + i);
        n->is_self = sqlite3_column_int(s, 12);
        n->jvm_pid = sqlite3_column_int(s, 13);
        snprintf(n->jvm_match, sizeof n->jvm_match, "%s", db_text(s, 14));
        snprintf(n->token, sizeof n->token, "%s", db_text(s, 15));
        n->added_ms = sqlite3_column_int64(s, 16);
    }
    return db_done(&c->db, s, err);
}

struct cluster_node *cluster_node_locked(struct cluster *c, int32_t id)
{
    size_t low = 0, high = c->n_nodes;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (c->nodes[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < c->n_nodes && c->nodes[low].id == id ? &c->nodes[low] : NULL;
}

size_t cluster_nodes(struct cluster *c, unsigned role_mask, struct cluster_node **ret_nodes)
{
    size_t n = 0;
    *ret_nodes = NULL;
    pthread_mutex_lock(&c->lock);
    if (c->n_nodes) *ret_nodes = mem_array(c->n_nodes, sizeof **ret_nodes);
    for (size_t i = 0; i < c->n_nodes; i++)
        if (role_mask >> c->nodes[i].role & 1) (*ret_nodes)[n++] = c->nodes[i];
    pthread_mutex_unlock(&c->lock);
    return n;
}

int cluster_node_get(struct cluster *c, int32_t id, struct cluster_node *ret_node)
{
    pthread_mutex_lock(&c->lock);
    struct cluster_node *n = cluster_node_locked(c, id);
    if (n) *ret_node = *n;
    pthread_mutex_unlock(&c->lock);
    return n ? 0 : ERR_NOT_FOUND;
}

void cluster_jvm_claim(struct cluster *c, int32_t id)
{
    pthread_mutex_lock(&c->lock);
    *VEC_PUSH(c->jvm_claims, c->n_jvm_claims, c->cap_jvm_claims) = id;
    pthread_mutex_unlock(&c->lock);
}

static size_t jvm_claim_locked(const struct cluster *c,
                               int32_t id) /* the index; n_jvm_claims when there is none */
{
    size_t i = 0;
    while (i < c->n_jvm_claims && c->jvm_claims[i] != id) i++;
    return i;
}

void cluster_jvm_release(struct cluster *c, int32_t id)
{
    pthread_mutex_lock(&c->lock);
    size_t i = jvm_claim_locked(c, id);
    if (i < c->n_jvm_claims) c->jvm_claims[i] = c->jvm_claims[--c->n_jvm_claims];
    pthread_mutex_unlock(&c->lock);
}

bool cluster_jvm_is_claimed(struct cluster *c, int32_t id)
{
    pthread_mutex_lock(&c->lock);
    bool found = jvm_claim_locked(c, id) < c->n_jvm_claims;
    pthread_mutex_unlock(&c->lock);
    return found;
}

void cluster_jvm_crashed(struct cluster *c, int32_t id)
{
    pthread_mutex_lock(&c->lock);
    struct cluster_node *n = cluster_node_locked(c, id);
    if (n) n->jvm_has_crashed = true;
    pthread_mutex_unlock(&c->lock);
}

bool cluster_jvm_has_crashed(struct cluster *c, int32_t id)
{
    pthread_mutex_lock(&c->lock);
    struct cluster_node *n = cluster_node_locked(c, id);
    bool has_crashed = n && n->jvm_has_crashed;
    pthread_mutex_unlock(&c->lock);
    return has_crashed;
}

static bool has_port(const struct cluster_node *n, int port)
{
    return port > 0
               ? n->port == port || n->http_port == port || n->brpc_port == port || n->heartbeat_port == port
               : n->port == 0;
}

int cluster_node_find(struct cluster *c, unsigned role_mask, const char *host, int port,
                      struct cluster_node *ret_node)
{
    bool found = false;
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < c->n_nodes && !found; i++) {
        struct cluster_node *n = &c->nodes[i];
        if ((role_mask >> n->role & 1) && has_port(n, port) && !strcasecmp(n->host, host)) {
            *ret_node = *n;
            found = true;
        }
    }
    pthread_mutex_unlock(&c->lock);
    return found ? 0 : ERR_NOT_FOUND;
}

bool cluster_node_is_local(const struct cluster_node *n)
{
    char own[256] = "";
    gethostname(own, sizeof own - 1);
    return n->is_self || !n->port || !strncmp(n->host, "127.", 4) || !strcmp(n->host, "::1") ||
           !strcasecmp(n->host, "localhost") || !strcasecmp(n->host, own);
}

bool cluster_node_is_followed(const struct cluster_node *n)
{
    return n->role == CLUSTER_FE && n->port && !n->is_self;
}

bool cluster_node_is_jvm(const struct cluster_node *n)
{
    return n->role == CLUSTER_FE && (n->is_self || !n->port);
}

/* A name of letters, digits, '.', '-' and '_', or an IPv6 address. No other character, because the host
 * becomes part of a URL. */
static bool is_host(const char *host)
{
    struct in6_addr v6;
    if (inet_pton(AF_INET6, host, &v6) == 1) return true;
    size_t n = strlen(host);
    if (n == 0 || n > 253 || host[0] == '-' || host[0] == '.') return false;
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)host[i]) && host[i] != '.' && host[i] != '-' && host[i] != '_')
            return false;
    return true;
}

static int check_node(const struct cluster_node *n, struct err *err)
{
    if (!is_host(n->host))
        return err_set(err, ERR_INPUT, "'%.100s' is not a host name or an address", n->host);
    if (!n->port && n->role != CLUSTER_FE)
        return err_set(err, ERR_INPUT, "%s needs a port between 1 and 65535", n->host);
    for (const char *p = n->token; *p; p++)
        if ((unsigned char)*p <= 32 || (unsigned char)*p >= 127)
            return err_set(err, ERR_INPUT, "a token must be printable ASCII without blanks");
    return 0;
}

static int insert(struct cluster *c, struct cluster_node *n, struct err *err)
{
    int bad =
        db_run(&c->db, err,
               "INSERT INTO nodes (role, name, host, port, http_port, brpc_port, heartbeat_port, be_port, "
               "query_port, rpc_port,"
               " edit_log_port, is_self, jvm_pid, jvm_match, token, added_ms) VALUES "
               "(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
               "tttiiiiiiiiiitti", cluster_role_name(n->role), n->name, n->host, (int64_t)n->port,
               (int64_t)n->http_port, (int64_t)n->brpc_port, (int64_t)n->heartbeat_port, (int64_t)n->be_port,
               (int64_t)n->query_port, (int64_t)n->rpc_port, (int64_t)n->edit_log_port, (int64_t)n->is_self,
               (int64_t)n->jvm_pid, n->jvm_match, n->token, n->added_ms);
    if (!bad) n->id = (int32_t)sqlite3_last_insert_rowid(c->db.handle);
    return bad;
}

int cluster_node_add(struct cluster *c, const struct cluster_node *node, int32_t *ret_id, struct err *err)
{
    struct cluster_node n = *node;
    n.alive = false;
    n.last_start_ms = n.last_heartbeat_ms = 0;
    n.version[0] = 0;
    snprintf(n.error, sizeof n.error, "not asked yet");
    n.added_ms = clock_wall_ns() / 1000000;
    int bad = check_node(&n, err);
    if (bad) return bad;
    if (!n.name[0])
        snprintf(n.name, sizeof n.name, strchr(n.host, ':') ? "[%.50s]:%u" : "%.56s:%u", n.host, n.port);
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < c->n_nodes && !bad; i++) {
        const struct cluster_node *o = &c->nodes[i];
        bool same_place = !strcasecmp(o->host, n.host) && o->port == n.port &&
                          (o->role == CLUSTER_FE) == (n.role == CLUSTER_FE);
        if (same_place && (n.port || (o->jvm_pid == n.jvm_pid && !strcmp(o->jvm_match, n.jvm_match))))
            bad = err_set(err, ERR_BUSY, "%s %s:%u exists already, with id %d", cluster_role_name(o->role),
                          n.host, n.port, o->id);
    }
    if (!bad && c->n_nodes >= CLUSTER_MAX_NODES)
        bad = err_set(err, ERR_LIMIT, "more than %d nodes", CLUSTER_MAX_NODES);
    if (!bad) bad = insert(c, &n, err);
    if (!bad) *VEC_PUSH(c->nodes, c->n_nodes, c->cap_nodes) = n;
    pthread_mutex_unlock(&c->lock);
    if (bad) return bad;
    if (ret_id) *ret_id = n.id;
    cluster_notify(c, CLUSTER_NODE_ADDED, n.id);
    return 0;
}

int cluster_node_update(struct cluster *c, int32_t id, const struct cluster_node *node, struct err *err)
{
    pthread_mutex_lock(&c->lock);
    struct cluster_node *n = cluster_node_locked(c, id);
    int bad = n ? db_run(&c->db, err,
                         "UPDATE nodes SET port = ?, http_port = ?, brpc_port = ?, heartbeat_port = ?, "
                         "be_port = ?, query_port = ?, rpc_port = ?, edit_log_port = ?, jvm_pid = ?, "
                         "jvm_match = ? WHERE id = ?",
                         "iiiiiiiiiti", (int64_t)node->port, (int64_t)node->http_port,
                         (int64_t)node->brpc_port, (int64_t)node->heartbeat_port, (int64_t)node->be_port,
                         (int64_t)node->query_port, (int64_t)node->rpc_port, (int64_t)node->edit_log_port,
                         (int64_t)node->jvm_pid, node->jvm_match, (int64_t)id)
                : err_set(err, ERR_NOT_FOUND, "no node has the id %d", id);
    if (!bad) {
        n->port = node->port;
        n->http_port = node->http_port;
        n->brpc_port = node->brpc_port;
        n->heartbeat_port = node->heartbeat_port;
        n->be_port = node->be_port;
        n->query_port = node->query_port;
        n->rpc_port = node->rpc_port;
        n->edit_log_port = node->edit_log_port;
        n->jvm_pid = node->jvm_pid;
        memcpy(n->jvm_match, node->jvm_match, sizeof n->jvm_match);
    }
    pthread_mutex_unlock(&c->lock);
    return bad;
}

int cluster_node_drop(struct cluster *c, int32_t id, struct err *err)
{
    int bad = 0;
    pthread_mutex_lock(&c->lock);
    struct cluster_node *n = cluster_node_locked(c, id);
    if (!n)
        bad = err_set(err, ERR_NOT_FOUND, "no node has the id %d", id);
    else if (n->is_self)
        bad = err_set(err, ERR_DENIED, "node %d is this server and cannot be dropped", id);
    else
        bad = db_run(&c->db, err, "DELETE FROM nodes WHERE id = ?", "i", (int64_t)id);
    if (!bad) {
        memmove(n, n + 1, (size_t)(c->nodes + c->n_nodes - (n + 1)) * sizeof *n);
        c->n_nodes--;
        db_run(&c->db, NULL, "DELETE FROM switches WHERE node_id = ?", "i", (int64_t)id);
        for (size_t i = c->n_switches; i-- > 0;)
            if (c->switches[i].node_id == id) c->switches[i] = c->switches[--c->n_switches];
    }
    pthread_mutex_unlock(&c->lock);
    if (!bad) cluster_notify(c, CLUSTER_NODE_DROPPED, id);
    return bad;
}

void cluster_node_state(struct cluster *c, int32_t id, bool alive, int64_t start_ms, const char *version,
                        const char *error)
{
    bool changed = false;
    pthread_mutex_lock(&c->lock);
    struct cluster_node *n = cluster_node_locked(c, id);
    if (n) {
        changed = n->alive != alive || strcmp(n->error, error ? error : "") != 0;
        int64_t now_ms = clock_wall_ns() / 1000000;
        if (alive) {
            n->last_heartbeat_ms = now_ms;
            if (start_ms)
                n->last_start_ms = start_ms;
            else if (!n->alive || !n->last_start_ms)
                n->last_start_ms = now_ms;
        }
        n->alive = alive;
        snprintf(n->error, sizeof n->error, "%s", error ? error : "");
        if (version && *version) snprintf(n->version, sizeof n->version, "%s", version);
    }
    pthread_mutex_unlock(&c->lock);
    if (changed) cluster_notify(c, CLUSTER_NODE_STATE, id);
}

/* ---- switches ---- */

int cluster_type_switch(struct cluster *c, int32_t id, const char *type)
{
    int found = -1;
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < c->n_switches; i++)
        if (c->switches[i].node_id == id && !strcmp(c->switches[i].type, type))
            found = c->switches[i].enabled;
    pthread_mutex_unlock(&c->lock);
    return found;
}

int cluster_type_set_switch(struct cluster *c, int32_t id, const char *type, bool enabled, struct err *err)
{
    pthread_mutex_lock(&c->lock);
    int bad = 0;
    if (!cluster_node_locked(c, id)) bad = err_set(err, ERR_NOT_FOUND, "no node has the id %d", id);
    if (!bad)
        bad = db_run(&c->db, err, "INSERT OR REPLACE INTO switches VALUES (?, ?, ?)", "iti", (int64_t)id,
                     type, (int64_t)enabled);
    struct type_switch *w = NULL;
    for (size_t i = 0; i < c->n_switches; i++)
        if (c->switches[i].node_id == id && !strcmp(c->switches[i].type, type)) w = &c->switches[i];
    if (!bad && !w) {
        w = VEC_PUSH(c->switches, c->n_switches, c->cap_switches);
        *w = (struct type_switch){.node_id = id};
        snprintf(w->type, sizeof w->type, "%s", type);
    }
    if (!bad) w->enabled = enabled;
    pthread_mutex_unlock(&c->lock);
    if (!bad) cluster_notify(c, CLUSTER_TYPE_SWITCHED, id);
    return bad;
}

/* ---- "BE host:port key=value ..." ---- */

static int parse_port(const char *text, uint16_t *ret_port, struct err *err)
{
    return text_to_port(text, ret_port) ? 0 : err_set(err, ERR_INPUT, "'%.60s' is not a port", text);
}

static int parse_place(char *word, struct cluster_node *n, struct err *err)
{
    char *host = word, *port = NULL;
    if (*word == '[') {
        char *close = strchr(word, ']');
        if (!close) return err_set(err, ERR_INPUT, "'%.100s' has no ']'", word);
        host = word + 1;
        *close = 0;
        if (close[1] == ':') port = close + 2;
    } else if ((port = strrchr(word, ':'))) {
        *port++ = 0;
    }
    if (strlen(host) >= sizeof n->host)
        return err_set(err, ERR_INPUT, "'%.60s...' is too long for a host name", host);
    snprintf(n->host, sizeof n->host, "%s", host);
    return port ? parse_port(port, &n->port, err) : 0;
}

static int parse_property(char *word, struct cluster_node *n, struct err *err)
{
    char *value = strchr(word, '=');
    if (!value) return err_set(err, ERR_INPUT, "'%.60s' is not of the form key=value", word);
    *value++ = 0;
    if (!strcmp(word, "http")) return parse_port(value, &n->http_port, err);
    if (!strcmp(word, "brpc")) return parse_port(value, &n->brpc_port, err);
    if (!strcmp(word, "heartbeat")) return parse_port(value, &n->heartbeat_port, err);
    if (!strcmp(word, "query")) return parse_port(value, &n->query_port, err);
    char *texts[] = {n->token, n->name, n->jvm_match};
    size_t sizes[] = {sizeof n->token, sizeof n->name, sizeof n->jvm_match};
    static const char *const names[] = {"token", "name", "jvm"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(word, names[i])) continue;
        if (strlen(value) >= sizes[i])
            return err_set(err, ERR_LIMIT, "%s is longer than %zu bytes", word, sizes[i] - 1);
        snprintf(texts[i], sizes[i], "%s", value);
        return 0;
    }
    if (!strcmp(word, "pid")) {
        n->jvm_pid = atoi(value);
        return n->jvm_pid > 0 ? 0 : err_set(err, ERR_INPUT, "pid=%.20s is not a process id", value);
    }
    return err_set(
        err, ERR_INPUT,
        "no such property of a node: '%.40s' (http, brpc, heartbeat, query, token, name, pid, jvm)", word);
}

int cluster_node_parse(const char *text, struct cluster_node *ret_node, struct err *err)
{
    struct cluster_node n = {0};
    char *copy = mem_strdup(text), *rest = NULL;
    char *role = strtok_r(copy, " \t", &rest), *place = role ? strtok_r(NULL, " \t", &rest) : NULL;
    int bad = 0, r = 0;
    while (role && r < CLUSTER_N_ROLES && strcasecmp(role, cluster_role_name((enum cluster_role)r))) r++;
    if (!place || r == CLUSTER_N_ROLES)
        bad = err_set(err, ERR_INPUT, "'%.100s' is not of the form BE host:port (or CN, FE)", text);
    if (!bad) {
        n.role = (enum cluster_role)r;
        bad = parse_place(place, &n, err);
    }
    for (char *word; !bad && (word = strtok_r(NULL, " \t", &rest));) bad = parse_property(word, &n, err);
    if (!bad) bad = check_node(&n, err);
    if (!bad && n.role == CLUSTER_FE && !n.port && !n.jvm_pid && !n.jvm_match[0])
        bad = err_set(err, ERR_INPUT,
                      "a frontend needs a port (another procprof), or pid= or jvm= of a JVM on this host");
    mem_free(copy);
    if (!bad) *ret_node = n;
    return bad;
}
