/* fixture.h - a real cluster in a temporary folder, for tests and fuzzers of SQL. It has a frontend (this
 * server), two backends and a compute node. Backend 10002 answers on 127.0.0.2: a thread of this process
 * serves a heap profiler that can be switched, and whose profile is of this very process. Nothing listens for
 * backend 10003. */
#ifndef TESTS_SERVE_SQL_FIXTURE_H
#define TESTS_SERVE_SQL_FIXTURE_H

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "serve/sql/sql_cluster.h"
#include "symbol/symbol.h"

struct fixture {
    char dir[64];
    struct sql_cluster sql;
    int listen_fd, port; /* of node 10002 */
    bool heap_is_on;     /* only the thread of node 10002 uses it */
};

static inline void fixture_must(int rc, const struct err *err)
{
    if (!rc) return;
    fprintf(stderr, "fixture: %s\n", err->text);
    abort();
}

/* Two functions whose addresses appear in the profile, so that tests can look for their names. */
__attribute__((noinline, used)) static void fixture_allocates_much(void)
{
    __asm__ volatile("nop");
}

__attribute__((noinline, used)) static void fixture_calls_it(void)
{
    fixture_allocates_much();
    __asm__ volatile("nop");
}

/* 4 MiB allocated in one function, called by another; sampled exactly (period 1). */
static inline void fixture_heap_text(struct buf *b)
{
    unsigned long long a = (unsigned long long)(uintptr_t)fixture_allocates_much + 1,
                       c = (unsigned long long)(uintptr_t)fixture_calls_it + 4;
    buf_printf(b, "heap_v2/1\n  t*: 3: 4194304 [0: 0]\n  t0: 3: 4194304 [0: 0]\n");
    buf_printf(b, "@ 0x%llx 0x%llx\n  t*: 3: 4194304 [0: 0]\n  t0: 3: 4194304 [0: 0]\n\nMAPPED_LIBRARIES:\n",
               a, c);
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4096];
    while (maps && fgets(line, sizeof line, maps)) buf_str(b, line);
    if (maps) fclose(maps);
}

static inline void fixture_answer(struct fixture *f, int fd)
{
    char request[4096] = "", path[200] = "";
    struct buf body = {0}, head = {0};
    for (size_t n = 0; n + 1 < sizeof request && !strstr(request, "\r\n\r\n");) {
        ssize_t got = read(fd, request + n, sizeof request - 1 - n);
        if (got <= 0) break;
        n += (size_t)got;
    }
    int status = 200;
    sscanf(request, "%*s %199s", path);
    if (!strcmp(path, "/pprof/heap/enable"))
        f->heap_is_on = true;
    else if (!strcmp(path, "/pprof/heap/disable"))
        f->heap_is_on = false;
    else if (!strcmp(path, "/pprof/heap/status"))
        buf_printf(&body, "heap profiler: %s\nsource: fixture\n", f->heap_is_on ? "on" : "off");
    else if (!strcmp(path, "/pprof/heap?format=legacy"))
        fixture_heap_text(&body);
    else if (strcmp(path, "/pprof/heap/reset"))
        status = 404;
    buf_printf(&head, "HTTP/1.1 %d x\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n", status, body.len);
    if (body.len) buf_add(&head, body.data, body.len);
    for (size_t sent = 0; sent < head.len;) {
        ssize_t n = send(fd, head.data + sent, head.len - sent, MSG_NOSIGNAL);
        if (n <= 0) break;
        sent += (size_t)n;
    }
    shutdown(fd, SHUT_WR);
    close(fd);
    buf_free(&body);
    buf_free(&head);
}

static void *fixture_node(void *context)
{
    struct fixture *f = context;
    for (int fd; (fd = accept(f->listen_fd, NULL, NULL)) >= 0;) fixture_answer(f, fd);
    return NULL;
}

static inline void fixture_listen(struct fixture *f)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t n = sizeof at;
    pthread_t thread;
    inet_pton(AF_INET, "127.0.0.2", &at.sin_addr);
    f->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(f->listen_fd, (struct sockaddr *)&at, n) || listen(f->listen_fd, 16) ||
        getsockname(f->listen_fd, (struct sockaddr *)&at, &n) ||
        pthread_create(&thread, NULL, fixture_node, f))
        abort();
    pthread_detach(thread);
    f->port = ntohs(at.sin_port);
}

static inline void fixture_add(struct fixture *f, const struct cluster_node *node, bool alive,
                               const char *error)
{
    struct err err;
    int32_t id;
    fixture_must(cluster_node_add(f->sql.cluster, node, &id, &err), &err);
    if (alive || error) cluster_node_state(f->sql.cluster, id, true, 1700000000000, "procprof-0.1.0", NULL);
    if (error) cluster_node_state(f->sql.cluster, id, false, 0, NULL, error);
}

static struct fixture *fixture_open_one;

static void fixture_close(void)
{
    struct err err;
    cluster_close(fixture_open_one->sql.cluster);
    file_remove_tree(fixture_open_one->dir, &err);
}

/* Once in a process: exit() closes the cluster and removes its folder. with_node: backend 10002 answers. */
static inline void fixture_open(struct fixture *f, bool with_node)
{
    struct conf conf = {0};
    struct err err;
    *f = (struct fixture){.dir = "/tmp/procprof-sql-XXXXXX", .port = 8040};
    if (!mkdtemp(f->dir)) abort();
    server_log_level(LOG_ERROR_);
    fixture_must(cluster_open(f->dir, &conf, &f->sql.cluster, &err), &err);
    fixture_open_one = f;
    atexit(fixture_close);
    if (with_node) fixture_listen(f);
    fixture_add(
        f, &(struct cluster_node){.role = CLUSTER_FE, .host = "127.0.0.1", .port = 8030, .is_self = true},
        true, NULL);
    fixture_add(f, &(struct cluster_node){.role = CLUSTER_BE, .host = "127.0.0.2", .port = (uint16_t)f->port},
                true, NULL);
    fixture_add(f, &(struct cluster_node){.role = CLUSTER_BE, .host = "127.0.0.3", .port = 1}, false,
                "connection refused");
    fixture_add(f, &(struct cluster_node){.role = CLUSTER_CN, .host = "127.0.0.4", .port = 8040}, false,
                NULL);
}

/* The last line of the audit log has these words. */
static inline bool fixture_audit_says(struct fixture *f, const char *words)
{
    char path[100], line[2000] = "";
    snprintf(path, sizeof path, "%s/audit.log", f->dir);
    FILE *log = fopen(path, "r");
    while (log && fgets(line, sizeof line, log)) {
    }
    if (log) fclose(log);
    if (strstr(line, words)) return true;
    printf("# the audit log ends with: %s", line);
    return false;
}

#endif
