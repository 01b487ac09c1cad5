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

void node_url_prepare(CURL *easy, const struct cluster_node *node, const char *url,
                      struct curl_slist **headers)
{
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, 5000L);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "Go-http-client/1.1 (procprof)");
    if (node->token[0]) {
        char header[200];
        snprintf(header, sizeof header, "Authorization: Bearer %s", node->token);
        *headers = curl_slist_append(*headers, header);
        curl_easy_setopt(easy, CURLOPT_HTTPHEADER, *headers);
    }
}
