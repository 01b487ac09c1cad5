/* http.h - HTTP requests in, answers out; what every address has in common: who asks, what he may, headers,
 * packing, ranges.
 *
 * libmicrohttpd does the protocol, a thread for each connection. A handler is called with the whole request
 * and fills an answer. Nothing that is not in the table of addresses is ever reached.
 */
#ifndef SERVE_HTTP_HTTP_H
#define SERVE_HTTP_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct MHD_Connection;
struct site;

enum http_refused { HTTP_NOT_REFUSED, HTTP_WRONG_PASSWORD, HTTP_TOO_MANY_LOGINS };

struct http_request {
    struct MHD_Connection *connection;
    struct site *site;
    const char *method, *path;
    char peer[64];   /* the client's address */
    struct buf body; /* of a POST; bounded */
    /* Who it is: */
    char user[64];             /* "": nobody logged in */
    unsigned grants;           /* enum cluster_grant, or-ed */
    enum http_refused refused; /* what became of a password that came along */
    bool by_header;            /* HTTP Basic or Bearer: no cookie was needed, so no CSRF either */
    char session[65];          /* cookie's value; "": none */
    int64_t number[2];         /* the numbers in the path, in their order */
    char word[64];             /* the word in it */
};

struct http_answer {
    int status;       /* 0: 200 */
    const char *type; /* NULL: application/json */
    struct buf body;
    const void *shared; /* instead of body: bytes that stay until release is called */
    size_t shared_len;
    bool is_packed;   /* the bytes are gzip: sent as they are with Content-Encoding, or unpacked first */
    bool packed_file; /* the bytes are gzip and that is what is asked for */
    void (*release)(void *context);
    void *release_context;
    int fd; /* instead of both: a file, when > 0 */
    uint64_t fd_len;
    char etag[48]; /* with quotes; "": none */
    bool may_keep; /* the browser may use it again after asking (no-cache) instead of not at all (no-store) */
    struct {
        char name[40], value[600];
    } headers[6];
    size_t n_headers;
    char *location;  /* where to go instead, of any length; NULL: none. Taken over */
    const char *csp; /* NULL: nothing may run */
    void *stream;    /* a response that goes on: struct MHD_Response *, made by the handler */
};

typedef void http_handler(struct http_request *q, struct http_answer *a);

struct http_route {
    const char *method;
    const char *path; /* '#' stands for a number, '@' for a word */
    unsigned need;    /* enum cluster_grant; all of them */
    http_handler *handle;
    size_t max_body; /* 0: 64 KiB */
};

/* A query parameter, decoded; NULL when it is not there. One that is longer than 64 KiB or has a NUL in it
 * makes *ret_bad true (may be NULL). */
const char *http_query(struct http_request *q, const char *name);
/* Numbers: false, and an answer, when it is there and is not one between min and max. *value stays when it is
 * not there. */
bool http_query_int(struct http_request *q, struct http_answer *a, const char *name, int64_t min, int64_t max,
                    int64_t *value);
const char *http_header(struct http_request *q, const char *name);

void http_add_header(struct http_answer *a, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void http_too_many_logins(struct http_answer *a); /* 429, and when to come again */
void http_error(struct http_answer *a, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void http_error_err(struct http_answer *a, int code,
                    const struct err *err); /* the status that fits the code */

/* "bytes=A-B", "bytes=A-", "bytes=-N", one of them. 1: a part, 0: all of it, -1: outside. */
int http_parse_range(const char *text, uint64_t len, uint64_t *ret_start, uint64_t *ret_len);

struct http_server;
struct http_server_options {
    const char *host;
    int port;                       /* 0: any */
    bool port_is_wish;              /* where another server has it, the next free one will do */
    const char *if_taken;           /* else: what to do about it; NULL: "choose another port" */
    const char *tls_cert, *tls_key; /* PEM files; NULL or "": none */
};
int http_server_start(struct site *site, const struct http_server_options *options,
                      struct http_server **ret_server, struct err *err);
int http_server_port(const struct http_server *s);
/* Listens elsewhere from now on; connections that are open stay. On failure the old one stays. */
int http_server_rebind(struct http_server *s, const char *host, struct err *err);
void http_server_stop(struct http_server *s); /* NULL is fine */

#endif
