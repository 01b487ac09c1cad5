/* routes.c - see routes.h. The endpoints of profiles exist under any prefix: .../pprof/NAME. */
#include "agent/http/routes.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/host/config.h"
#include "agent/http/index_page.h"
#include "agent/http/token.h"
#include "agent/unwind/tables.h"

#define DEFAULT_MAX_SECONDS 300

struct routes_counters routes_counters;

const char *routes_reason(int status)
{
    switch (status) {
    case 200:
        return "OK";
    case 400:
        return "Bad Request";
    case 401:
        return "Unauthorized";
    case 403:
        return "Forbidden";
    case 404:
        return "Not Found";
    case 405:
        return "Method Not Allowed";
    case 409:
        return "Conflict";
    case 413:
        return "Content Too Large";
    case 414:
        return "URI Too Long";
    case 431:
        return "Request Header Fields Too Large";
    case 501:
        return "Not Implemented";
    case 503:
        return "Service Unavailable";
    case 505:
        return "HTTP Version Not Supported";
    default:
        return "Internal Server Error";
    }
}

static void answer_text(struct response *r, int status, const char *text)
{
    r->status = status;
    r->content_type = "text/plain; charset=utf-8";
    pages_buf_text(&r->body, text);
    pages_buf_text(&r->body, "\n");
}

static int status_of(int code)
{
    switch (code) {
    case ERR_INPUT:
        return 400;
    case ERR_BUSY:
        return 409;
    case ERR_NOT_FOUND:
        return 404;
    case ERR_UNSUPPORTED:
        return 501;
    case ERR_DENIED:
        return 403;
    default:
        return 500;
    }
}

static void answer_error(struct response *r, int code, const struct err *err)
{
    if (code == ERR_BUSY) {
        routes_counters.n_busy++;
        r->retry_after_s = 5;
    }
    answer_text(r, status_of(code), err->text);
}

/* Parses "12", "0.5" or ".25"; false for anything else. strtod would expect a comma in some locales of the
 * host. */
static bool parse_decimal(const char *text, double *ret_value)
{
    double value = 0, unit = 1;
    unsigned n_digits = 0;
    for (; *text >= '0' && *text <= '9' && n_digits < 12; text++, n_digits++)
        value = value * 10 + (*text - '0');
    if (*text == '.')
        for (text++; *text >= '0' && *text <= '9' && n_digits < 24; text++, n_digits++)
            value += (*text - '0') * (unit /= 10);
    if (!n_digits || *text) return false;
    *ret_value = value;
    return true;
}

/* Reads a number from the query. When the parameter is not a number, answers so and returns false. */
static bool query_number(const char *query, const char *name, double *value, bool *ret_given,
                         struct response *r)
{
    char text[64];
    *ret_given = kind_query(query, name, text, sizeof text);
    if (!*ret_given) return true;
    double number;
    if (!parse_decimal(text, &number) || number > 1e9) {
        char sentence[160];
        snprintf(sentence, sizeof sentence, "parameter %s: \"%s\" is not a number from 0 to 1000000000", name,
                 text);
        answer_text(r, 400, sentence);
        return false;
    }
    *value = number;
    return true;
}

static bool read_options(const struct http_request *q, const struct kind *k, struct kind_options *o,
                         struct response *r)
{
    double rate = 0, debug = 0;
    bool given, given_hz;
    *o = (struct kind_options){.seconds = k->default_seconds, .query = q->query};
    if (!query_number(q->query, "seconds", &o->seconds, &o->has_seconds, r) ||
        !query_number(q->query, "frequency", &rate, &given, r) ||
        !query_number(q->query, "hz", &rate, &given_hz, r) ||
        !query_number(q->query, "debug", &debug, &given, r))
        return false;
    o->rate = (unsigned)rate;
    o->debug = (int)debug;
    long max_seconds = config_number("max_seconds", DEFAULT_MAX_SECONDS);
    if (o->seconds > (double)max_seconds) {
        char sentence[160];
        snprintf(sentence, sizeof sentence,
                 "seconds=%g is too long: a capture lasts at most %ld seconds here (setting \"max_seconds\")",
                 o->seconds, max_seconds);
        answer_text(r, 400, sentence);
        return false;
    }
    return true;
}

/* The format for this client: the one it asks for, else a guess from its headers. Go's client and scrapers
 * accept gzip; curl, and the Perl tools that call it, do not. */
static enum job_form form_for(const struct http_request *q, int debug)
{
    char text[16];
    if (kind_query(q->query, "format", text, sizeof text)) {
        if (!strcmp(text, "proto") || !strcmp(text, "pprof")) return JOB_PROTO;
        if (!strcmp(text, "legacy") || !strcmp(text, "jemalloc")) return JOB_LEGACY;
        if (!strcmp(text, "text")) return JOB_TEXT;
    }
    if (debug > 0) return JOB_TEXT;
    if (!strncmp(q->user_agent, "Go-http-client", 14) || strstr(q->accept, "protobuf") || q->accepts_gzip)
        return JOB_PROTO;
    return JOB_LEGACY;
}

/* With ?format=jemalloc the answer is jemalloc's own dump, including its threads, which only jeprof reads.
 * Without it, the answer is text that jeprof, google-pprof and Go all read. */
static bool wants_raw(const char *query)
{
    char text[16];
    return kind_query(query, "format", text, sizeof text) && !strcmp(text, "jemalloc");
}

static void answer_profile(const struct http_request *q, const struct kind *k, bool is_snapshot,
                           struct response *r)
{
    struct kind_options o;
    struct err err = {0};
    if (!read_options(q, k, &o, r)) return;
    if (is_snapshot) { /* jeprof always sends seconds; /debug/mem/pprof/profile ignores them */
        o.has_seconds = false;
        o.seconds = 0;
    }
    r->form = form_for(q, o.debug);
    o.legacy = r->form == JOB_LEGACY;
    o.raw = o.legacy && (is_snapshot || wants_raw(q->query));
    int status = jobs_capture(k, &o, r->form, &r->job, &err);
    if (status) answer_error(r, status, &err);
    if (r->form == JOB_PROTO)
        snprintf(r->file_name, sizeof r->file_name, "%s%s.pb.gz", k->name,
                 o.has_seconds && !k->is_capture ? "-delta" : "");
}

static void answer_control(const struct http_request *q, const struct kind *k, const char *verb,
                           struct response *r)
{
    struct kind_options o;
    struct err err = {0};
    if (!k->control) {
        answer_text(
            r, 404,
            "this profile is measured only while a client asks for it; it cannot be switched on or off");
        return;
    }
    if (q->is_cross_site) {
        answer_text(r, 403,
                    "refused: a page of another site sent this request; open the URL yourself or use curl");
        return;
    }
    if (q->method == HTTP_HEAD) { /* must not change anything */
        answer_text(r, 200, verb);
        return;
    }
    if (!read_options(q, k, &o, r)) return;
    int status = jobs_control(k, verb, &o, &r->job, &err);
    if (status) answer_error(r, status, &err);
}

static void answer_symbol(const struct http_request *q, const char *body, struct response *r)
{
    struct err err = {0};
    const char *text = q->method == HTTP_POST ? body : q->query;
    size_t n = q->method == HTTP_POST ? q->n_body_bytes : strlen(q->query);
    if (q->method == HTTP_HEAD || (q->method == HTTP_GET && strncmp(text, "0x", 2))) {
        answer_text(r, 200, "num_symbols: 1"); /* clients only check that it is not 0 */
        return;
    }
    int status = jobs_names(text, n, &r->job, &err);
    if (status) answer_error(r, status, &err);
}

static void answer_cmdline(struct response *r)
{
    char text[4096];
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text) : -1;
    if (fd >= 0) close(fd);
    while (n > 0 && text[n - 1] == 0)
        n--; /* the arguments stay separated by NUL, as in Go; the Perl tools read only the first */
    r->status = 200;
    r->content_type = "text/plain; charset=utf-8";
    if (n > 0) pages_buf_bytes(&r->body, text, (size_t)n);
}

static void answer_status(struct response *r)
{
    struct tables_status t;
    tables_status(&t);
    const struct routes_counters *c = &routes_counters;
    r->status = 200;
    r->content_type = "application/json";
    pages_buf_format(&r->body,
                     "{\"pid\":%d,\"captures_running\":%u,\"unwind\":{\"objects\":%u,\"without_rules\":%u,"
                     "\"rows\":%lu,\"bytes\":%lu,"
                     "\"generation\":%u,\"last_build_ms\":%ld},",
                     (int)getpid(), jobs_running(), t.n_modules, t.n_without_rules, t.n_rows, t.n_bytes,
                     t.generation, (long)t.last_build_ms);
    pages_buf_format(&r->body,
                     "\"http\":{\"connections\":%lu,\"requests\":%lu,\"bad\":%lu,\"denied\":%lu,\"not_"
                     "found\":%lu,\"busy\":%lu,"
                     "\"too_slow\":%lu,\"refused\":%lu}}\n",
                     c->n_connections, c->n_requests, c->n_bad, c->n_denied, c->n_not_found, c->n_busy,
                     c->n_too_slow, c->n_refused);
}

/* Splits ".../pprof/NAME[/VERB]". The last "pprof" of the path counts, so that any prefix works. */
static bool split_path(const char *path, char *name, size_t name_size, char *verb, size_t verb_size)
{
    const char *found = NULL;
    for (const char *at = path; (at = strstr(at, "/pprof")); at++)
        if (at[6] == '/' || !at[6]) found = at;
    name[0] = verb[0] = 0;
    if (!found) return false;
    found += 6;
    if (*found == '/') found++;
    size_t n = strcspn(found, "/");
    snprintf(name, name_size, "%.*s", (int)(n < name_size ? n : name_size - 1), found);
    if (found[n] == '/') snprintf(verb, verb_size, "%s", found + n + 1);
    return true;
}

static void answer_named(const struct http_request *q, const char *body, const char *name, const char *verb,
                         struct response *r)
{
    static const struct {
        const char *alias, *name;
    } aliases[] = {{"cpu", "profile"}, {"pmuprofile", "profile"}, {"goroutine", "threads"}};
    bool is_snapshot = false;
    if (!strcmp(name, "symbol") || !strcmp(name, "symbolz")) {
        answer_symbol(q, body, r);
        return;
    }
    if (!strcmp(name, "profile") && strstr(q->path, "/mem/pprof/")) {
        name = "heap";
        is_snapshot = true;
    }
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (!strcmp(name, aliases[i].alias)) name = aliases[i].name;
    const struct kind *k = kind_find(name, strlen(name));
    if (!k) {
        routes_counters.n_not_found++;
        answer_text(r, 404,
                    "this process has no profile of that name; /debug/pprof/ lists the profiles it has");
    } else if (*verb) {
        answer_control(q, k, verb, r);
    } else if (q->method == HTTP_HEAD) {
        answer_text(r, 200, k->title);
    } else if (q->method != HTTP_GET && q->method != HTTP_POST) {
        answer_text(r, 405, "this method is not supported here; use GET");
    } else {
        answer_profile(q, k, is_snapshot, r);
    }
}

bool routes_is_health(const struct http_request *q)
{
    return !strcmp(q->path, "/health") || !strcmp(q->path, "/healthz");
}

bool routes_is_allowed(const struct http_request *q)
{
    return routes_is_health(q) || token_allows(q->authorization);
}

void routes_answer(const struct http_request *q, const char *body, struct response *r)
{
    char name[64], verb[64];
    routes_counters.n_requests++;
    if (routes_is_health(q)) {
        answer_text(r, 200, "ok");
        return;
    }
    if (!routes_is_allowed(q)) {
        routes_counters.n_denied++;
        answer_text(r, 401,
                    "the token is missing or wrong; send Authorization: Bearer TOKEN, or use "
                    "http://procprof:TOKEN@host/");
        return;
    }
    if (q->method == HTTP_OTHER) {
        answer_text(r, 405, "this method is not supported here; use GET, HEAD or POST");
        return;
    }
    bool is_pprof = split_path(q->path, name, sizeof name, verb, sizeof verb);
    if ((is_pprof && !*name) || !strcmp(q->path, "/")) {
        r->status = 200;
        r->content_type = "text/html; charset=utf-8";
        index_page_write(&r->body);
    } else if (!is_pprof) {
        routes_counters.n_not_found++;
        answer_text(r, 404, "there is no endpoint at this path; /debug/pprof/ lists all profiles");
    } else if (!strcmp(name, "cmdline")) {
        answer_cmdline(r);
    } else if (!strcmp(name, "health")) {
        answer_text(r, 200, "ok");
    } else if (!strcmp(name, "status")) {
        answer_status(r);
    } else {
        answer_named(q, body, name, verb, r);
    }
}

void routes_finish(struct response *r, const char **ret_bytes, size_t *ret_n_bytes)
{
    struct job *j = r->job;
    if (j->status) {
        r->job = NULL;
        r->file_name[0] = 0;
        answer_error(r, j->status, &j->err);
        jobs_release(j);
        *ret_bytes = r->body.data;
        *ret_n_bytes = r->body.size;
        return;
    }
    const struct pages_buf *b = &j->bodies[j->has_raw ? 0 : r->form];
    r->status = 200;
    bool text = j->has_raw || r->form == JOB_TEXT || (r->form == JOB_LEGACY && b->size && b->data[0] != 0);
    r->content_type = text ? "text/plain; charset=utf-8" : "application/octet-stream";
    if (j->has_raw) r->file_name[0] = 0;
    *ret_bytes = b->data;
    *ret_n_bytes = b->size;
}
