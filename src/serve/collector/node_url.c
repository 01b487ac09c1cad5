/* node_url.c - see node_url.h. */
#include "serve/collector/node_url.h"

#include <string.h>

#include "base/mem.h"

static uint16_t port_of(const struct cluster_node *node, const char *path)
{
    bool is_brpc = strstr(path, "/profile") || strstr(path, "/contention") || strstr(path, "/symbol") ||
                   !strncmp(path, "/PInternalService/", 18); /* a StarRocks BE's own scripts */
    uint16_t wanted = is_brpc ? node->brpc_port : node->http_port;
    return wanted ? wanted : node->port;
}

char *node_url(const struct cluster_node *node, const char *path)
{
    bool is_v6 = strchr(node->host, ':') != NULL;
    return mem_printf("http://%s%s%s:%u%s", is_v6 ? "[" : "", node->host, is_v6 ? "]" : "",
                      port_of(node, path), path);
}

struct fetch_options node_fetch_options(const struct cluster_node *node)
{
    return (struct fetch_options){
        .is_node = true, .bearer_token = node->token, .user_agent = "Go-http-client/1.1 (procprof)"};
}

void node_pull(struct pull *pull, const struct cluster_node *node, const char *path, const char *post_body,
               double timeout_s, size_t max_bytes, pull_done *done, void *context)
{
    struct fetch_options options = node_fetch_options(node);
    struct curl_slist *headers;
    char *url = node_url(node, path);
    options.post_body = post_body;
    CURL *easy = fetch_prepare(url, &options, &headers);
    pull_add(pull, easy, headers, timeout_s, max_bytes, done, context);
    mem_free(url);
}
