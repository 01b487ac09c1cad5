/* agent_server.c - see agent_server.h.
 *
 * One thread runs a poll loop over the listener, the wakeup socket (which finished jobs and server_stop use)
 * and at most MAX_CONNECTIONS clients. Every client has a deadline for what it does at the moment: send its
 * request, read its answer, be idle.
 *
 * Threads: only the library's thread touches `connections`. Threads of the host call server_start,
 * server_stop and server_port, and share the atomics `port`, `stopping` and `running` with it. Threads of the
 * host may also close our descriptors at any moment and reuse their numbers, so every use goes through
 * own_fd.h.
 */
#include "agent/http/agent_server.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "agent/host/deadline.h"
#include "agent/host/own_fd.h"
#include "agent/host/threads.h"
#include "agent/host/wakeup.h"
#include "agent/http/http_request.h"
#include "agent/http/listen.h"
#include "agent/http/routes.h"
#include "agent/http/token.h"
#include "agent/unwind/tables.h"
#include "procprof.h"

#define MAX_CONNECTIONS  128
#define MAX_WAITING      112                /* connections that wait for a capture; the rest stay free */
#define MAX_BODY_BYTES   ((size_t)32 << 20) /* of all requests that are being received, together */
#define REQUEST_LIMIT_MS 10000              /* for receiving a whole request */
#define SEND_LIMIT_MS    60000              /* for sending an answer, plus */
#define SEND_BYTES_MS    16                 /* one millisecond for so many bytes of it */
#define IDLE_LIMIT_MS    15000
#define LEAVE_LIMIT_MS   2000
#define HOUSEKEEPING_MS  100
#define STOP_LIMIT_MS    5000
#define JOBS_LIMIT_MS    2000
#define PAUSE_MS         100 /* after a failure that would repeat at once */

enum state { FREE, LEAVING, READING, WAITING, SENDING };

struct connection {
    enum state state;
    struct own_fd fd;
    int64_t deadline_ms;
    struct pages_buf in;
    struct http_request request;
    struct response response;
    bool keep_alive;
    bool has_unread_request; /* the answer was sent before the whole request was read */
    char head[640];
    size_t n_head, n_head_sent;
    const char *body;
    size_t n_body, n_body_sent;
};

static struct connection connections[MAX_CONNECTIONS];
static struct listener listener;
static int64_t accept_after_ms; /* after accept has failed, it is not tried before this time */
static _Atomic int port;
static _Atomic bool stopping, running;
static void (*run_at_end)(void);

static int64_t now_ms(void)
{
    return clock_now_ns() / 1000000;
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
    own_fd_close(&c->fd);
    memset(c, 0, sizeof *c);
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
                      "X-Go-Pprof: 1\r\n"); /* makes Go's client show the text */
    if (r->status == 405)
        n += snprintf(c->head + n, sizeof c->head - (size_t)n, "Allow: GET, HEAD, POST\r\n");
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
    c->deadline_ms = now_ms() + SEND_LIMIT_MS + (int64_t)(c->n_body / SEND_BYTES_MS);
}

/* Refuses a request that was not read completely. */
static void refuse(struct connection *c, int status, const char *text)
{
    routes_counters.n_bad++;
    c->keep_alive = false;
    c->has_unread_request = true;
    c->response.status = status;
    pages_buf_text(&c->response.body, text);
    pages_buf_text(&c->response.body, "\n");
    c->body = c->response.body.data;
    c->n_body = c->response.body.size;
    begin_sending(c);
}

static void answer_request(struct connection *c)
{
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

/* The head of a request is complete and its body is not. Decides whether to receive the body: a client
 * without the token must not fill the host's memory, nor must many clients together. */
static void begin_body(struct connection *c)
{
    size_t n_bytes = 0;
    for (unsigned i = 0; i < MAX_CONNECTIONS; i++)
        if (connections[i].state == READING) n_bytes += connections[i].request.n_body_bytes;
    if (!routes_is_allowed(&c->request)) {
        c->request.keep_alive = false;
        c->has_unread_request = true;
        answer_request(c);
    } else if (n_bytes > MAX_BODY_BYTES) {
        refuse(c, 503, "other clients are sending 32 MB of addresses at the moment; try again later");
    } else if (c->request.expects_continue) {
        (void)send(own_fd_number(&c->fd), "HTTP/1.1 100 Continue\r\n\r\n", 25, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
}

static unsigned n_waiting(void)
{
    unsigned n = 0;
    for (unsigned i = 0; i < MAX_CONNECTIONS; i++) n += connections[i].state == WAITING;
    return n;
}

static void try_request(struct connection *c)
{
    struct http_request *r = &c->request;
    if (r->n_head_bytes && c->in.size < r->n_head_bytes + r->n_body_bytes)
        return; /* the body is not complete */
    bool was_in_body = r->n_head_bytes != 0;
    int status = http_request_parse(c->in.data, c->in.size, r);
    if (status > 1) {
        memset(r, 0, sizeof *r);
        refuse(c, status, http_request_problem(status));
    } else if (status == 1 && n_waiting() >= MAX_WAITING && !routes_is_health(r)) {
        routes_counters.n_busy++;
        refuse(c, 503, "112 clients are waiting for captures; try again when some have ended");
    } else if (status == 1) {
        answer_request(c);
    } else if (r->n_head_bytes && !was_in_body) {
        begin_body(c);
    }
}

/* The answer was sent. Closes the connection, or makes it ready for the next request, whose bytes may have
 * arrived already. */
static void next_request(struct connection *c)
{
    drop_response(c);
    if (!c->keep_alive) {
        shutdown(own_fd_number(&c->fd), SHUT_WR);
        if (!c->has_unread_request) {
            close_connection(c);
            return;
        }
        /* If a socket is closed before all received bytes were read, the kernel sends a reset, which can
         * reach the client before the answer. So the rest is read first. */
        pages_buf_free(&c->in);
        c->state = LEAVING;
        c->deadline_ms = now_ms() + LEAVE_LIMIT_MS;
        return;
    }
    size_t used = c->request.n_head_bytes + c->request.n_body_bytes;
    if (used > c->in.size) used = c->in.size;
    memmove(c->in.data, c->in.data + used, c->in.size - used);
    c->in.size -= used;
    if (!c->in.size) pages_buf_free(&c->in); /* a body may have been large */
    memset(&c->request, 0, sizeof c->request);
    c->state = READING;
    c->deadline_ms = now_ms() + IDLE_LIMIT_MS;
}

/* Sends as much as the socket takes. True when everything was sent; false when the socket is full or the
 * connection was closed. */
static bool send_all(struct connection *c)
{
    while (c->n_head_sent < c->n_head || c->n_body_sent < c->n_body) {
        bool head = c->n_head_sent < c->n_head;
        const char *from = head ? c->head + c->n_head_sent : c->body + c->n_body_sent;
        size_t left = head ? c->n_head - c->n_head_sent : c->n_body - c->n_body_sent;
        ssize_t n = send(own_fd_number(&c->fd), from, left,
                         MSG_NOSIGNAL | MSG_DONTWAIT | (head && c->n_body ? MSG_MORE : 0));
        if (n < 0 && errno == EAGAIN) return false;
        if (n <= 0) {
            close_connection(c);
            return false;
        }
        *(head ? &c->n_head_sent : &c->n_body_sent) += (size_t)n;
    }
    return true;
}

/* Sends and answers as far as possible without waiting. One packet may contain many requests; how many is up
 * to the client, so this is a loop and not a recursion. */
static void advance(struct connection *c)
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

static void receive(struct connection *c)
{
    char bytes[16384];
    ssize_t n = recv(own_fd_number(&c->fd), bytes, sizeof bytes, MSG_DONTWAIT);
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) {
        close_connection(c);
        return;
    }
    if (c->state == LEAVING) return;
    if (c->in.size == 0) c->deadline_ms = now_ms() + REQUEST_LIMIT_MS; /* from the first byte on */
    pages_buf_bytes(&c->in, bytes, (size_t)n);
    if (c->in.failed)
        close_connection(c);
    else
        advance(c);
}

/* Finds a slot for a new connection. When all are in use, the oldest connection that is leaving, else that
 * has not completed a request, else that is reading its answer, is closed. One of these exists: at most
 * MAX_WAITING connections wait for a capture. */
static struct connection *find_or_evict(void)
{
    struct connection *oldest[SENDING + 1] = {0};
    for (unsigned k = 0; k < MAX_CONNECTIONS; k++) {
        struct connection *c = &connections[k], **o = &oldest[c->state];
        if (!*o || c->deadline_ms < (*o)->deadline_ms) *o = c;
    }
    if (oldest[FREE]) return oldest[FREE];
    struct connection *evicted = oldest[LEAVING]   ? oldest[LEAVING]
                                 : oldest[READING] ? oldest[READING]
                                                   : oldest[SENDING];
    routes_counters.n_refused++;
    close_connection(evicted);
    return evicted;
}

static void accept_new(void)
{
    for (unsigned i = 0; i < MAX_CONNECTIONS; i++) {
        int fd = accept4(own_fd_number(&listener.fd), NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0 && errno == ECONNABORTED) continue;
        if (fd < 0) {
            /* The client stays in the kernel's queue, and poll would report it again at once. */
            if (errno != EAGAIN) accept_after_ms = now_ms() + PAUSE_MS;
            return;
        }
        routes_counters.n_connections++;
        struct own_fd own;
        if (!own_fd_take(&own, fd)) continue;
        struct connection *c = find_or_evict();
        *c = (struct connection){.state = READING, .fd = own, .deadline_ms = now_ms() + REQUEST_LIMIT_MS};
        c->in.limit = HTTP_MAX_HEAD + HTTP_MAX_BODY + 65536;
    }
}

static void deliver_finished(void)
{
    for (unsigned i = 0; i < MAX_CONNECTIONS; i++) {
        struct connection *c = &connections[i];
        if (c->state != WAITING || !atomic_load(&c->response.job->done)) continue;
        routes_finish(&c->response, &c->body, &c->n_body);
        begin_sending(c);
        advance(c);
    }
}

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

/* Closes all connections and the listener. Safe after the host has closed our descriptors and reused their
 * numbers (own_fd.h). */
static void end_service(void)
{
    for (unsigned i = 0; i < MAX_CONNECTIONS; i++)
        if (connections[i].state != FREE) close_connection(&connections[i]);
    /* Before listener_close: wakeup_send calls wake_by_connecting, which uses the listener, until this
     * returns. */
    wakeup_close();
    listener_close(&listener);
    atomic_store(&port, 0);
}

static void serve_once(void)
{
    struct pollfd fds[MAX_CONNECTIONS + 2];
    struct connection *connection_of[MAX_CONNECTIONS + 2] = {0};
    unsigned n = 0;
    int64_t now = now_ms();
    bool is_accepting = now >= accept_after_ms;
    fds[n++] = (struct pollfd){.fd = wakeup_fd(), .events = POLLIN};
    fds[n++] = (struct pollfd){.fd = own_fd_number(&listener.fd), .events = POLLIN};
    if (fds[0].fd < 0 || fds[1].fd < 0) {
        end_service();
        return;
    }
    if (!is_accepting) fds[1].fd = -1;
    for (unsigned i = 0; i < MAX_CONNECTIONS; i++) {
        struct connection *c = &connections[i];
        if (c->state == FREE) continue;
        int fd = own_fd_number(&c->fd);
        if (now > c->deadline_ms || fd < 0) {
            if (c->state == READING && c->in.size && fd >= 0) routes_counters.n_too_slow++;
            close_connection(c);
            continue;
        }
        connection_of[n] = c;
        fds[n++] = (struct pollfd){.fd = fd,
                                   .events = c->state == SENDING   ? POLLOUT
                                             : c->state == WAITING ? POLLRDHUP
                                                                   : POLLIN};
    }
    /* Without clients and captures the thread sleeps until a wakeup or a new client. */
    bool is_idle = n <= 2 && is_accepting && !tables_are_held();
    if (poll(fds, n, is_idle ? -1 : HOUSEKEEPING_MS) < 0) {
        pause_ms(PAUSE_MS); /* no memory or a limit of the host, which will not change at once */
        return;
    }
    if (fds[0].revents && !wakeup_drain()) {
        end_service();
        return;
    }
    /* The results of poll belong to the connections of that moment. So they are used up before
     * deliver_finished and accept_new, which may close a connection or put a new one into its slot. */
    for (unsigned i = 1; i < n; i++) {
        struct connection *c = connection_of[i];
        if (!c || !fds[i].revents) continue;
        if (c->state == SENDING && (fds[i].revents & POLLOUT))
            advance(c);
        else if (c->state > READING || (fds[i].revents & (POLLERR | POLLNVAL)))
            close_connection(c); /* the client hung up */
        else
            receive(c);
    }
    deliver_finished();
    if (fds[1].revents) accept_new();
}

static void *serve(void *argument)
{
    (void)argument;
    for (uint32_t n_seen = wakeup_count(); !atomic_load(&stopping); n_seen = wakeup_count()) {
        if (own_fd_is_taken(&listener.fd))
            serve_once();
        else /* there is no listener, or the host has closed it */
            wakeup_wait(n_seen, tables_are_held() ? HOUSEKEEPING_MS : -1);
        (void)jobs_running(); /* frees finished jobs without clients */
        tables_refresh();
    }
    end_service();
    /* end_service has cancelled the captures. Jobs that cannot be cancelled (a control verb, a search for
     * names) end soon. */
    for (int64_t end_ns = deadline_after_ms(JOBS_LIMIT_MS);
         jobs_running() && deadline_sleep_us(end_ns, 1000);)
        continue;
    run_at_end();
    atomic_store(&running, false);
    return NULL;
}

/* The other way to wake the thread, for wakeup_set_fallback. If the host closes the wakeup socket and the
 * listener while the thread sleeps in poll, poll keeps both sockets alive, and a connection to the listener's
 * address still wakes it. */
static void wake_by_connecting(void)
{
    listener_wake(&listener);
}

bool server_is_running(void)
{
    return atomic_load(&running);
}

int server_start(const char *address, void (*at_end)(void), struct err *err)
{
    if (address && strcmp(address, "off") && *address) {
        int status = listener_open(&listener, address, token_is_set(), err);
        if (status) return status;
        if (!wakeup_open()) {
            listener_close(&listener);
            return err_set(err, ERR_LIMIT,
                           "cannot start the profiler: the process has no file descriptor left; raise its "
                           "limit (ulimit -n)");
        }
        wakeup_set_fallback(wake_by_connecting);
    }
    atomic_store(&port, listener.port);
    accept_after_ms = 0;
    run_at_end = at_end;
    tables_wake_with(wakeup_send);
    atomic_store(&stopping, false);
    atomic_store(&running, true);
    if (threads_start_own(serve, NULL, "procprof")) {
        end_service();
        atomic_store(&running, false);
        return err_set(
            err, ERR_LIMIT,
            "cannot start the profiler's thread: the process has reached a limit of threads or memory");
    }
    return 0;
}

int server_port(void)
{
    return atomic_load(&port);
}

void server_stop(void)
{
    atomic_store(&stopping, true);
    for (int64_t end_ns = deadline_after_ms(STOP_LIMIT_MS);
         atomic_load(&running) && deadline_sleep_us(end_ns, 1000);)
        wakeup_send();
}

void server_forked(void)
{
    wakeup_forked();
    listener_forked(&listener);
    for (unsigned i = 0; i < MAX_CONNECTIONS; i++) own_fd_close(&connections[i].fd);
    memset(connections, 0, sizeof connections);
    atomic_store(&port, 0);
    atomic_store(&running, false);
    jobs_forked();
}
