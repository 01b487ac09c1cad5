/* server.c - see server.h. A poll loop over the listener, a bell (an eventfd that finished jobs and
 * server_stop ring) and at most MAX_CONNECTIONS clients. Every client has a deadline for what it is doing:
 * sending its request, taking the answer, being idle. */
#include "agent/server.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "agent/http_request.h"
#include "agent/listen.h"
#include "agent/routes.h"
#include "agent/tables.h"
#include "agent/threads.h"
#include "agent/token.h"
#include "procprof.h"

#define MAX_CONNECTIONS  128
#define REQUEST_LIMIT_MS 10000 /* a whole request, however slowly its bytes come */
#define SEND_LIMIT_MS    60000 /* without a byte taken */
#define IDLE_LIMIT_MS    15000
#define HOUSEKEEPING_MS  100
#define OUR_LOWEST_FD    512

enum state { FREE, READING, WAITING, SENDING };

struct connection {
    enum state state;
    int fd;
    int64_t deadline_ms;
    struct pages_buf in;
    struct http_request request;
    struct response response;
    bool told_continue, keep_alive;
    char head[640];
    size_t n_head, n_head_sent;
    const char *body;
    size_t n_body, n_body_sent;
};

static struct connection connections[MAX_CONNECTIONS];
static int listener = -1, bell = -1, port;
static _Atomic bool stopping, running;

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void drop_response(struct connection *c)
{
    if (c->response.job) jobs_release(c->response.job);
    pages_buf_free(&c->response.body);
    memset(&c->response, 0, sizeof c->response);
}

static void close_connection(struct connection *c)
{
    drop_response(c);
    pages_buf_free(&c->in);
    if (c->fd >= 0) close(c->fd);
    memset(c, 0, sizeof *c);
    c->fd = -1;
}

static void begin_sending(struct connection *c)
{
    const struct response *r = &c->response;
    int n = snprintf(
        c->head, sizeof c->head,
        "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nX-Content-Type-Options: nosniff\r\n"
        "Server: procprof/%s\r\nCache-Control: no-store\r\nConnection: %s\r\n",
        r->status, routes_reason(r->status), r->content_type ? r->content_type : "text/plain", c->n_body,
        pp_version(), c->keep_alive ? "keep-alive" : "close");
    if (r->status != 200)
        n += snprintf(c->head + n, sizeof c->head - (size_t)n,
                      "X-Go-Pprof: 1\r\n"); /* Go's client then shows the text */
    if (r->status == 401)
        n += snprintf(c->head + n, sizeof c->head - (size_t)n, "WWW-Authenticate: Bearer\r\n");
    if (r->retry_after_s)
        n += snprintf(c->head + n, sizeof c->head - (size_t)n, "Retry-After: %d\r\n", r->retry_after_s);
    if (r->file_name[0])
        n += snprintf(c->head + n, sizeof c->head - (size_t)n,
                      "Content-Disposition: attachment; filename=\"%s\"\r\n", r->file_name);
    n += snprintf(c->head + n, sizeof c->head - (size_t)n, "\r\n");
    c->n_head = (size_t)n;
    c->n_head_sent = c->n_body_sent = 0;
    if (c->request.method == HTTP_HEAD) c->n_body = 0;
    c->state = SENDING;
    c->deadline_ms = now_ms() + SEND_LIMIT_MS;
}

static void answer_status(struct connection *c, int status)
{
    routes_counters.n_bad++;
    c->keep_alive = false;
    c->response.status = status;
    pages_buf_text(&c->response.body, routes_reason(status));
    pages_buf_text(&c->response.body, "\n");
    c->body = c->response.body.data;
    c->n_body = c->response.body.size;
    begin_sending(c);
}

static void try_request(struct connection *c)
{
    int status = http_request_parse(c->in.data, c->in.size, &c->request);
    if (status > 1) {
        memset(&c->request, 0, sizeof c->request);
        answer_status(c, status);
        return;
    }
    if (status == 0) {
        if (c->request.n_head_bytes && c->request.expects_continue && !c->told_continue) {
            c->told_continue = true;
            (void)send(c->fd, "HTTP/1.1 100 Continue\r\n\r\n", 25, MSG_NOSIGNAL | MSG_DONTWAIT);
        }
        return;
    }
    c->keep_alive = c->request.keep_alive;
    routes_answer(&c->request, c->in.data + c->request.n_head_bytes, &c->response);
    if (c->response.job) {
        c->state = WAITING;
        c->deadline_ms = INT64_MAX;
        return;
    }
    c->body = c->response.body.data;
    c->n_body = c->response.body.size;
    begin_sending(c);
}

/* The answer is out: the next request may stand behind it already. */
static void next_request(struct connection *c)
{
    drop_response(c);
    if (!c->keep_alive) {
        shutdown(c->fd, SHUT_WR);
        close_connection(c);
        return;
    }
    size_t used = c->request.n_head_bytes + c->request.n_body_bytes;
    if (used > c->in.size) used = c->in.size;
    memmove(c->in.data, c->in.data + used, c->in.size - used);
    c->in.size -= used;
    c->state = READING;
    c->told_continue = false;
    c->deadline_ms = now_ms() + IDLE_LIMIT_MS;
}

/* True when all is out; else the socket is full, or the connection is gone. */
static bool send_all(struct connection *c)
{
    while (c->n_head_sent < c->n_head || c->n_body_sent < c->n_body) {
        bool head = c->n_head_sent < c->n_head;
        const char *from = head ? c->head + c->n_head_sent : c->body + c->n_body_sent;
        size_t left = head ? c->n_head - c->n_head_sent : c->n_body - c->n_body_sent;
        ssize_t n = send(c->fd, from, left, MSG_NOSIGNAL | MSG_DONTWAIT | (head && c->n_body ? MSG_MORE : 0));
        if (n < 0 && errno == EAGAIN) return false;
        if (n <= 0) {
            close_connection(c);
            return false;
        }
        *(head ? &c->n_head_sent : &c->n_body_sent) += (size_t)n;
        c->deadline_ms = now_ms() + SEND_LIMIT_MS;
    }
    return true;
}

/* As far as it goes without waiting: many requests may have come in one go. A loop, not a recursion: how many
 * is up to the client. */
static void proceed(struct connection *c)
{
    for (;;) {
        if (c->state == SENDING) {
            if (!send_all(c)) return;
            next_request(c);
        }
        if (c->state != READING || !c->in.size) return;
        try_request(c);
        if (c->state != SENDING) return;
    }
}

static void read_now(struct connection *c)
{
    char bytes[16384];
    ssize_t n = recv(c->fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0 || c->state != READING) { /* gone; or talks while it should listen */
        close_connection(c);
        return;
    }
    if (c->in.size == 0) c->deadline_ms = now_ms() + REQUEST_LIMIT_MS; /* from the first byte on */
    pages_buf_bytes(&c->in, bytes, (size_t)n);
    if (c->in.failed)
        close_connection(c);
    else
        proceed(c);
}

static void accept_new(void)
{
    for (unsigned i = 0; i < MAX_CONNECTIONS; i++) {
        int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) return;
        routes_counters.n_connections++;
        struct connection *free_one = NULL, *idle = NULL;
        for (unsigned k = 0; k < MAX_CONNECTIONS; k++) {
            struct connection *c = &connections[k];
            if (c->state == FREE && !free_one) free_one = c;
            if (c->state == READING && (!idle || c->deadline_ms < idle->deadline_ms)) idle = c;
        }
        if (!free_one && idle) { /* somebody who has not asked for anything yet makes room */
            routes_counters.n_refused++;
            close_connection(idle);
            free_one = idle;
        }
        if (!free_one) {
            routes_counters.n_refused++;
            close(fd);
            continue;
        }
        *free_one =
            (struct connection){.state = READING, .fd = fd, .deadline_ms = now_ms() + REQUEST_LIMIT_MS};
        free_one->in.limit = HTTP_MAX_HEAD + HTTP_MAX_BODY + 65536;
    }
}

static void deliver_finished(void)
{
    for (unsigned i = 0; i < MAX_CONNECTIONS; i++) {
        struct connection *c = &connections[i];
        if (c->state != WAITING || !atomic_load(&c->response.job->done)) continue;
        routes_finish(&c->response, &c->body, &c->n_body);
        begin_sending(c);
        proceed(c);
    }
    (void)jobs_running(); /* sweeps those nobody waits for any more */
}

/* The host has closed our descriptors, as programs do that close all they do not know. What bears their
 * numbers next is the host's: they are never touched again. */
static void give_up(void)
{
    listener = bell = -1;
    jobs_init(-1);
    atomic_store(&stopping, true);
}

static void serve_once(void)
{
    struct pollfd fds[MAX_CONNECTIONS + 2];
    struct connection *of[MAX_CONNECTIONS + 2] = {0};
    unsigned n = 0;
    fds[n++] = (struct pollfd){.fd = bell, .events = POLLIN};
    if (listener >= 0) fds[n++] = (struct pollfd){.fd = listener, .events = POLLIN};
    int64_t now = now_ms();
    for (unsigned i = 0; i < MAX_CONNECTIONS; i++) {
        struct connection *c = &connections[i];
        if (c->state == FREE) continue;
        if (now > c->deadline_ms) {
            if (c->state == READING && c->in.size) routes_counters.n_too_slow++;
            close_connection(c);
            continue;
        }
        of[n] = c;
        fds[n++] = (struct pollfd){.fd = c->fd,
                                   .events = c->state == SENDING   ? POLLOUT
                                             : c->state == WAITING ? POLLRDHUP
                                                                   : POLLIN};
    }
    /* With nobody there and nothing under way it sleeps until the bell rings or somebody comes. */
    bool is_idle = n <= 2 && !tables_are_held();
    if (poll(fds, n, is_idle ? -1 : HOUSEKEEPING_MS) < 0) return;
    if ((fds[0].revents | (listener >= 0 ? fds[1].revents : 0)) & POLLNVAL) {
        give_up();
        return;
    }
    if (fds[0].revents) {
        unsigned long long count;
        if (read(bell, &count, sizeof count) < 0) return;
    }
    /* What poll said holds for the connections that were there then: each is dealt with once, before anything
     * else may close one or put another in its place. */
    for (unsigned i = 1; i < n; i++) {
        struct connection *c = of[i];
        if (!c || !fds[i].revents) continue;
        if (c->state == SENDING && (fds[i].revents & POLLOUT))
            proceed(c);
        else if (c->state == WAITING || (fds[i].revents & (POLLERR | POLLNVAL)))
            close_connection(c); /* the client hung up */
        else if (c->state == READING)
            read_now(c);
    }
    deliver_finished();
    if (listener >= 0 && fds[1].revents) accept_new();
}

static void ring(void)
{
    int saved_errno = errno;
    unsigned long long one = 1;
    ssize_t n = write(bell, &one, sizeof one); /* full: it rings already */
    (void)n;
    errno = saved_errno;
}

static void *serve(void *argument)
{
    (void)argument;
    while (!atomic_load(&stopping)) {
        serve_once();
        tables_refresh();
    }
    for (unsigned i = 0; i < MAX_CONNECTIONS; i++)
        if (connections[i].state != FREE) close_connection(&connections[i]);
    if (listener >= 0) close(listener);
    listener = -1;
    port = 0;
    /* A capture that is just ending still rings: the bell stays. */
    atomic_store(&running, false);
    return NULL;
}

/* Where a host that closes or counts descriptors is less likely to meet it; left where it is when the limit
 * is low. */
static int move_up(int fd)
{
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, OUR_LOWEST_FD);
    if (moved < 0) return fd;
    close(fd);
    return moved;
}

int server_start(const char *address, struct err *err)
{
    if (atomic_load(&running)) return err_set(err, ERR_BUSY, "the agent runs already");
    if (bell < 0) {
        int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (fd < 0) return err_errno(err, errno, "eventfd");
        bell = move_up(fd);
    }
    if (address && strcmp(address, "off") && *address) {
        int fd = listen_open(address, token_is_set(), &port, err);
        if (fd < 0) return fd;
        listener = move_up(fd);
    }
    jobs_init(bell);
    tables_wake_with(ring);
    atomic_store(&stopping, false);
    atomic_store(&running, true);
    if (threads_start_own(serve, NULL, "procprof")) {
        atomic_store(&running, false);
        if (listener >= 0) close(listener);
        listener = -1;
        return err_set(err, ERR_LIMIT, "no thread could be started");
    }
    return 0;
}

int server_port(void)
{
    return port;
}

void server_stop(void)
{
    if (!atomic_load(&running)) return;
    atomic_store(&stopping, true);
    while (atomic_load(&running)) {
        ring();
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

void server_forked(void)
{
    if (listener >= 0) close(listener);
    if (bell >= 0) close(bell);
    for (unsigned i = 0; i < MAX_CONNECTIONS; i++)
        if (connections[i].state != FREE) close(connections[i].fd);
    memset(connections, 0, sizeof connections);
    listener = bell = -1;
    port = 0;
    atomic_store(&running, false);
    jobs_forked();
}
