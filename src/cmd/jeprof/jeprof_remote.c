/* jeprof_remote.c - see jeprof_remote.h. */
#include "cmd/jeprof/jeprof_remote.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "collect/fetch.h"

/* Servers recognise clients that need the old formats by curl's name, because jeprof runs curl. */
static const char user_agent[] = "curl/7.88 (procprof jeprof)";

static const char *const services[] = {"/pprof/heap",       "/pprof/growth",       "/pprof/contention",
                                       "/pprof/pmuprofile", "/pprof/wall",         "/pprof/filteredprofile",
                                       "/pprof/profile",    "/pprof/censusprofile"};

bool jeprof_is_url(const char *source)
{
    if (fetch_is_url(source)) return access(source, F_OK) != 0;
    if (strcmp(source, "-") == 0 || access(source, F_OK) == 0) return false;
    /* Only "host:port..." is an address, so that a misspelt file name is not taken for a host. */
    const char *colon = strchr(source, ':'), *slash = strchr(source, '/');
    return colon && colon > source && (!slash || colon < slash) && colon[1] >= '0' && colon[1] <= '9';
}

bool jeprof_url_parse(const char *text, struct jeprof_url *ret_url)
{
    char *url = fetch_is_url(text) ? mem_strdup(text) : mem_printf("http://%s", text);
    char *host = strstr(url, "://") + 3, *path = host + strcspn(host, "/");
    char *service = NULL;
    for (size_t i = 0; i < sizeof services / sizeof *services && !service; i++) {
        size_t n = strlen(services[i]);
        for (char *at = strstr(path, services[i]); at; at = strstr(at + 1, services[i]))
            if (!at[n] || at[n] == '?') service = at;
    }
    if (path == host) {
        mem_free(url);
        return false;
    }
    ret_url->service = mem_strdup(service ? service : "/pprof/profile");
    ret_url->host = mem_strndup(host, (size_t)(path - host));
    char *end = service ? service : url + strlen(url);
    while (end > path && end[-1] == '/') end--;
    ret_url->base = mem_strndup(url, (size_t)(end - url));
    mem_free(url);
    return true;
}

void jeprof_url_free(struct jeprof_url *url)
{
    mem_free(url->base);
    mem_free(url->service);
    mem_free(url->host);
    *url = (struct jeprof_url){0};
}

static bool takes_seconds(const char *service)
{
    return !strncmp(service, "/pprof/profile", 14) || !strncmp(service, "/pprof/pmuprofile", 17) ||
           !strncmp(service, "/pprof/wall", 11);
}

/* Returns the path PROGRAM.TIME.HOST[.pprof.heap] in the user's folder, or NULL if there is no such folder.
 */
static char *path_for_copy(const struct jeprof_url *url, const char *program)
{
    const char *set = getenv("JEPROF_TMPDIR"), *home = getenv("HOME");
    char *folder = set && *set ? mem_strdup(set) : home && *home ? mem_printf("%s/jeprof", home) : NULL;
    if (!folder) return NULL;
    const char *name = program ? path_base_name(program) : NULL;
    bool is_cpu = !strncmp(url->service, "/pprof/profile", 14);
    char *path = mem_printf("%s/%s.%lld.%s%s", folder, name && *name ? name : "unknown",
                            (long long)time(NULL), url->host, is_cpu ? "" : url->service);
    for (char *at = path + strlen(folder) + 1; *at; at++)
        if (*at == '/' || *at == '?' || *at == ':') *at = '.';
    struct err ignored;
    if (file_make_dirs(folder, 0700, &ignored)) {
        mem_free(path);
        path = NULL;
    }
    mem_free(folder);
    return path;
}

int jeprof_fetch(const struct jeprof_url *url, const struct jeprof_options *options, const char *program,
                 struct bytes *ret_bytes, struct err *err)
{
    bool timed = takes_seconds(url->service);
    char *whole = mem_printf("%s%s", url->base, url->service), *copy = path_for_copy(url, program);
    double seconds = (double)options->seconds;
    if (timed)
        fprintf(stderr,
                "Gathering CPU profile from %s?seconds=%lld for %lld seconds to\n  %s\nBe patient...\n",
                whole, (long long)options->seconds, (long long)options->seconds, copy ? copy : "memory");
    else
        fprintf(stderr, "Fetching %s profile from %s to\n  %s\n", url->service, whole,
                copy ? copy : "memory");
    struct fetch_options how = {.seconds = timed ? seconds : 0,
                                .timeout_s = timed ? seconds * 1.01 + 60 : 600,
                                .user_agent = user_agent};
    int rc = fetch(whole, &how, ret_bytes, err);
    if (!rc && copy) {
        struct err why;
        if (file_write_atomic(copy, ret_bytes->data, ret_bytes->len, 0600, &why))
            fprintf(stderr, "%s\n", why.text);
        else
            fprintf(stderr, "Wrote profile to %s\n", copy);
    }
    mem_free(whole);
    mem_free(copy);
    return rc;
}

static int get(const struct jeprof_url *url, const char *page, struct bytes *ret, struct err *err)
{
    struct fetch_options how = {.user_agent = user_agent};
    char *whole = mem_printf("%s%s", url->base, page);
    int rc = fetch(whole, &how, ret, err);
    mem_free(whole);
    return rc;
}

int jeprof_check_symbols(const struct jeprof_url *url, struct err *err)
{
    struct bytes answer = {0};
    int rc = get(url, "/pprof/symbol", &answer, err);
    if (rc) return rc;
    char *text = mem_strndup((const char *)answer.data, answer.len < 200 ? answer.len : 200);
    long long n = -1;
    if (sscanf(text, "num_symbols: %lld", &n) != 1)
        rc = err_set(err, ERR_INPUT, "%s/pprof/symbol: the answer does not begin with \"num_symbols:\"",
                     url->base);
    else if (n == 0)
        rc = err_set(err, ERR_INPUT, "%s/pprof/symbol: Stripped binary. No symbols available.", url->base);
    mem_free(text);
    bytes_free(&answer);
    return rc;
}

char *jeprof_fetch_program(const struct jeprof_url *url)
{
    struct bytes answer = {0};
    struct err ignored;
    if (get(url, "/pprof/cmdline", &answer, &ignored)) return NULL;
    size_t n = 0;
    while (n < answer.len && n < 4096 && answer.data[n] && answer.data[n] != '\n' && answer.data[n] != '\r')
        n++;
    char *program = n ? mem_strndup((const char *)answer.data, n) : NULL;
    bytes_free(&answer);
    return program;
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

int jeprof_fetch_names(const struct jeprof_url *url, const struct jeprof_options *options,
                       struct jeprof_profile *p, struct err *err)
{
    uint64_t *addresses = mem_array(p->n_places + 1, sizeof *addresses);
    size_t n = 0;
    for (size_t i = 0; i < p->n_places; i++)
        if (!p->places[i].n_frames) addresses[n++] = p->places[i].address;
    qsort(addresses, n, sizeof *addresses, compare_u64);
    struct buf body = {0}, where = {0};
    for (size_t i = 0; i < n; i++)
        if (!i || addresses[i] != addresses[i - 1])
            buf_printf(&body, "%s0x%016llx", i ? "+" : "", (unsigned long long)addresses[i]);
    mem_free(addresses);
    if (!n) return 0;
    buf_printf(&where, "%s/pprof/symbol", url->base);
    if (*options->retain) {
        buf_str(&where, "?retain=");
        buf_url(&where, options->retain);
    }
    if (*options->exclude) {
        buf_printf(&where, "%cexclude=", *options->retain ? '&' : '?');
        buf_url(&where, options->exclude);
    }
    struct fetch_options how = {.user_agent = user_agent, .post_body = buf_cstr(&body), .timeout_s = 600};
    struct bytes answer = {0};
    int rc = fetch(buf_cstr(&where), &how, &answer, err);
    if (!rc) jeprof_profile_add_names(p, (const char *)answer.data, answer.len);
    bytes_free(&answer);
    buf_free(&body);
    buf_free(&where);
    return rc;
}
