/* heapprof_starrocks.c - see heapprof_starrocks.h. */
#include "serve/sql/heapprof_starrocks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/collector/node_request.h"

#define EXECUTE_COMMAND_PATH "/PInternalService/execute_command"

/* The text of "key":"..." (or of the first in "key":["..."]) in a JSON object, unescaped; brpc writes plain
 * JSON without blanks around the colon or with one. */
static bool json_string(const char *json, size_t len, const char *key, struct buf *out)
{
    char wanted[32];
    snprintf(wanted, sizeof wanted, "\"%s\"", key);
    const char *end = json + len, *at = memmem(json, len, wanted, strlen(wanted));
    if (!at) return false;
    at += strlen(wanted);
    while (at < end && (*at == ' ' || *at == ':' || *at == '[')) at++;
    if (at >= end || *at++ != '"') return false;
    for (; at < end && *at != '"'; at++) {
        if (*at != '\\' || at + 1 >= end) {
            buf_char(out, *at);
            continue;
        }
        switch (*++at) {
        case 'n':
            buf_char(out, '\n');
            break;
        case 't':
            buf_char(out, '\t');
            break;
        case 'r':
            buf_char(out, '\r');
            break;
        default:
            buf_char(out, *at); /* \u is not needed: what these methods print is ASCII */
        }
    }
    return at < end;
}

int starrocks_heap_call(struct cluster *cluster, int32_t node_id, const char *method, double timeout_s,
                        const struct sql_cancel *cancel, struct buf *printed, struct err *err)
{
    char body[256];
    struct bytes reply = {0};
    snprintf(body, sizeof body,
             "{\"command\":\"execute_script\",\"params\":\"System.print(HeapProf.getInstance().%s())\"}",
             method);
    int rc = node_request_until(cluster, node_id, EXECUTE_COMMAND_PATH, body, timeout_s,
                                cancel ? cancel->is_asked : NULL, cancel ? cancel->context : NULL, &reply,
                                NULL, err);
    if (rc) {
        err_prefix(err, "node %d has no heap switch (neither libprocprof nor a StarRocks BE answers)",
                   (int)node_id);
        return rc;
    }
    size_t before = printed->len;
    struct buf refusal = {0};
    if (json_string((const char *)reply.data, reply.len, "error_msgs", &refusal))
        rc = err_set(err, ERR_IO, "node %d: %.200s", (int)node_id, buf_cstr(&refusal));
    else if (!json_string((const char *)reply.data, reply.len, "result", printed))
        rc = err_set(err, ERR_INPUT, "node %d: its answer to execute_command has no result", (int)node_id);
    else if (strstr(buf_cstr(printed) + before, " error: "))
        rc = err_set(err, ERR_IO, "node %d: %.200s", (int)node_id, buf_cstr(printed) + before);
    buf_free(&refusal);
    bytes_free(&reply);
    return rc;
}
