/* agent_server.c - see server.h. A poll loop over the listener, the bell (which finished jobs and server_stop
 * ring) and at most MAX_CONNECTIONS clients. Every client has a deadline for what it is doing: sending its
 * request, taking the answer, being idle. Descriptors may be the host's from one moment to the next
 * (own_fd.h). */
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
#define MAX_WAITING      112                /* of them for a capture: others come in all the same */
#define MAX_BODY_BYTES   ((size_t)32 << 20) /* of all requests that are coming in */
#define REQUEST_LIMIT_MS 10000              /* a whole request, however slowly its bytes come */
#define SEND_LIMIT_MS    60000              /* a whole answer, and more for a large one: */
#define SEND_BYTES_MS    16                 /* so many bytes a millisecond are expected to be taken */
#define IDLE_LIMIT_MS    15000
#define LEAVE_LIMIT_MS   2000
#define HOUSEKEEPING_MS  100
#define STOP_LIMIT_MS    5000
#define JOBS_LIMIT_MS    2000
#define PAUSE_MS         100 /* after a failure that would come again at once */

enum state { FREE, LEAVING, READING, WAITING, SENDING };

struct connection {
    enum state state;
    struct own_fd fd;
    int64_t deadline_ms;
    struct pages_buf in;
    struct http_request request;
    struct response response;
    bool keep_alive;
    bool is_still_sending; /* it was answered before all it has to say was read */
    char head[640];
    size_t n_head, n_head_sent;
    const char *body;
    size_t n_body, n_body_sent;
};

static struct connection connections[MAX_CONNECTIONS];
static struct listener listener;
static int64_t accept_after_ms; /* no descriptor was to be had: not before then */
static _Atomic int port;
static _Atomic bool stopping, running;
static void (*end_rest)(void);

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
                      "X-Go-Pprof: 1\r\n"); /* Go's client then shows the text */
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

static void answer_status(struct connection *c, int status)
{
    routes_counters.n_bad++;
    c->keep_alive = false;
    c->is_still_sending = true;
    c->response.status = status;
    pages_buf_text(&c->response.body, routes_reason(status));
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

/* The head is there and its body is not: is it worth waiting for? Whoever has no token shall not fill the
 * host's memory, and neither shall many together. */
static void begin_body(struct connection *c)
{
    size_t n_bytes = 0;
    for (unsigned i = 0; i < MAX_CONNECTIONS; i++)
        if (connections[i].state == READING) n_bytes += connections[i].request.n_body_bytes;
    if (!routes_is_open_to(&c->request)) {
        c->request.keep_alive = false;
        c->is_still_sending = true;
        answer_request(c);
    } else if (n_bytes > MAX_BODY_BYTES) {
        answer_status(c, 503);
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
    if (r->n_head_bytes && c->in.size < r->n_head_bytes + r->n_body_bytes) return; /* more of the body */
    bool was_in_body = r->n_head_bytes != 0;
    int status = http_request_parse(c->in.data, c->in.size, r);
    if (status > 1) {
        memset(r, 0, sizeof *r);
        answer_status(c, status);
    } else if (status == 1 && n_waiting() >= MAX_WAITING && !routes_is_health(r)) {
        routes_counters.n_busy++;
        answer_status(c, 503);
    } else if (status == 1) {
        answer_request(c);
    } else if (r->n_head_bytes && !was_in_body) {
        begin_body(c);
    }
}

/* The answer is out: the next request may stand behind it already. */
static void next_request(struct connection *c)
{
    drop_response(c);
    if (!c->keep_alive) {
        shutdown(own_fd_number(&c->fd), SHUT_WR);
        if (!c->is_still_sending) {
            close_connection(c);
            return;
        }
        /* To close on bytes that were not read is a reset, which may overtake the answer. */
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

/* True when all is out; else the socket is full, or the connection is gone. */
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
        proceed(c);
}

/* A place for one more. When there is none, somebody makes room who has not asked for anything yet, or else
 * who takes an answer: those who wait are never all. */
static struct connection *find_place(void)
{
    struct connection *oldest[SENDING + 1] = {0};
    for (unsigned k = 0; k < MAX_CONNECTIONS; k++) {
        struct connection *c = &connections[k], **o = &oldest[c->state];
        if (!*o || c->deadline_ms < (*o)->deadline_ms) *o = c;
    }
    if (oldest[FREE]) return oldest[FREE];
    struct connection *out = oldest[LEAVING]   ? oldest[LEAVING]
                             : oldest[READING] ? oldest[READING]
                                               : oldest[SENDING];
    routes_counters.n_refused++;
    close_connection(out);
    return out;
}

static void accept_new(void)
{
    for (unsigned i = 0; i < MAX_CONNECTIONS; i++) {
        int fd = accept4(own_fd_number(&listener.fd), NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0 && errno == ECONNABORTED) continue;
        if (fd < 0) {
            /* The client stays in the queue, and poll would say so at once. */
            if (errno != EAGAIN) accept_after_ms = now_ms() + PAUSE_MS;
            return;
        }
        routes_counters.n_connections++;
        struct own_fd own;
        if (!own_fd_take(&own, fd)) continue;
        struct connection *c = find_place();
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
        proceed(c);
    }
}

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

/* Also when the host has closed our descriptors, as programs do that close all they do not know: what bears
 * their numbers by then is not touched. */
static void end_service(void)
{
    for (unsigned i = 0; i < MAX_CONNECTIONS; i++)
        if (connections[i].state != FREE) close_connection(&connections[i]);
    wakeup_close(); /* nobody rings by way of the listener after this */
    listener_close(&listener);
    atomic_store(&port, 0);
}

static void serve_once(void)
{
    struct pollfd fds[MAX_CONNECTIONS + 2];
    struct connection *of[MAX_CONNECTIONS + 2] = {0};
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
        of[n] = c;
        fds[n++] = (struct pollfd){.fd = fd,
                                   .events = c->state == SENDING   ? POLLOUT
                                             : c->state == WAITING ? POLLRDHUP
                                                                   : POLLIN};
    }
    /* With nobody there and nothing under way it sleeps until the bell rings or somebody comes. */
    bool is_idle = n <= 2 && is_accepting && !tables_are_held();
    if (poll(fds, n, is_idle ? -1 : HOUSEKEEPING_MS) < 0) {
        pause_ms(PAUSE_MS); /* no memory, or a limit of the host: that stays so for a while */
        return;
    }
    if (fds[0].revents && !wakeup_drain()) {
        end_service();
        return;
    }
    /* What poll said holds for the connections that were there then: each is dealt with once, before anything
     * else may close one or put another in its place. */
    for (unsigned i = 1; i < n; i++) {
        struct connection *c = of[i];
        if (!c || !fds[i].revents) continue;
        if (c->state == SENDING && (fds[i].revents & POLLOUT))
            proceed(c);
        else if (c->state > READING || (fds[i].revents & (POLLERR | POLLNVAL)))
            close_connection(c); /* the client hung up */
        else
            read_now(c);
    }
    deliver_finished();
    if (fds[1].revents) accept_new();
}

static void *serve(void *argument)
{
    (void)argument;
    for (uint32_t n_heard = wakeup_count(); !atomic_load(&stopping); n_heard = wakeup_count()) {
        if (own_fd_is_taken(&listener.fd))
            serve_once();
        else /* the host has taken the listener away, or there never was one */
            wakeup_wait(n_heard, tables_are_held() ? HOUSEKEEPING_MS : -1);
        (void)jobs_running(); /* sweeps those nobody waits for any more */
        tables_refresh();
    }
    end_service();
    /* What they asked for is cancelled; what is past that (a control verb, the search for names) ends soon.
     */
    for (int64_t end_ns = deadline_after_ms(JOBS_LIMIT_MS);
         jobs_running() && deadline_sleep_us(end_ns, 1000);)
        continue;
    end_rest();
    atomic_store(&running, false);
    return NULL;
}

/* poll keeps alive what it sleeps on: when the bell is lost, a visitor still wakes it. */
static void knock(void)
{
    listener_knock(&listener);
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
            return err_set(err, ERR_LIMIT, "no descriptor is left for the agent");
        }
        wakeup_set_fallback(knock);
    }
    atomic_store(&port, listener.port);
    accept_after_ms = 0;
    end_rest = at_end;
    tables_wake_with(wakeup_send);
    atomic_store(&stopping, false);
    atomic_store(&running, true);
    if (threads_start_own(serve, NULL, "procprof")) {
        end_service();
        atomic_store(&running, false);
        return err_set(err, ERR_LIMIT, "no thread could be started");
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
