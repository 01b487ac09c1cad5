/* http_request.c - see http_request.h. */
#include "agent/http/http_request.h"

#include <string.h>
#include <strings.h>

#include "base/text.h"

struct span {
    const char *p;
    size_t n;
};

static bool span_is(struct span s, const char *text)
{
    return strlen(text) == s.n && !strncasecmp(s.p, text, s.n);
}

static bool span_has(struct span s, const char *text)
{
    size_t n = strlen(text);
    for (size_t i = 0; i + n <= s.n; i++)
        if (!strncasecmp(s.p + i, text, n)) return true;
    return false;
}

static struct span span_trim(struct span s)
{
    while (s.n && (*s.p == ' ' || *s.p == '\t')) s.p++, s.n--;
    while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t' || s.p[s.n - 1] == '\r')) s.n--;
    return s;
}

static void copy_span(char *into, size_t size, struct span s)
{
    size_t n = s.n < size - 1 ? s.n : size - 1;
    memcpy(into, s.p, n);
    into[n] = 0;
}

static int parse_target(struct span target, struct http_request *r)
{
    /* A proxy may send the whole URL; only its path matters. */
    if (target.n > 7 && !strncasecmp(target.p, "http://", 7)) {
        size_t skip = 7;
        while (skip < target.n && target.p[skip] != '/') skip++;
        target.p += skip;
        target.n -= skip;
    }
    if (!target.n || *target.p != '/') return 400;
    size_t at = 0, n = 0;
    for (; at < target.n && target.p[at] != '?'; at++) {
        char c = target.p[at];
        if (c == '#') break;
        if (c == '%') {
            int byte = text_percent_byte(target.p + at, target.n - at);
            if (byte < 0) return 400;
            c = (char)byte;
            at += 2;
        }
        if ((unsigned char)c < 0x20 || c == 0x7f) return 400;
        if (n + 1 >= sizeof r->path) return 414;
        r->path[n++] = c;
    }
    r->path[n] = 0;
    if (at < target.n && target.p[at] == '?') {
        struct span query = {target.p + at + 1, target.n - at - 1};
        if (query.n >= sizeof r->query) return 414;
        copy_span(r->query, sizeof r->query, query);
        if (strlen(r->query) != query.n) return 400;
    }
    return 1;
}

static int parse_request_line(struct span line, struct http_request *r)
{
    const char *space = memchr(line.p, ' ', line.n);
    if (!space) return 400;
    struct span method = {line.p, (size_t)(space - line.p)}, rest = {space + 1, line.n - method.n - 1};
    const char *last = memrchr(rest.p, ' ', rest.n);
    if (!last) return 400;
    struct span target = {rest.p, (size_t)(last - rest.p)},
                version = span_trim((struct span){last + 1, rest.n - target.n - 1});
    if (memchr(target.p, ' ', target.n)) return 400;
    if (span_is(version, "HTTP/1.1"))
        r->keep_alive = true;
    else if (!span_is(version, "HTTP/1.0"))
        return version.n >= 5 && !strncmp(version.p, "HTTP/", 5) ? 505 : 400;
    static const char *const names[] = {"GET", "HEAD", "POST", "PUT"};
    r->method = HTTP_OTHER;
    for (unsigned i = 0; i < 4; i++)
        if (method.n == strlen(names[i]) && !memcmp(method.p, names[i], method.n))
            r->method = (enum http_method)i;
    return parse_target(target, r);
}

static int parse_content_length(struct span value, struct http_request *r, bool *seen)
{
    if (!value.n || value.n > 18 || *seen) return 400;
    uint64_t n = 0;
    for (size_t i = 0; i < value.n; i++) {
        if (value.p[i] < '0' || value.p[i] > '9') return 400;
        n = n * 10 + (uint64_t)(value.p[i] - '0');
    }
    if (n > HTTP_MAX_BODY) return 413;
    r->n_body_bytes = (size_t)n;
    *seen = true;
    return 1;
}

static int parse_field(struct span line, struct http_request *r, bool *has_length)
{
    const char *colon = memchr(line.p, ':', line.n);
    if (!colon || colon == line.p) return 400;
    struct span name = {line.p, (size_t)(colon - line.p)},
                value = span_trim((struct span){colon + 1, line.n - name.n - 1});
    if (name.p[name.n - 1] == ' ' || name.p[0] == ' ' || name.p[0] == '\t')
        return 400; /* a folded field, or an attempt to smuggle one past a proxy */
    if (memchr(value.p, 0, value.n)) return 400;
    if (span_is(name, "content-length")) return parse_content_length(value, r, has_length);
    if (span_is(name, "transfer-encoding")) return 501;
    if (span_is(name, "authorization")) copy_span(r->authorization, sizeof r->authorization, value);
    if (span_is(name, "user-agent")) copy_span(r->user_agent, sizeof r->user_agent, value);
    if (span_is(name, "accept")) copy_span(r->accept, sizeof r->accept, value);
    if (span_is(name, "accept-encoding")) r->accepts_gzip = span_has(value, "gzip");
    if (span_is(name, "expect")) r->expects_continue = span_is(value, "100-continue");
    if (span_is(name, "sec-fetch-site")) r->is_cross_site = span_is(value, "cross-site");
    if (span_is(name, "connection")) {
        if (span_has(value, "close")) r->keep_alive = false;
        if (span_has(value, "keep-alive")) r->keep_alive = true;
    }
    return 1;
}

const char *http_request_problem(int status)
{
    switch (status) {
    case 413:
        return "the body is larger than 8 MB; send fewer addresses at a time";
    case 414:
        return "the URL is too long; at most 511 bytes of path and 2,047 bytes of query are accepted";
    case 431:
        return "the request's header is larger than 16 KB; send fewer or shorter fields";
    case 501:
        return "Transfer-Encoding is not supported; send Content-Length";
    case 505:
        return "this version of HTTP is not supported; use HTTP/1.0 or HTTP/1.1";
    default:
        return "the request is not valid HTTP/1.1";
    }
}

int http_request_parse(const char *bytes, size_t n_bytes, struct http_request *r)
{
    memset(r, 0, sizeof *r);
    size_t at = 0;
    while (at < n_bytes && (bytes[at] == '\r' || bytes[at] == '\n') && at < 4)
        at++; /* empty lines before a request */
    bool first = true, has_length = false;
    for (;;) {
        size_t searched = n_bytes < HTTP_MAX_HEAD ? n_bytes : HTTP_MAX_HEAD;
        const char *newline = at < searched ? memchr(bytes + at, '\n', searched - at) : NULL;
        if (!newline) return n_bytes >= HTTP_MAX_HEAD ? (first ? 414 : 431) : 0;
        struct span line = {bytes + at, (size_t)(newline - (bytes + at))};
        if (line.n && line.p[line.n - 1] == '\r') line.n--;
        at = (size_t)(newline - bytes) + 1;
        if (!line.n && !first) break;
        int status = first ? parse_request_line(line, r) : parse_field(line, r, &has_length);
        if (status != 1) return status;
        first = false;
    }
    r->n_head_bytes = at;
    return n_bytes - at >= r->n_body_bytes ? 1 : 0;
}
