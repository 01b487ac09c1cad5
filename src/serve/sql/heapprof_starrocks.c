/* heapprof_starrocks.c - see heapprof_starrocks.h. */
#include "serve/sql/heapprof_starrocks.h"

#include <stdio.h>
#include <string.h>

#include "base/json_read.h"
#include "serve/collector/node_request.h"

#define EXECUTE_COMMAND_PATH "/PInternalService/execute_command"

/* The first message of {"status":{"error_msgs":["..."]}}, which a BE that refuses the call sends. */
static const char *refusal_of(const struct json_value *reply)
{
    const struct json_value *messages = json_member(json_member(reply, "status"), "error_msgs");
    return messages && messages->kind == JSON_ARRAY && messages->items ? messages->items->text : NULL;
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
    struct arena arena = {0};
    struct json_value *answer = NULL;
    rc = json_read(reply.data, reply.len, &arena, &answer, err);
    const char *refusal = refusal_of(answer), *result = json_text(answer, "result");
    if (!rc && refusal)
        rc = err_set(err, ERR_IO, "node %d: %.200s", (int)node_id, refusal);
    else if (rc || !result)
        rc = err_set(err, ERR_INPUT, "node %d: its answer to execute_command has no result", (int)node_id);
    else if (strstr(result, " error: "))
        rc = err_set(err, ERR_IO, "node %d: %.200s", (int)node_id, result);
    else
        buf_str(printed, result);
    arena_free(&arena);
    bytes_free(&reply);
    return rc;
}
