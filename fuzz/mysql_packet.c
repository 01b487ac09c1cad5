/* What a client may send, from its login on: the bytes are the whole of its side of the conversation. The
 * first byte chooses whether root has a password and whether TLS is offered (its start then does nothing, so
 * the bytes go on). */
#include <stdint.h>

#include "../tests/serve/sql/double.h"
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
    if (size < 1 || size > 1 << 16) return 0;
    double_init(&cluster);
    cluster.backend.node_call = no_call;
    if (data[0] & 1) double_user_password(&cluster, "root", "x", NULL);
    struct client client = {data + 1, data + size};
    struct mysql_conn conn = {.io = {&client, read_bytes, write_bytes},
                              .backend = &cluster.backend,
                              .id = 1,
                              .peer = "fuzz",
                              .offers_tls = data[0] & 2,
                              .start_tls = start_tls};
    mysql_conn_run(&conn);
    return 0;
}
