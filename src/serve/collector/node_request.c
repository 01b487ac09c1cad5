/* node_request.c - one blocking HTTP call to a node's profiling endpoint. The collector does its own, many
 * at a time (pull.h). */
#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "serve/cluster/cluster.h"
#include "serve/collector/node_request.h"
#include "serve/collector/node_url.h"

enum { MAX_REPLY_BYTES = 1 << 30 };

static size_t take(char *data, size_t size, size_t count, void *context)
{
    struct buf *body = context;
    buf_add(body, data, size * count);
    return body->full ? 0 : size * count;
}

struct cancel {
    bool (*is_cancelled)(void *context);
    void *context;
};

static int look_at_cancel(void *context, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    (void)a, (void)b, (void)c, (void)d;
    const struct cancel *cancel = context;
    return cancel->is_cancelled(cancel->context);
}

int node_request(struct cluster *c, int32_t id, const char *path, const char *post_body, double timeout_s,
                 struct bytes *ret_body, int *ret_status, struct err *err)
{
    return node_request_until(c, id, path, post_body, timeout_s, NULL, NULL, ret_body, ret_status, err);
}

int node_request_until(struct cluster *c, int32_t id, const char *path, const char *post_body,
                       double timeout_s, bool (*is_cancelled)(void *context), void *context,
                       struct bytes *ret_body, int *ret_status, struct err *err)
{
    struct cancel cancel = {is_cancelled, context};
    struct cluster_node node;
    if (ret_status) *ret_status = 0;
    if (cluster_node_get(c, id, &node)) return err_set(err, ERR_NOT_FOUND, "no node has the id %d", id);
    if (!node.port)
        return err_set(err, ERR_UNSUPPORTED, "node %d (%s) is a JVM without HTTP endpoints", id, node.name);
    char *url = node_url(&node, path);
    struct buf body = {.max_len = MAX_REPLY_BYTES};
    CURL *easy = curl_easy_init();
    if (!easy) abort();
    char reason[CURL_ERROR_SIZE] = "";
    struct curl_slist *headers = NULL;
    node_url_prepare(easy, &node, url, &headers);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)(timeout_s * 1000));
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &body);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, reason);
    if (is_cancelled) {
        curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
        curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, look_at_cancel);
        curl_easy_setopt(easy, CURLOPT_XFERINFODATA, &cancel);
    }
    if (post_body) curl_easy_setopt(easy, CURLOPT_POSTFIELDS, post_body);
    CURLcode rc = curl_easy_perform(easy);
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_cleanup(easy);
    curl_slist_free_all(headers);
    if (ret_status) *ret_status = (int)status;
    int bad = 0;
    if (rc == CURLE_OPERATION_TIMEDOUT) {
        bad = err_set(err, ERR_TIMEOUT, "%s: no answer within %.3g s", url, timeout_s);
    } else if (rc == CURLE_ABORTED_BY_CALLBACK) {
        bad = err_set(err, ERR_TIMEOUT, "%s: given up before it answered", url);
    } else if (rc != CURLE_OK) {
        bad = err_set(err, ERR_IO, "%s: %s", url, *reason ? reason : curl_easy_strerror(rc));
    } else if (status != 200) {
        char line[160];
        text_first_line(body.data, body.len, line, sizeof line);
        bad = err_set(err, ERR_IO, "%s: HTTP status %ld%s%s", url, status, *line ? ": " : "", line);
    } else {
        size_t len = body.len;
        *ret_body = (struct bytes){.data = (uint8_t *)buf_take(&body), .len = len};
    }
    buf_free(&body);
    mem_free(url);
    return bad;
}
