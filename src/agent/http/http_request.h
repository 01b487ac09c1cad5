/* http_request.h - parses one HTTP/1.x request from the bytes of a connection. The bytes may be hostile. The
 * parser uses no socket and allocates nothing. */
#ifndef AGENT_HTTP_HTTP_REQUEST_H
#define AGENT_HTTP_HTTP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_MAX_HEAD ((size_t)16 << 10)
#define HTTP_MAX_BODY ((size_t)8 << 20)

enum http_method { HTTP_GET, HTTP_HEAD, HTTP_POST, HTTP_PUT, HTTP_OTHER };

struct http_request {
    enum http_method method;
    char path[512];   /* percent-decoded, without the query; starts with '/' */
    char query[2048]; /* as sent, without '?' */
    char authorization[512];
    char user_agent[128];
    char accept[256];
    bool accepts_gzip; /* Accept-Encoding */
    bool keep_alive;
    bool expects_continue;
    bool is_cross_site;  /* Sec-Fetch-Site: the browser sends it for a page of another site */
    size_t n_head_bytes; /* up to and including the empty line */
    size_t n_body_bytes; /* Content-Length */
};

/* Returns 0 when the request is not complete yet and 1 when it is, with the body behind the head. Any other
 * value is the status to answer with (400, 413, 414, 431, 501, 505) before the connection is closed. */
int http_request_parse(const char *bytes, size_t n_bytes, struct http_request *ret_request);

/* The sentence for the client that belongs to such a status. */
const char *http_request_problem(int status);

#endif
