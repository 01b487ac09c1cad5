/* SQL text: lexed, parsed, described and executed over the double. */
#include <stdint.h>

#include "../tests/serve/sql/double.h"
#include "serve/sql/sql_execute.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int no_call(void *context, const struct sql_node *node, const char *path, const char *post_body,
                   double timeout_s, const struct sql_cancel *cancel, struct bytes *ret, int *ret_status,
                   struct err *err)
{
    (void)context, (void)node, (void)path, (void)post_body, (void)timeout_s, (void)cancel, (void)ret;
    if (ret_status) *ret_status = 0;
    return err_set(err, ERR_IO, "not here");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct double_cluster cluster;
    if (size > 1 << 14) return 0;
    double_init(&cluster);
    cluster.backend.node_call = no_call;
    struct sql_session session = {
        .backend = &cluster.backend, .user = "root", .peer = "127.0.0.1", .may = SQL_MAY_ALL};
    struct arena arena = {0};
    struct sql_result result;
    sql_run(&session, (const char *)data, size, &arena, &result);
    if (result.kind == SQL_RESULT_TABLE)
        for (size_t i = 0; i < result.table.n_rows; i++)
            for (size_t k = 0; k < result.table.n_columns; k++)
                if (result.table.rows[i][k] && strlen(result.table.rows[i][k]) == (size_t)-1) abort();
    arena_free(&arena);
    sql_release(&session.held);
    return 0;
}
