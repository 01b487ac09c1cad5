/* http.h - the HTTP server: users, grants, headers, compression and ranges, which all URLs have in common.
 *
 * libmicrohttpd implements the protocol, with a thread for each connection. A handler receives the whole
 * request and fills an answer. Only the URLs in the table of site.c reach a handler.
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
    char peer[64];   /* the address of the client */
    struct buf body; /* of a POST; bounded */
    /* The user: */
    char user[64];             /* "" when not logged in */
    unsigned grants;           /* enum cluster_grant, or-ed */
    enum http_refused refused; /* the result of checking a password in the request */
    bool by_header;            /* logged in by HTTP Basic or Bearer, so CSRF is not possible */
    char session[65];          /* the value of the cookie; "" when there is none */
    int64_t number[2];         /* the numbers in the path, from left to right */
    char word[64];             /* the word in the path */
};

struct http_answer {
    int status;       /* 0 means 200 */
    const char *type; /* NULL means application/json */
    struct buf body;
    const void *shared; /* instead of body: bytes that stay valid until release is called */
    size_t shared_len;
    bool is_packed; /* the bytes are gzip: sent with Content-Encoding, or unpacked for clients without gzip */
    bool packed_file; /* the bytes are a gzip file that the client downloads as it is */
    void (*release)(void *context);
    void *release_context;
    int fd; /* when > 0: a file, instead of body and shared */
    uint64_t fd_len;
    char etag[48]; /* with quotes; "" when there is none */
    bool may_keep; /* no-cache: the browser may store it and must revalidate; else no-store */
    struct {
        char name[40], value[600];
    } headers[6];
    size_t n_headers;
    char *location;  /* target of a redirect, or NULL; http.c frees it with mem_free */
    const char *csp; /* NULL forbids all scripts */
    void *stream;    /* struct MHD_Response * of an endless answer, made by the handler */
};

typedef void http_handler(struct http_request *q, struct http_answer *a);

struct http_route {
    const char *method;
    const char *path; /* '#' matches a number, '@' a word */
    unsigned need;    /* enum cluster_grant, or-ed; the user needs all of them */
    http_handler *handle;
    size_t max_body; /* 0 means 64 KiB */
};

/* A decoded query parameter, or NULL when the request does not have it. A value with a NUL inside becomes a
 * text that no handler accepts. */
const char *http_query(struct http_request *q, const char *name);
/* Reads a number. Returns false, with an error in the answer, when the parameter is not a number between min
 * and max. *value does not change when the request does not have the parameter. */
bool http_query_int(struct http_request *q, struct http_answer *a, const char *name, int64_t min, int64_t max,
                    int64_t *value);
const char *http_header(struct http_request *q, const char *name);

void http_add_header(struct http_answer *a, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void http_too_many_logins(struct http_answer *a); /* 429 with Retry-After */
void http_error(struct http_answer *a, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void http_error_err(struct http_answer *a, int code,
                    const struct err *err); /* chooses the status by the error code */

/* Reads one range: "bytes=A-B", "bytes=A-" or "bytes=-N". Returns 1 for a part, 0 for the whole, -1 when the
 * range is outside. */
int http_parse_range(const char *text, uint64_t len, uint64_t *ret_start, uint64_t *ret_len);

struct http_server;
struct http_server_options {
    const char *host;
    int port;             /* 0 for any free port */
    bool port_is_wish;    /* if another server uses the port, take the next free one */
    const char *if_taken; /* advice in the error when the port is in use; NULL: "choose another port" */
    const char *tls_cert, *tls_key; /* PEM files; NULL or "" for none */
};
int http_server_start(struct site *site, const struct http_server_options *options,
                      struct http_server **ret_server, struct err *err);
int http_server_port(const struct http_server *s);
/* Moves the listener to another address. Open connections stay. On failure the old listener stays. */
int http_server_rebind(struct http_server *s, const char *host, struct err *err);
void http_server_stop(struct http_server *s); /* s may be NULL */

#endif
