/* fetch.c - see fetch.h. HTTP through libcurl; files and pipes through base/file.h. */
#include "collect/fetch.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"

enum { DEFAULT_TIMEOUT_S = 60 };
#define DEFAULT_MAX_BYTES     ((size_t)1 << 30)
#define NODE_CONNECT_LIMIT_MS 5000L

bool fetch_is_url(const char *source)
{
    return !strncasecmp(source, "http://", 7) || !strncasecmp(source, "https://", 8) ||
           !strncasecmp(source, "https+insecure://", 17);
}

struct transfer {
    struct buf body;
    const struct fetch_options *options;
    int64_t begin_ns;
    bool stopped;
};

static size_t on_body(char *data, size_t size, size_t n, void *context)
{
    struct transfer *t = context;
    buf_add(&t->body, data, size * n);
    return t->body.full ? 0 : size * n;
}

static int on_progress(void *context, curl_off_t total, curl_off_t now, curl_off_t up_total,
                       curl_off_t up_now)
{
    (void)total, (void)up_total, (void)up_now;
    struct transfer *t = context;
    if (!t->options->progress) return 0;
    double elapsed_s = (double)(clock_monotonic_ns() - t->begin_ns) / 1e9;
    t->stopped = t->options->progress(t->options->progress_context, (size_t)now, elapsed_s) != 0;
    return t->stopped;
}

/* The URL with seconds= in its query; an existing seconds= is replaced. */
static char *url_with_seconds(const char *url, double seconds)
{
    const char *query = strchr(url, '?');
    struct buf out = {0};
    buf_add(&out, url, query ? (size_t)(query - url) : strlen(url));
    char separator = '?';
    for (const char *at = query ? query + 1 : ""; *at;) {
        size_t len = strcspn(at, "&");
        if (strncmp(at, "seconds=", 8)) {
            buf_char(&out, separator);
            buf_add(&out, at, len);
            separator = '&';
        }
        at += len + (at[len] == '&');
    }
    buf_printf(&out, "%cseconds=%g", separator, seconds);
    return buf_take(&out);
}

static double seconds_in_url(const char *url)
{
    const char *at = strchr(url, '?');
    while (at) {
        at++;
        double value;
        if (sscanf(at, "seconds=%lf", &value) == 1) return value;
        at = strchr(at, '&');
    }
    return 0;
}

static void init_curl(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
}

static void set_tls(CURL *easy, const struct fetch_options *o)
{
    if (o->tls_cert) curl_easy_setopt(easy, CURLOPT_SSLCERT, o->tls_cert);
    if (o->tls_key) curl_easy_setopt(easy, CURLOPT_SSLKEY, o->tls_key);
    if (o->tls_ca) curl_easy_setopt(easy, CURLOPT_CAINFO, o->tls_ca);
    if (!o->insecure) return;
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
}

CURL *fetch_prepare(const char *url, const struct fetch_options *o, struct curl_slist **ret_headers)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init_curl);
    CURL *easy = curl_easy_init();
    if (!easy) abort();
    *ret_headers = NULL;
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_USERAGENT, o->user_agent ? o->user_agent : "procprof");
    if (o->is_node) {
        curl_easy_setopt(easy, CURLOPT_PROXY, "");
        curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, NODE_CONNECT_LIMIT_MS);
    } else {
        curl_easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
        curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 1L);
        curl_easy_setopt(easy, CURLOPT_MAXREDIRS, 5L);
        curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "gzip");
    }
    if (o->bearer_token && *o->bearer_token) {
        char *header = mem_printf("Authorization: Bearer %s", o->bearer_token);
        *ret_headers = curl_slist_append(*ret_headers, header);
        mem_free(header);
    }
    if (o->post_body) {
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(o->post_body));
        curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, o->post_body);
        if (!o->is_node)
            *ret_headers = curl_slist_append(*ret_headers, "Content-Type: application/octet-stream");
    }
    if (*ret_headers) curl_easy_setopt(easy, CURLOPT_HTTPHEADER, *ret_headers);
    set_tls(easy, o);
    return easy;
}

static int check_transfer(CURLcode code, const struct transfer *t, const char *url, double timeout_s,
                          const char *detail, struct err *err)
{
    if (t->stopped) return err_set(err, ERR_TIMEOUT, "%s: the transfer was cancelled", url);
    if (t->body.full)
        return err_set(err, ERR_LIMIT, "%s: the answer is larger than the limit of %zu bytes", url,
                       t->body.max_len);
    if (code == CURLE_OPERATION_TIMEDOUT)
        return err_set(err, ERR_TIMEOUT, "%s: no complete answer within %.3g s", url, timeout_s);
    if (code == CURLE_PARTIAL_FILE)
        return err_set(err, ERR_IO,
                       "%s: the connection was closed before the whole answer had arrived; try again", url);
    if (code != CURLE_OK)
        return err_set(err, ERR_IO, "%s: %s", url, detail[0] ? detail : curl_easy_strerror(code));
    return 0;
}

int fetch_http(const char *url, const struct fetch_options *o, struct fetch_answer *ret_answer,
               struct err *err)
{
    struct transfer t = {.options = o, .begin_ns = clock_monotonic_ns()};
    struct curl_slist *headers;
    CURL *easy = fetch_prepare(url, o, &headers);
    double timeout_s = o->timeout_s > 0 ? o->timeout_s : DEFAULT_TIMEOUT_S;
    char detail[CURL_ERROR_SIZE] = "", *type = NULL;
    t.body.max_len = o->max_bytes ? o->max_bytes : DEFAULT_MAX_BYTES;
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)(timeout_s * 1000));
    if (!o->is_node)
        curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)(timeout_s < 10 ? timeout_s * 1000 : 10000));
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &t);
    curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(easy, CURLOPT_XFERINFODATA, &t);
    curl_easy_setopt(easy, CURLOPT_NOPROGRESS, o->progress ? 0L : 1L);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, detail);
    int rc = check_transfer(curl_easy_perform(easy), &t, url, timeout_s, detail, err);
    *ret_answer = (struct fetch_answer){0};
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &ret_answer->status);
    curl_easy_getinfo(easy, CURLINFO_CONTENT_TYPE, &type);
    snprintf(ret_answer->content_type, sizeof ret_answer->content_type, "%s", type ? type : "");
    if (!rc) {
        ret_answer->body.len = t.body.len;
        ret_answer->body.data = (uint8_t *)buf_take(&t.body);
    }
    buf_free(&t.body);
    curl_slist_free_all(headers);
    curl_easy_cleanup(easy);
    return rc;
}

/* ---- profiles by URL ---- */

/* As long as the profile takes and half as long again, as pprof waits; at least 5 s more than it takes. */
static double timeout_of(const struct fetch_options *o, const char *url)
{
    double duration_s = seconds_in_url(url);
    if (o->timeout_s > 0) return o->timeout_s;
    if (duration_s <= 0) return DEFAULT_TIMEOUT_S;
    return duration_s * 1.5 < duration_s + 5 ? duration_s + 5 : duration_s * 1.5;
}

static int refusal(const char *url, const struct fetch_answer *a, struct err *err)
{
    char line[160] = "";
    if (!strncasecmp(a->content_type, "text/plain", 10))
        text_first_line(a->body.data, a->body.len, line, sizeof line);
    return err_set(err, a->status == 401 || a->status == 403 ? ERR_DENIED : ERR_IO,
                   "%s: server response: %ld%s%s", url, a->status, *line ? " - " : "", line);
}

static int fetch_url(const char *source, const struct fetch_options *given, struct bytes *ret_bytes,
                     struct err *err)
{
    struct fetch_options o = *given;
    struct fetch_answer answer;
    bool is_marked = !strncasecmp(source, "https+insecure://", 17);
    char *url = is_marked ? mem_printf("https%s", source + 14) : mem_strdup(source);
    o.insecure |= is_marked;
    if (o.seconds > 0) {
        char *with = url_with_seconds(url, o.seconds);
        mem_free(url);
        url = with;
    }
    o.timeout_s = timeout_of(&o, url);
    int rc = fetch_http(url, &o, &answer, err);
    if (!rc && answer.status != 200) {
        rc = refusal(url, &answer, err);
        bytes_free(&answer.body);
    }
    if (!rc) *ret_bytes = answer.body;
    mem_free(url);
    return rc;
}

int fetch(const char *source, const struct fetch_options *options, struct bytes *ret_bytes, struct err *err)
{
    static const struct fetch_options defaults;
    if (!options) options = &defaults;
    bool is_file = !strcmp(source, "-") || access(source, F_OK) == 0;
    if (!is_file && fetch_is_url(source)) return fetch_url(source, options, ret_bytes, err);
    return file_read(source, options->max_bytes ? options->max_bytes : (size_t)8 << 30, ret_bytes, err);
}
