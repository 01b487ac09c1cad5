/* http.c - see http.h. */
#include "serve/http/http.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <netdb.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/compress/pack.h"
#include "base/compress/unpack.h"
#include "base/file.h"
#include "base/listen_on.h"
#include "base/lock_rank.h"
#include "base/mem.h"
#include "base/text.h"
#include "serve/http/site.h"
#include "serve/http/web_files.h"

enum {
    MAX_CONNECTIONS = 512,
    IDLE_LIMIT_S = 60,
    CONNECTION_MEMORY = 128 << 10,
    PACK_FROM_BYTES = 1024,
    DEFAULT_MAX_BODY = 64 << 10,
    MAX_OLD_DAEMONS = 16,
};

struct http_server {
    struct listen_words words;
    struct site *site;
    struct MHD_Daemon *daemon;
    struct MHD_Daemon *old[MAX_OLD_DAEMONS]; /* do not listen any more, but still serve their connections */
    size_t n_old;
    pthread_mutex_t lock;
    int port;
    char *host, *cert, *key; /* cert and key: PEM text */
};

/* ---- for handlers ---- */

const char *http_query(struct http_request *q, const char *name)
{
    const char *value = NULL;
    size_t len = 0;
    if (MHD_lookup_connection_value_n(q->connection, MHD_GET_ARGUMENT_KIND, name, strlen(name), &value,
                                      &len) != MHD_YES)
        return NULL;
    if (!value) return "";
    return strlen(value) == len ? value : "\x01"; /* with a NUL inside: a text that every handler refuses */
}

const char *http_header(struct http_request *q, const char *name)
{
    return MHD_lookup_connection_value(q->connection, MHD_HEADER_KIND, name);
}

bool http_query_int(struct http_request *q, struct http_answer *a, const char *name, int64_t min, int64_t max,
                    int64_t *value)
{
    const char *text = http_query(q, name);
    if (!text || !*text) return true;
    if (!text_to_int(text, min, max, value)) {
        http_error(a, 400, "%s must be a number between %lld and %lld", name, (long long)min, (long long)max);
        return false;
    }
    return true;
}

void http_add_header(struct http_answer *a, const char *name, const char *format, ...)
{
    if (a->n_headers == sizeof a->headers / sizeof *a->headers) abort();
    va_list args;
    va_start(args, format);
    snprintf(a->headers[a->n_headers].name, sizeof a->headers->name, "%s", name);
    vsnprintf(a->headers[a->n_headers].value, sizeof a->headers->value, format, args);
    va_end(args);
    for (char *p = a->headers[a->n_headers].value; *p; p++)
        if ((unsigned char)*p < 32) *p = ' ';
    a->n_headers++;
}

void http_error(struct http_answer *a, int status, const char *format, ...)
{
    char text[600];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    buf_free(&a->body);
    a->status = status;
    a->type = "application/json";
    a->etag[0] = 0;
    buf_str(&a->body, "{\"error\":");
    buf_json(&a->body, text, strlen(text));
    buf_char(&a->body, '}');
}

void http_too_many_logins(struct http_answer *a)
{
    http_error(a, 429, "too many wrong passwords; wait a minute");
    http_add_header(a, "Retry-After", "60");
}

void http_error_err(struct http_answer *a, int code, const struct err *err)
{
    int status = code == ERR_INPUT         ? 400
                 : code == ERR_LIMIT       ? 413
                 : code == ERR_NOT_FOUND   ? 404
                 : code == ERR_UNSUPPORTED ? 422
                 : code == ERR_TIMEOUT     ? 504
                 : code == ERR_BUSY        ? 409
                 : code == ERR_DENIED      ? 403
                                           : 500;
    http_error(a, status, "%s", err->text);
}

/* ---- sending ---- */

static bool accepts_gzip(struct http_request *q)
{
    const char *accept = http_header(q, "Accept-Encoding");
    const char *at = accept ? strcasestr(accept, "gzip") : NULL;
    if (!at) return false;
    const char *rest = at + 4 + strspn(at + 4, " ");
    return strncmp(rest, ";q=0", 4) || (rest[4] == '.' && strspn(rest + 5, "0") != strcspn(rest + 5, ", "));
}

static bool tag_matches(const char *list, const char *etag)
{
    if (!strcmp(list, "*")) return true;
    size_t n = strlen(etag);
    for (const char *p = list; (p = strstr(p, etag)); p++)
        if (!p[n] || p[n] == ',' || p[n] == ' ') return true;
    return false;
}

int http_parse_range(const char *text, uint64_t len, uint64_t *ret_start, uint64_t *ret_len)
{
    if (strncmp(text, "bytes=", 6) || strchr(text, ',')) return 0;
    text += 6;
    char *end;
    uint64_t from, to;
    if (*text == '-') {
        uint64_t last = strtoull(text + 1, &end, 10);
        if (*end || end == text + 1) return 0;
        if (!last || !len) return -1;
        from = last < len ? len - last : 0;
        to = len - 1;
    } else {
        if (*text < '0' || *text > '9') return 0;
        from = strtoull(text, &end, 10);
        if (*end != '-') return 0;
        text = end + 1;
        to = *text ? strtoull(text, &end, 10) : UINT64_MAX;
        if (*text && *end) return 0;
        if (to < from) return 0;
        if (from >= len) return -1;
        if (to >= len) to = len - 1;
    }
    *ret_start = from;
    *ret_len = to - from + 1;
    return 1;
}

static void add(struct MHD_Response *r, const char *name, const char *value)
{
    MHD_add_response_header(r, name, value);
}

static struct MHD_Response *plain_response(const void *data, size_t len)
{
    return MHD_create_response_from_buffer(len, (void *)data, MHD_RESPMEM_MUST_COPY);
}

static void free_buf_data(void *data)
{
    mem_free(data);
}

/* Makes the response from the bytes of the answer. *status may become 206 or 416. */
static struct MHD_Response *body_of(struct http_request *q, struct http_answer *a, int *status)
{
    uint64_t start = 0, part = 0;
    const char *range = http_header(q, "Range");
    if (a->fd > 0) {
        uint64_t len = a->fd_len;
        int is_part = range ? http_parse_range(range, len, &start, &part) : 0;
        struct MHD_Response *r;
        if (is_part < 0) {
            *status = 416;
            close(a->fd);
            r = plain_response("", 0);
            char text[48];
            snprintf(text, sizeof text, "bytes */%llu", (unsigned long long)len);
            add(r, "Content-Range", text);
            return r;
        }
        if (!is_part) part = len;
        r = MHD_create_response_from_fd_at_offset64(part, a->fd, start);
        if (is_part) {
            *status = 206;
            char text[80];
            snprintf(text, sizeof text, "bytes %llu-%llu/%llu", (unsigned long long)start,
                     (unsigned long long)(start + part - 1), (unsigned long long)len);
            add(r, "Content-Range", text);
        }
        add(r, "Accept-Ranges", "bytes");
        return r;
    }
    const void *data = a->shared ? a->shared : a->body.data;
    size_t len = a->shared ? a->shared_len : a->body.len;
    bool gzip_ok = accepts_gzip(q);
    struct bytes other = {0};
    if (a->is_packed && !gzip_ok) {
        if (!unpack_gzip(data, len, (size_t)4 << 30, &other, NULL)) {
            data = other.data;
            len = other.len;
        }
    } else if (!a->is_packed && !a->packed_file && gzip_ok && len >= PACK_FROM_BYTES) {
        pack_gzip_member(data, len, 1, &other);
        data = other.data;
        len = other.len;
    }
    bool encoded = gzip_ok && (a->is_packed || other.data);
    struct MHD_Response *r;
    if (other.data && !other.mapped_bytes) {
        r = MHD_create_response_from_buffer_with_free_callback(len, (void *)data, free_buf_data);
        other = (struct bytes){0};
    } else if (!a->shared && a->body.data && !other.data) {
        r = MHD_create_response_from_buffer_with_free_callback(len, buf_take(&a->body), free_buf_data);
    } else {
        r = plain_response(data ? data : "", len);
    }
    bytes_free(&other);
    if (encoded) add(r, "Content-Encoding", "gzip");
    if (a->is_packed || len >= PACK_FROM_BYTES) add(r, "Vary", "Accept-Encoding");
    return r;
}

static enum MHD_Result send_answer(struct http_request *q, struct http_answer *a)
{
    int status = a->status ? a->status : 200;
    struct MHD_Response *r;
    const char *wanted = http_header(q, "If-None-Match");
    if (a->stream) {
        r = a->stream;
    } else if (status == 200 && a->etag[0] && wanted && tag_matches(wanted, a->etag)) {
        status = 304;
        if (a->fd > 0) close(a->fd);
        r = plain_response("", 0);
    } else {
        r = body_of(q, a, &status);
    }
    if (status != 304) add(r, "Content-Type", a->type ? a->type : "application/json");
    if (a->etag[0]) add(r, "ETag", a->etag);
    add(r, "Cache-Control", a->may_keep ? "private, no-cache" : "no-store");
    add(r, "X-Content-Type-Options", "nosniff");
    add(r, "X-Frame-Options", "DENY");
    add(r, "Referrer-Policy", "no-referrer");
    add(r, "Cross-Origin-Resource-Policy", "same-origin");
    add(r, "Content-Security-Policy", a->csp ? a->csp : "default-src 'none'; frame-ancestors 'none'");
    for (size_t i = 0; i < a->n_headers; i++) add(r, a->headers[i].name, a->headers[i].value);
    if (a->location) add(r, "Location", a->location);
    mem_free(a->location);
    enum MHD_Result rc = MHD_queue_response(q->connection, (unsigned)status, r);
    MHD_destroy_response(r);
    if (a->release) a->release(a->release_context);
    buf_free(&a->body);
    __atomic_add_fetch(&q->site->n_requests, 1, __ATOMIC_RELAXED);
    if (status >= 400)
        __atomic_add_fetch(status < 500 ? &q->site->n_client_errors : &q->site->n_server_errors, 1,
                           __ATOMIC_RELAXED);
    return rc;
}

/* ---- receiving ---- */

struct coming { /* a request whose body is still arriving */
    struct http_request q;
    const struct http_route *route;
    int status; /* the status of the answer when no route matches */
    bool too_large;
};

static void peer_of(struct MHD_Connection *connection, char text[64])
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    text[0] = 0;
    if (!info || !info->client_addr) return;
    socklen_t n =
        info->client_addr->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    getnameinfo(info->client_addr, n, text, 64, NULL, 0, NI_NUMERICHOST);
}

/* Until root has a password, only requests for a loopback name are served. A page of another site could
 * otherwise reach the server through a name that resolves to loopback (DNS rebinding). */
static bool host_is_local(struct http_request *q)
{
    const char *host = http_header(q, "Host");
    if (!host) return false;
    static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};
    for (size_t i = 0; i < 3; i++) {
        size_t n = strlen(names[i]);
        if (!strncasecmp(host, names[i], n) && (!host[n] || host[n] == ':')) return true;
    }
    return false;
}

static bool is_change(const struct http_request *q)
{
    return strcmp(q->method, "GET") && strcmp(q->method, "HEAD");
}

static void handle(struct coming *in, struct http_answer *a)
{
    struct http_request *q = &in->q;
    struct site *site = q->site;
    bool is_open = !site->cluster || !cluster_is_protected(site->cluster);
    unsigned need = in->route ? in->route->need : 0;
    if (is_open && !site->any_host && !host_is_local(q)) {
        http_error(a, 403,
                   "until root has a password, only http://localhost/ and http://127.0.0.1/ are answered");
    } else if (in->status) {
        http_error(a, in->status, in->status == 405 ? "this URL does not accept %s" : "there is no such page",
                   q->method);
    } else if (need && (q->grants & need) != need && q->refused == HTTP_TOO_MANY_LOGINS) {
        http_too_many_logins(a);
    } else if (need && (q->grants & need) != need) {
        http_error(a, q->user[0] ? 403 : 401,
                   q->user[0]                          ? "your user does not have the grant for this"
                   : q->refused == HTTP_WRONG_PASSWORD ? CLUSTER_WRONG_PASSWORD
                                                       : "log in first");
        if (!q->user[0] && strncmp(q->path, "/api/v1/", 8)) /* the page shows its own login form */
            http_add_header(a, "WWW-Authenticate", "Basic realm=\"procprof\"");
    } else if (is_change(q) && !q->by_header && !sessions_csrf_matches(site->sessions, q)) {
        http_error(a, 403, "the X-CSRF-Token is missing or wrong; read it from /api/v1/session");
    } else if (in->too_large) {
        http_error(a, 413, "the request is too large");
    } else {
        in->route->handle(q, a);
    }
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *http_version, const char *upload,
                                  size_t *n_upload, void **slot)
{
    (void)http_version;
    struct site *site = context;
    struct coming *in = *slot;
    if (!in) {
        in = mem_zalloc(sizeof *in);
        in->q = (struct http_request){.connection = connection, .site = site, .path = url, .method = method};
        in->route = site_route(site, &in->q, &in->status);
        peer_of(connection, in->q.peer);
        site_identify(site, &in->q);
        /* A large body is accepted only from users with the needed grants. */
        bool may = in->route && (in->q.grants & in->route->need) == in->route->need;
        in->q.body.max_len = may && in->route->max_body ? in->route->max_body : DEFAULT_MAX_BODY;
        *slot = in;
        return MHD_YES;
    }
    if (*n_upload) {
        if (!in->status && !in->too_large) {
            buf_add(&in->q.body, upload, *n_upload);
            in->too_large = in->q.body.full;
        }
        *n_upload = 0;
        return MHD_YES;
    }
    struct http_answer a = {0};
    handle(in, &a);
    return send_answer(&in->q, &a);
}

static void on_done(void *context, struct MHD_Connection *connection, void **slot,
                    enum MHD_RequestTerminationCode why)
{
    (void)context, (void)connection, (void)why;
    struct coming *in = *slot;
    if (!in) return;
    buf_free(&in->q.body);
    mem_free(in);
    *slot = NULL;
}

/* ---- listening ---- */

static int start_daemon(struct http_server *s, int fd, struct MHD_Daemon **ret, struct err *err)
{
    unsigned flags =
        MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL | MHD_USE_ITC;
    if (s->cert) flags |= MHD_USE_TLS;
    struct MHD_OptionItem tls[] = {{MHD_OPTION_HTTPS_MEM_CERT, 0, s->cert},
                                   {MHD_OPTION_HTTPS_MEM_KEY, 0, s->key},
                                   {MHD_OPTION_END, 0, NULL}};
    struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};
    *ret = MHD_start_daemon(flags, 0, NULL, NULL, on_request, s->site, MHD_OPTION_LISTEN_SOCKET, fd,
                            MHD_OPTION_CONNECTION_LIMIT, (unsigned)MAX_CONNECTIONS,
                            MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_LIMIT_S,
                            MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
                            MHD_OPTION_THREAD_STACK_SIZE, (size_t)1 << 20, MHD_OPTION_NOTIFY_COMPLETED,
                            on_done, NULL, MHD_OPTION_ARRAY, s->cert ? tls : none, MHD_OPTION_END);
    if (*ret) return 0;
    close(fd);
    return err_set(err, ERR_IO, "cannot start the HTTP server%s",
                   s->cert ? ": the TLS certificate or key is no good" : "");
}

static char *read_pem(const char *path, struct err *err)
{
    struct bytes bytes;
    if (file_read(path, 1 << 20, &bytes, err)) return NULL;
    char *text = mem_strndup((const char *)bytes.data, bytes.len);
    bytes_free(&bytes);
    return text;
}

int http_server_start(struct site *site, const struct http_server_options *o, struct http_server **ret_server,
                      struct err *err)
{
    struct http_server *s = mem_zalloc(sizeof *s);
    lock_rank_init(&s->lock, LOCK_HTTP, NULL);
    s->site = site;
    int bad = 0, fd;
    if (o->tls_cert && *o->tls_cert) {
        if (!o->tls_key || !*o->tls_key)
            bad = err_set(err, ERR_INPUT, "TLS needs both a certificate and a key");
        if (!bad && !(s->cert = read_pem(o->tls_cert, err))) bad = ERR_IO;
        if (!bad && !(s->key = read_pem(o->tls_key, err))) bad = ERR_IO;
    }
    s->words =
        (struct listen_words){.whom = "HTTP", .instead = o->if_taken ? o->if_taken : "choose another port"};
    if (!bad)
        bad = (o->port_is_wish ? listen_near : listen_on)(&s->words, o->host, o->port, &fd, &s->port, err);
    if (!bad) bad = start_daemon(s, fd, &s->daemon, err);
    if (bad) return http_server_stop(s), bad;
    s->host = mem_strdup(o->host);
    *ret_server = s;
    return 0;
}

int http_server_port(const struct http_server *s)
{
    return s->port;
}

int http_server_rebind(struct http_server *s, const char *host, struct err *err)
{
    pthread_mutex_lock(&s->lock);
    int bad = 0, fd, port;
    if (!strcmp(host, s->host)) {
        pthread_mutex_unlock(&s->lock);
        return 0;
    }
    if (s->n_old == MAX_OLD_DAEMONS)
        bad = err_set(err, ERR_LIMIT, "the address of the server was changed too often; restart the server");
    if (!bad) {
        /* A wider address cannot use the same port while the old socket is open. */
        MHD_socket old_fd = MHD_quiesce_daemon(s->daemon);
        if (old_fd != MHD_INVALID_SOCKET) {
            shutdown(old_fd, SHUT_RDWR); /* a thread in accept() would keep the socket and its port open */
            close(old_fd);
        }
        s->old[s->n_old++] = s->daemon;
        s->daemon = NULL;
        bad = listen_on(&s->words, host, s->port, &fd, &port, err);
        const char *now = host;
        if (bad && !listen_on(&s->words, s->host, s->port, &fd, &port, NULL)) now = s->host;
        if (!bad || now == s->host) {
            struct MHD_Daemon *daemon = NULL;
            int rc = start_daemon(s, fd, &daemon, bad ? NULL : err);
            s->daemon = daemon;
            if (!bad) bad = rc;
        }
        if (!bad) {
            mem_free(s->host);
            s->host = mem_strdup(host);
        }
    }
    pthread_mutex_unlock(&s->lock);
    return bad;
}

void http_server_stop(struct http_server *s)
{
    if (!s) return;
    if (s->daemon) MHD_stop_daemon(s->daemon);
    for (size_t i = 0; i < s->n_old; i++) MHD_stop_daemon(s->old[i]);
    pthread_mutex_destroy(&s->lock);
    mem_free(s->host);
    mem_free(s->cert);
    mem_free(s->key);
    mem_free(s);
}
