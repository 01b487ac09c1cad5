/* node_request.c - see node_request.h. */
#include "serve/collector/node_request.h"

#include "base/mem.h"
#include "base/text.h"
#include "serve/collector/node_url.h"

struct cancel {
    bool (*is_cancelled)(void *context);
    void *context;
};

static int look_at_cancel(void *context, size_t received_bytes, double elapsed_s)
{
    (void)received_bytes, (void)elapsed_s;
    const struct cancel *cancel = context;
    return cancel->is_cancelled(cancel->context);
}

static int refusal(const char *url, const struct fetch_answer *a, struct err *err)
{
    char line[160];
    text_first_line(a->body.data, a->body.len, line, sizeof line);
    return err_set(err, ERR_IO, "%s: HTTP status %ld%s%s", url, a->status, *line ? ": " : "", line);
}

int node_request_until(struct cluster *c, int32_t id, const char *path, const char *post_body,
                       double timeout_s, bool (*is_cancelled)(void *context), void *context,
                       struct bytes *ret_body, int *ret_status, struct err *err)
{
    struct cancel cancel = {is_cancelled, context};
    struct cluster_node node;
    struct fetch_answer answer;
    if (ret_status) *ret_status = 0;
    if (cluster_node_get(c, id, &node)) return err_set(err, ERR_NOT_FOUND, "no node has the id %d", id);
    if (!node.port)
        return err_set(err, ERR_UNSUPPORTED, "node %d (%s) is a JVM without HTTP endpoints", id, node.name);
    struct fetch_options options = node_fetch_options(&node);
    options.post_body = post_body;
    options.timeout_s = timeout_s;
    options.progress = is_cancelled ? look_at_cancel : NULL;
    options.progress_context = &cancel;
    char *url = node_url(&node, path);
    int bad = fetch_http(url, &options, &answer, err);
    if (ret_status) *ret_status = (int)answer.status;
    if (!bad && answer.status != 200) {
        bad = refusal(url, &answer, err);
        bytes_free(&answer.body);
    }
    if (!bad) *ret_body = answer.body;
    mem_free(url);
    return bad;
}
