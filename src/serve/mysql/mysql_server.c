/* mysql_server.c - see mysql_server.h. */
#include "serve/mysql/mysql_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/listen_on.h"
#include "base/lock_rank.h"
#include "base/mem.h"
#include "serve/mysql/mysql_conn.h"
#include "serve/sql/sql_cluster.h"
#include "symbol/symbol.h"

enum { WRITE_LIMIT_MS = 60000 };

struct client {
    struct mysql_server *server;
    int fd;
    SSL *ssl;
    int64_t login_end_ns; /* monotonic; 0: logged in */
    atomic_bool is_killed, is_statement_killed;
    struct mysql_conn conn;
    struct client *next;

    /* Under the server's lock. */
    char user[64], statement[256];
    int64_t connected_s, since_s;
};

struct mysql_server {
    struct sql_cluster sql; /* set before threads start; the server owns the symboliser and the text */
    SSL_CTX *tls;
    pthread_t thread;
    int wake_fd;
    unsigned max_clients;
    int port;

    pthread_mutex_t lock; /* protects what follows */
    pthread_cond_t changed;
    int listen_fd; /* -1: none at the moment */
    int polled_fd; /* the socket that the accepting thread may be polling */
    struct client *clients;
    unsigned n_clients;
    uint32_t last_id;
    bool stopping;
    struct sql_connections connections; /* never changes */
    int idle_limit_s;
};

/* ---- the socket, plain or TLS ---- */

static void set_timeout(int fd, int option, int64_t ms)
{
    struct timeval limit = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
    setsockopt(fd, SOL_SOCKET, option, &limit, sizeof limit);
}

/* All reads of a login share one deadline, so a client cannot stay by sending a byte now and then. */
static bool limit_login(struct client *c)
{
    if (!c->login_end_ns) return true;
    int64_t left_ms = (c->login_end_ns - clock_monotonic_ns()) / 1000000;
    if (left_ms <= 0) return false;
    set_timeout(c->fd, SO_RCVTIMEO, left_ms);
    return true;
}

static ssize_t socket_read(void *context, void *to, size_t n)
{
    struct client *c = context;
    for (;;) {
        if (!limit_login(c)) return -1;
        if (c->ssl) return SSL_read(c->ssl, to, n > 1 << 20 ? 1 << 20 : (int)n);
        ssize_t got = recv(c->fd, to, n, 0);
        if (got >= 0 || errno != EINTR) return got;
    }
}

static ssize_t socket_write(void *context, const void *from, size_t n)
{
    struct client *c = context;
    for (;;) {
        if (c->ssl) return SSL_write(c->ssl, from, n > 1 << 20 ? 1 << 20 : (int)n);
        ssize_t put = send(c->fd, from, n, MSG_NOSIGNAL);
        if (put >= 0 || errno != EINTR) return put;
    }
}

static bool socket_start_tls(void *context)
{
    struct client *c = context;
    if (!limit_login(c)) return false;
    c->ssl = SSL_new(c->server->tls);
    if (!c->ssl || !SSL_set_fd(c->ssl, c->fd) || SSL_accept(c->ssl) != 1) {
        ERR_clear_error();
        return false;
    }
    return true;
}

static void socket_limit(void *context, int seconds, bool until_done)
{
    struct client *c = context;
    c->login_end_ns = until_done ? clock_monotonic_ns() + seconds * 1000000000LL : 0;
    set_timeout(c->fd, SO_RCVTIMEO, seconds * 1000LL);
    set_timeout(c->fd, SO_SNDTIMEO, WRITE_LIMIT_MS); /* for clients that do not read */
}

/* ---- clients ---- */

/* Other users see statements in SHOW PROCESSLIST, so those with secrets are not shown. */
static bool holds_secret(const char *statement, size_t len)
{
    static const char *const words[] = {"password", "identified", "token"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i]);
        for (size_t at = 0; at + n <= len; at++)
            if (!strncasecmp(statement + at, words[i], n)) return true;
    }
    return false;
}

static void set_state(void *context, const char *user, const char *statement, size_t len)
{
    struct client *c = context;
    pthread_mutex_lock(&c->server->lock);
    snprintf(c->user, sizeof c->user, "%s", user);
    if (holds_secret(statement, len))
        snprintf(c->statement, sizeof c->statement, "(a statement with a password or a token)");
    else
        snprintf(c->statement, sizeof c->statement, "%.*s", (int)(len < 255 ? len : 255), statement);
    c->since_s = clock_wall_ns() / 1000000000;
    pthread_mutex_unlock(&c->server->lock);
    if (!len) atomic_store(&c->is_statement_killed, false);
}

/* Called while a statement runs. True when it was killed or when the client has disconnected. */
static bool is_cancelled(void *context)
{
    struct client *c = context;
    if (atomic_load(&c->is_killed) || atomic_load(&c->is_statement_killed)) return true;
    struct pollfd p = {.fd = c->fd, .events = POLLRDHUP};
    return poll(&p, 1, 0) > 0 && p.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL);
}

static size_t list_clients(void *context, struct arena *arena, struct sql_connection **ret)
{
    struct mysql_server *s = context;
    size_t n = 0;
    pthread_mutex_lock(&s->lock);
    *ret = arena_array(arena, s->n_clients + 1, sizeof **ret);
    for (struct client *c = s->clients; c; c = c->next)
        if (*c->user)
            (*ret)[n++] = (struct sql_connection){.id = c->conn.id,
                                                  .user = arena_strdup(arena, c->user),
                                                  .peer = arena_strdup(arena, c->conn.peer),
                                                  .statement = arena_strdup(arena, c->statement),
                                                  .connected_s = c->connected_s,
                                                  .since_s = c->since_s};
    pthread_mutex_unlock(&s->lock);
    return n;
}

static bool kill_client(void *context, uint32_t id, bool statement_only, const char *owner)
{
    struct mysql_server *s = context;
    bool found = false;
    pthread_mutex_lock(&s->lock);
    for (struct client *c = s->clients; c; c = c->next) {
        if (c->conn.id != id || !*c->user || (owner && strcmp(owner, c->user))) continue;
        found = true;
        if (statement_only) {
            if (*c->statement) atomic_store(&c->is_statement_killed, true);
        } else {
            atomic_store(&c->is_killed, true);
            shutdown(c->fd, SHUT_RD); /* a reply that is being sent may still reach the client */
        }
    }
    pthread_mutex_unlock(&s->lock);
    return found;
}

static void *serve_client(void *context)
{
    struct client *c = context;
    struct mysql_server *s = c->server;
    mysql_conn_run(&c->conn);
    if (c->ssl) {
        SSL_shutdown(c->ssl);
        SSL_free(c->ssl);
        ERR_clear_error();
    }
    pthread_mutex_lock(&s->lock);
    for (struct client **at = &s->clients; *at; at = &(*at)->next)
        if (*at == c) {
            *at = c->next;
            break;
        }
    close(c->fd);
    s->n_clients--;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    mem_free(c);
    return NULL;
}

static void peer_name(const struct sockaddr_storage *address, char *text, size_t n)
{
    char host[INET6_ADDRSTRLEN] = "?";
    unsigned port = 0;
    if (address->ss_family == AF_INET6) {
        const struct sockaddr_in6 *a = (const void *)address;
        inet_ntop(AF_INET6, &a->sin6_addr, host, sizeof host);
        port = ntohs(a->sin6_port);
    } else if (address->ss_family == AF_INET) {
        const struct sockaddr_in *a = (const void *)address;
        inet_ntop(AF_INET, &a->sin_addr, host, sizeof host);
        port = ntohs(a->sin_port);
    }
    (void)port; /* failed logins are counted by address, so the port is left out */
    snprintf(text, n, "%s", host);
}

static void refuse(int fd)
{
    static const char too_many[] = "\x17\0\0\0\xff\x10\x04Too many connections";
    ssize_t n = send(fd, too_many, sizeof too_many - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)n;
    close(fd);
}

static void accept_client(struct mysql_server *s, int listen_fd)
{
    struct sockaddr_storage address;
    socklen_t n_address = sizeof address;
    int fd = accept4(listen_fd, (struct sockaddr *)&address, &n_address, SOCK_CLOEXEC);
    if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE)
            poll(NULL, 0, 100); /* no descriptor is free; wait until a client leaves */
        return;
    }
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
    struct client *c = mem_zalloc(sizeof *c);
    c->server = s;
    c->fd = fd;
    c->conn = (struct mysql_conn){.io = {.context = c, .read = socket_read, .write = socket_write},
                                  .cluster = &s->sql,
                                  .offers_tls = s->tls != NULL,
                                  .start_tls = socket_start_tls,
                                  .idle_limit_s = s->idle_limit_s,
                                  .connections = &s->connections,
                                  .cancel = {.is_asked = is_cancelled, .context = c},
                                  .set_limit = socket_limit,
                                  .set_state = set_state};
    c->connected_s = clock_wall_ns() / 1000000000;
    peer_name(&address, c->conn.peer, sizeof c->conn.peer);
    pthread_t thread;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_mutex_lock(&s->lock);
    c->conn.id = ++s->last_id;
    bool room = s->n_clients < s->max_clients && !s->stopping;
    if (room && !pthread_create(&thread, &attr, serve_client, c)) {
        c->next = s->clients;
        s->clients = c;
        s->n_clients++;
        c = NULL;
    }
    pthread_mutex_unlock(&s->lock);
    pthread_attr_destroy(&attr);
    if (c) {
        refuse(fd);
        mem_free(c);
    }
}

static void *accept_clients(void *context)
{
    struct mysql_server *s = context;
    for (;;) {
        pthread_mutex_lock(&s->lock);
        int listen_fd = s->polled_fd = s->listen_fd;
        bool stopping = s->stopping;
        pthread_cond_broadcast(&s->changed);
        pthread_mutex_unlock(&s->lock);
        if (stopping) return NULL;
        struct pollfd fds[2] = {{.fd = listen_fd, .events = POLLIN}, {.fd = s->wake_fd, .events = POLLIN}};
        if (poll(fds, 2, -1) < 0) continue;
        uint64_t count;
        if (fds[1].revents && read(s->wake_fd, &count, sizeof count) < 0) continue;
        if (fds[0].revents & POLLIN) accept_client(s, listen_fd);
    }
}

/* ---- listening ---- */

static const struct listen_words for_mysql = {.whom = "MySQL clients",
                                              .instead = "choose one with --mysql-port"};

static int load_tls(const struct mysql_options *o, SSL_CTX **ret, struct err *err)
{
    *ret = NULL;
    if (!o->tls_cert && !o->tls_key) return 0;
    if (!o->tls_cert || !o->tls_key) return err_set(err, ERR_INPUT, "TLS needs both a certificate and a key");
    SSL_CTX *tls = SSL_CTX_new(TLS_server_method());
    const char *file = o->tls_cert;
    bool good = tls && SSL_CTX_set_min_proto_version(tls, TLS1_2_VERSION) &&
                SSL_CTX_use_certificate_chain_file(tls, file) == 1;
    if (good) {
        file = o->tls_key;
        good = SSL_CTX_use_PrivateKey_file(tls, file, SSL_FILETYPE_PEM) == 1 &&
               SSL_CTX_check_private_key(tls) == 1;
    }
    if (good) {
        *ret = tls;
        return 0;
    }
    char why[160];
    ERR_error_string_n(ERR_peek_last_error(), why, sizeof why);
    ERR_clear_error();
    SSL_CTX_free(tls);
    return err_set(err, ERR_INPUT, "%s: cannot be used for TLS: %s", file, why);
}

static void free_sql(struct mysql_server *s)
{
    symbolizer_free(s->sql.symbols);
    mem_free((char *)s->sql.snapshot_dir);
}

int mysql_server_start(struct cluster *cluster, const struct mysql_options *o,
                       struct mysql_server **ret_server, struct err *err)
{
    struct mysql_server *s = mem_zalloc(sizeof *s);
    *s = (struct mysql_server){.sql = {.cluster = cluster, .store = o->store, .collector = o->collector},
                               .max_clients = o->max_clients ? o->max_clients : 512,
                               .idle_limit_s = (int)o->idle_limit_s,
                               .connections = {.context = s, .list = list_clients, .kill = kill_client},
                               .listen_fd = -1,
                               .polled_fd = -1,
                               .wake_fd = -1};
    lock_rank_init(&s->lock, LOCK_MYSQL, NULL);
    pthread_cond_init(&s->changed, NULL);
    if (o->snapshot_dir) s->sql.snapshot_dir = mem_strdup(o->snapshot_dir);
    s->sql.symbols = symbolizer_new(&(struct symbol_options){.search = o->symbol_search});
    int rc = load_tls(o, &s->tls, err);
    if (!rc)
        rc = (o->port_is_wish ? listen_near : listen_on)(&for_mysql, o->host ? o->host : "127.0.0.1", o->port,
                                                         &s->listen_fd, &s->port, err);
    if (!rc && (s->wake_fd = eventfd(0, EFD_CLOEXEC)) < 0)
        rc = err_errno(err, errno, "cannot make an eventfd");
    if (!rc && (errno = pthread_create(&s->thread, NULL, accept_clients, s)))
        rc = err_errno(err, errno, "cannot start a thread");
    if (!rc) {
        *ret_server = s;
        return 0;
    }
    free_sql(s);
    if (s->listen_fd >= 0) close(s->listen_fd);
    if (s->wake_fd >= 0) close(s->wake_fd);
    SSL_CTX_free(s->tls);
    mem_free(s);
    return rc;
}

int mysql_server_port(const struct mysql_server *s)
{
    return s->port;
}

static void wake(struct mysql_server *s)
{
    uint64_t one = 1;
    ssize_t n = write(s->wake_fd, &one, sizeof one);
    (void)n;
}

int mysql_server_rebind(struct mysql_server *s, const char *host, struct err *err)
{
    int fd, port, old;
    pthread_mutex_lock(&s->lock);
    old = s->listen_fd;
    s->listen_fd = -1;
    wake(s);
    while (s->polled_fd >= 0 && !s->stopping)
        pthread_cond_wait(&s->changed, &s->lock); /* close() does not end a poll() of the socket */
    pthread_mutex_unlock(&s->lock);
    /* The same port on a wider address cannot be bound while the narrow one is bound. */
    struct sockaddr_storage address;
    socklen_t n_address = sizeof address;
    char before[64] = "127.0.0.1";
    if (!getsockname(old, (struct sockaddr *)&address, &n_address))
        peer_name(&address, before, sizeof before);
    close(old);
    int rc = listen_on(&for_mysql, host, s->port, &fd, &port, err);
    if (rc && listen_on(&for_mysql, before, s->port, &fd, &port, NULL)) fd = -1;
    pthread_mutex_lock(&s->lock);
    s->listen_fd = fd;
    pthread_mutex_unlock(&s->lock);
    wake(s);
    return rc;
}

void mysql_server_stop(struct mysql_server *s)
{
    if (!s) return;
    pthread_mutex_lock(&s->lock);
    s->stopping = true;
    for (struct client *c = s->clients; c; c = c->next) {
        atomic_store(&c->is_killed, true); /* scripts that wait for a node end within about a second */
        shutdown(c->fd, SHUT_RDWR);
    }
    pthread_mutex_unlock(&s->lock);
    wake(s);
    pthread_join(s->thread, NULL);
    pthread_mutex_lock(&s->lock);
    while (s->n_clients) pthread_cond_wait(&s->changed, &s->lock);
    pthread_mutex_unlock(&s->lock);
    if (s->listen_fd >= 0) close(s->listen_fd);
    close(s->wake_fd);
    SSL_CTX_free(s->tls);
    free_sql(s);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
    mem_free(s);
}
