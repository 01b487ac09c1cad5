/* SQL text: lexed, parsed, described and executed over a cluster without network. */
#include <stdint.h>

#include "../tests/serve/sql/fixture_offline.h"
#include "serve/sql/sql_execute.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct fixture fixture;
    if (size > 1 << 14) return 0;
    fixture_reset(&fixture);
    struct sql_session session = {
        .cluster = &fixture.sql, .user = "root", .peer = "127.0.0.1", .grants = CLUSTER_ALL};
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
