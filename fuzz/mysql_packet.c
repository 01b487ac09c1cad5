/* What a client may send, from its login on: the bytes are the whole of its side of the conversation. The
 * first byte chooses whether root has a password and whether TLS is offered (its start then does nothing, so
 * the bytes go on). */
#include <stdint.h>

#include "../tests/serve/sql/fixture_offline.h"
#include "serve/mysql/mysql_conn.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct client {
    const uint8_t *at, *end;
};

static ssize_t read_bytes(void *context, void *to, size_t n)
{
    struct client *c = context;
    size_t left = (size_t)(c->end - c->at);
    if (n > left) n = left;
    memcpy(to, c->at, n);
    c->at += n;
    return (ssize_t)n;
}

static ssize_t write_bytes(void *context, const void *from, size_t n)
{
    (void)context;
    static char sink[1 << 16];
    for (size_t i = 0; i < n; i += sizeof sink) /* every byte is there to be read */
        memcpy(sink, (const char *)from + i, n - i < sizeof sink ? n - i : sizeof sink);
    return (ssize_t)n;
}

static bool start_tls(void *context)
{
    (void)context;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct fixture fixture;
    struct err err;
    if (size < 1 || size > 1 << 16) return 0;
    fixture_reset(&fixture);
    if (data[0] & 1) cluster_user_set_password(fixture.sql.cluster, "root", "x", &err);
    struct client client = {data + 1, data + size};
    struct mysql_conn conn = {.io = {&client, read_bytes, write_bytes},
                              .cluster = &fixture.sql,
                              .id = 1,
                              .peer = "fuzz",
                              .offers_tls = data[0] & 2,
                              .start_tls = start_tls};
    mysql_conn_run(&conn);
    return 0;
}
