/* http_request.h - one HTTP/1.x request out of the bytes of a connection. Pure: no socket, no memory of its
 * own, made for hostile bytes. */
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
    bool is_cross_site;  /* a browser says: another site's page asks */
    size_t n_head_bytes; /* up to and with the empty line */
    size_t n_body_bytes; /* Content-Length */
};

/* 0: not complete yet; 1: complete, body behind the head; otherwise the status to answer with (400, 413, 414,
 * 431, 501, 505), and the connection ends. */
int http_request_parse(const char *bytes, size_t n_bytes, struct http_request *ret_request);

#endif
