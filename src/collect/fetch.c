/* fetch.c - see fetch.h. HTTP through libcurl; files and pipes through base/file.h. */
#include "collect/fetch.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/version.h"

bool fetch_is_url(const char *source)
{
    return !strncasecmp(source, "http://", 7) || !strncasecmp(source, "https://", 8) ||
           !strncasecmp(source, "https+insecure://", 17);
}

struct transfer {
    struct buf body;
    const struct fetch_options *options;
    int64_t begin_ns;
    bool stopped, shows_text, go_pprof;
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

/* `seconds=` set in the query, replacing one that is there. */
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

static void set_tls(CURL *curl, const struct fetch_options *o, bool insecure)
{
    if (o->tls_cert) curl_easy_setopt(curl, CURLOPT_SSLCERT, o->tls_cert);
    if (o->tls_key) curl_easy_setopt(curl, CURLOPT_SSLKEY, o->tls_key);
    if (o->tls_ca) curl_easy_setopt(curl, CURLOPT_CAINFO, o->tls_ca);
    if (!insecure) return;
    curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 0L);
}

/* The first line of a plain-text error body, so that the reader learns what the server said. */
static void add_server_words(const struct buf *body, const char *content_type, char *into, size_t size)
{
    char line[160];
    into[0] = '\0';
    if (!content_type || strncasecmp(content_type, "text/plain", 10)) return;
    text_first_line(body->data, body->len, line, sizeof line);
    if (*line) snprintf(into, size, " - %s", line);
}

static int check_answer(CURL *curl, CURLcode code, struct transfer *t, const char *url, double timeout_s,
                        const char *detail, struct err *err)
{
    if (t->stopped) return err_set(err, ERR_TIMEOUT, "%s: stopped on request", url);
    if (t->body.full)
        return err_set(err, ERR_LIMIT, "%s: the answer is larger than %zu bytes", url, t->body.max_len);
    if (code == CURLE_OPERATION_TIMEDOUT)
        return err_set(err, ERR_TIMEOUT, "%s: no complete answer within %.0f s", url, timeout_s);
    if (code == CURLE_PARTIAL_FILE)
        return err_set(err, ERR_IO, "%s: the connection closed before the whole profile had arrived", url);
    if (code != CURLE_OK)
        return err_set(err, ERR_IO, "%s: %s", url, detail[0] ? detail : curl_easy_strerror(code));
    long status = 0;
    char *type = NULL, said[200];
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(curl, CURLINFO_CONTENT_TYPE, &type);
    if (status == 200) return 0;
    add_server_words(&t->body, type, said, sizeof said);
    return err_set(err, status == 401 || status == 403 ? ERR_DENIED : ERR_IO, "%s: server response: %ld%s",
                   url, status, said);
}

static int fetch_url(const char *source, const struct fetch_options *o, struct bytes *ret_bytes,
                     struct err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init_curl);
    bool insecure = o->insecure || !strncasecmp(source, "https+insecure://", 17);
    char *url = mem_printf("%s%s", insecure && source[5] == '+' ? "https" : "",
                           insecure && source[5] == '+' ? source + 14 : source);
    if (o->seconds > 0) {
        char *with = url_with_seconds(url, o->seconds);
        mem_free(url);
        url = with;
    }
    double duration_s = seconds_in_url(url), timeout_s = o->timeout_s;
    if (timeout_s <= 0) timeout_s = duration_s > 0 ? duration_s * 1.5 : 60;
    if (timeout_s < duration_s + 5 && o->timeout_s <= 0) timeout_s = duration_s + 5;
    struct transfer t = {.options = o, .begin_ns = clock_monotonic_ns()};
    t.body.max_len = o->max_bytes ? o->max_bytes : (size_t)1 << 30;
    char detail[CURL_ERROR_SIZE] = "";
    CURL *curl = curl_easy_init();
    struct curl_slist *headers = NULL;
    if (o->bearer_token) {
        char *header = mem_printf("Authorization: Bearer %s", o->bearer_token);
        headers = curl_slist_append(headers, header);
        mem_free(header);
    }
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(curl, CURLOPT_MAXREDIRS, 5L);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)(timeout_s * 1000));
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)(timeout_s < 10 ? timeout_s * 1000 : 10000));
    curl_easy_setopt(curl, CURLOPT_ACCEPT_ENCODING, "gzip");
    curl_easy_setopt(curl, CURLOPT_USERAGENT, o->user_agent ? o->user_agent : "procprof/" PROCPROF_VERSION);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &t);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &t);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, o->progress ? 0L : 1L);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, detail);
    if (o->post_body) {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, o->post_body);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(o->post_body));
        headers = curl_slist_append(headers, "Content-Type: application/octet-stream");
    }
    if (headers) curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    set_tls(curl, o, insecure);
    CURLcode code = curl_easy_perform(curl);
    int rc = check_answer(curl, code, &t, url, timeout_s, detail, err);
    if (!rc) {
        *ret_bytes = (struct bytes){.len = t.body.len};
        ret_bytes->data = (uint8_t *)buf_take(&t.body);
    } else {
        buf_free(&t.body);
    }
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
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
