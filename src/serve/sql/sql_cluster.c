/* sql_cluster.c - see sql_cluster.h. */
#include "serve/sql/sql_cluster.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
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
        if (!text_to_port(p->value, ports[i].port))
            return err_set(err, ERR_INPUT, "property \"%s\" must be a port (1 to 65535), not \"%.40s\"",
                           p->key, p->value);
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
        int64_t pid;
        if (!text_to_int(p->value, 1, INT32_MAX, &pid))
            return err_set(err, ERR_INPUT, "property \"pid\" must be a process id, not \"%.40s\"", p->value);
        node->jvm_pid = (int32_t)pid;
        return 0;
    }
    return err_set(err, ERR_INPUT,
                   "unknown property \"%.60s\"; known: http_port, brpc_port, heartbeat_port, be_port, "
                   "query_port, rpc_port, edit_log_port, token, name; of a frontend: jvm, pid",
                   p->key);
}

int sql_node_add(struct cluster *cluster, enum cluster_role role, const char *host, int port,
                 const struct sql_property *properties, size_t n_properties, struct err *err)
{
    struct cluster_node node = {.role = role, .port = (uint16_t)port};
    if (strlen(host) >= sizeof node.host) return err_set(err, ERR_INPUT, "the host name is too long");
    strcpy(node.host, host);
    for (size_t i = 0; i < n_properties; i++) {
        int rc = set_property(&node, &properties[i], err);
        if (rc) return rc;
    }
    if (node.jvm_pid || node.jvm_match[0]) { /* the server attaches to a JVM on its own host */
        if (role != CLUSTER_FE)
            return err_set(err, ERR_INPUT, "properties \"jvm\" and \"pid\" are for frontends");
        if (!node.http_port) node.http_port = node.port;
        node.port = 0;
    }
    return cluster_node_add(cluster, &node, NULL, err);
}

int sql_node_drop(struct cluster *cluster, enum cluster_role role, const char *host, int port,
                  struct err *err)
{
    static const char *const names[] = {"Frontend", "Backend", "ComputeNode"};
    struct cluster_node node;
    if (cluster_node_find(cluster, 1u << role, host, port, &node))
        return err_set(err, ERR_NOT_FOUND, "%s does not exist[%s:%d]", names[role], host, port);
    return cluster_node_drop(cluster, node.id, err);
}

void sql_audit(struct cluster *cluster, const char *user, const char *peer, const char *action,
               const char *target, const char *detail, const char *failure)
{
    cluster_audit(cluster, user, peer, failure ? "failed" : "ok", failure, "sql %s %s%s%s", action, target,
                  *detail ? ": " : "", detail);
}
