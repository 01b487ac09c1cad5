/* load.c - see load.h. Sources are fetched and decoded side by side, one thread each, a few at a time. */
#include "cmd/load.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/idmap.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "collect/fetch.h"
#include "format/format.h"
#include "format/symbolized.h"
#include "profile/compat.h"
#include "profile/filter.h"
#include "report/name_places.h"
#include "report/symbolize.h"

enum { MAX_AT_ONCE = 16 };

struct source {
    const struct load_options *o;
    const char *name;
    char *url; /* NULL for files */
    struct profile *p;
    struct err err;
    struct err warning; /* of a profile that was read but is not whole */
    int rc;
};

__attribute__((format(printf, 3, 4))) static void tell(const struct load_options *o, bool is_warning,
                                                       const char *format, ...)
{
    char line[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (is_warning && o->warn) o->warn(o->context, line);
    if (!is_warning && o->say) o->say(o->context, line);
}

/* A file that exists is a file; else a URL, with http:// put before host:port/path, and the CPU profile meant
 * where there is no path, as go tool pprof does. NULL when it is neither. */
static char *url_of(const char *source)
{
    if (!strcmp(source, "-") || access(source, F_OK) == 0) return NULL;
    const char *scheme = "", *host = strstr(source, "://");
    if (!fetch_is_url(source)) {
        const char *colon = strchr(source, ':'), *slash = strchr(source, '/');
        if (!colon || colon == source || (slash && slash < colon) || colon[1] < '0' || colon[1] > '9')
            return NULL;
        scheme = "http://";
        host = NULL;
    }
    host = host ? host + 3 : source;
    size_t n_host = strcspn(host, "/?#");
    if (host[n_host] && strcmp(host + n_host, "/")) return mem_printf("%s%s", scheme, source);
    return mem_printf("%s%.*s/debug/pprof/profile", scheme, (int)(host + n_host - source), source);
}

static void read_source(struct source *s)
{
    const struct load_options *o = s->o;
    struct fetch_options fetching = {.seconds = o->seconds,
                                     .timeout_s = o->timeout_s,
                                     .tls_cert = o->tls_cert,
                                     .tls_key = o->tls_key,
                                     .tls_ca = o->tls_ca,
                                     .user_agent = "Go-http-client/1.1 (procprof)"};
    struct format_options reading = {
        .drop_signal_frames = o->drop_signal_frames, .only_type = o->only_type, .ret_warning = &s->warning};
    struct bytes bytes = {0};
    s->rc = fetch(s->url ? s->url : s->name, &fetching, &bytes, &s->err);
    reading.is_file_mapping = bytes.mapped_bytes > 0;
    if (!s->rc) s->rc = format_read(bytes.data, bytes.len, s->name, &reading, &s->p, &s->err);
    bytes_free(&bytes);
}

static void add_fake_mapping(struct profile *p)
{
    if (p->n_mappings) return;
    profile_add_mapping(p, 0, 0, 0, 0, 0);
    for (size_t i = 0; i < p->n_locations; i++) p->locations[i].mapping = 1;
}

static void override_main_mapping(struct profile *p, const struct load_options *o)
{
    if (!o->binary && !o->build_id) return;
    add_fake_mapping(p);
    if (o->binary) p->mappings[0].filename = profile_cstr(p, o->binary);
    if (o->build_id && !p->mappings[0].build_id) p->mappings[0].build_id = profile_cstr(p, o->build_id);
}

static void prepare_source(struct source *s)
{
    if (s->o->add_fake_mapping) add_fake_mapping(s->p);
    override_main_mapping(s->p, s->o);
}

/* Types that are named twice, or differ from source to source, must first be made to fit:
 * profile_make_compatible does that, with all sources at hand. */
static bool has_distinct_types(const struct profile *p)
{
    for (size_t i = 0; i < p->n_sample_types; i++)
        for (size_t k = 0; k < i; k++)
            if (p->sample_types[i].type == p->sample_types[k].type) return false;
    return p->n_sample_types > 0;
}

struct queue {
    struct source *sources;
    struct profile_merger *merger; /* NULL: sources are only read */
    atomic_bool is_mixed;          /* a source does not go with the first as it is: no use to go on */
};

/* Into the merger as soon as its turn comes, so that few sources are in memory at a time. */
static void merge_source(struct queue *q, size_t i)
{
    struct source *s = &q->sources[i];
    if (s->p) prepare_source(s);
    bool fits = s->p && has_distinct_types(s->p);
    if (!fits) profile_free(s->p);
    int rc = profile_merger_take(q->merger, i, fits ? s->p : NULL, NULL);
    s->p = NULL;
    if (!s->rc && (!fits || rc)) q->is_mixed = true;
}

static void take_source(void *context, size_t i, unsigned worker)
{
    (void)worker;
    struct queue *q = context;
    if (!q->is_mixed) read_source(&q->sources[i]);
    if (q->merger) merge_source(q, i);
}

static void run_queue(struct queue *q, size_t n)
{
    bool any_url = false;
    for (size_t i = 0; i < n; i++) any_url |= q->sources[i].url != NULL;
    parallel_for(n, any_url ? MAX_AT_ONCE : parallel_width(), take_source, q);
}

static bool are_plain_files(const char *const *names, size_t n)
{
    struct stat st;
    for (size_t i = 0; i < n; i++)
        if (!strcmp(names[i], "-") || stat(names[i], &st) || !S_ISREG(st.st_mode)) return false;
    return true;
}

static void tell_failures(const struct load_options *o, const struct source *sources, size_t n,
                          const char *what)
{
    size_t n_good = 0;
    for (size_t i = 0; i < n; i++) {
        n_good += !sources[i].rc;
        if (*sources[i].warning.text) tell(o, true, "%s: %s", sources[i].name, sources[i].warning.text);
        if (sources[i].rc && n > 1) tell(o, true, "%s", sources[i].err.text);
    }
    if (n_good && n_good < n) tell(o, true, "Fetched %zu %s profiles out of %zu", n_good, what, n);
}

/* Plain files that go together as they are, merged while they are read. False when that cannot be done:
 * nothing was told then, and the files can be read again. */
static bool merge_files(const struct load_options *o, struct source *sources, size_t n, const char *what,
                        struct profile **ret)
{
    struct queue q = {.sources = sources, .merger = profile_merger_new()};
    size_t n_good = 0;
    run_queue(&q, n);
    struct profile *merged = profile_merger_end(q.merger);
    for (size_t i = 0; i < n; i++) n_good += !sources[i].rc;
    if (q.is_mixed || n_good < 2) {
        profile_free(merged);
        for (size_t i = 0; i < n; i++) sources[i].rc = 0;
        return false;
    }
    tell_failures(o, sources, n, what);
    *ret = merged;
    return true;
}

static int merge_all(const struct load_options *o, struct source *sources, size_t n, const char *what,
                     struct profile **ret, struct err *err)
{
    struct queue q = {.sources = sources};
    struct profile **good = mem_array(n, sizeof *good);
    size_t n_good = 0;
    int rc = 0;
    run_queue(&q, n);
    for (size_t i = 0; i < n; i++) {
        if (sources[i].rc) continue;
        prepare_source(&sources[i]);
        good[n_good++] = sources[i].p;
    }
    tell_failures(o, sources, n, what);
    if (!n_good) {
        *err = sources[0].err;
        rc = n > 1 ? err_set(err, sources[0].rc, "failed to fetch any %s profiles", what) : sources[0].rc;
    } else {
        rc = profile_make_compatible(good, n_good, err);
    }
    if (!rc && n_good == 1) {
        *ret = good[0];
    } else {
        if (!rc) rc = profile_merge(good, n_good, ret, err);
        for (size_t i = 0; i < n_good; i++) profile_free(good[i]);
    }
    mem_free(good);
    return rc;
}

/* Fetches a group and merges it. One that fails is told and left out; when all fail, the first reason is
 * returned. */
static int read_group(const struct load_options *o, const char *const *names, size_t n, const char *what,
                      struct profile **ret, char **ret_url, struct err *err)
{
    struct source *sources = mem_zalloc(n * sizeof *sources);
    int rc = 0;
    for (size_t i = 0; i < n; i++) {
        sources[i] = (struct source){.o = o, .name = names[i], .url = url_of(names[i])};
        if (sources[i].url) {
            tell(o, false, "Fetching profile over HTTP from %s", sources[i].url);
            if (o->seconds > 0) tell(o, false, "Please wait... (%gs)", o->seconds);
        }
    }
    if (n < 2 || !are_plain_files(names, n) || !merge_files(o, sources, n, what, ret))
        rc = merge_all(o, sources, n, what, ret, err);
    for (size_t i = 0; i < n; i++) {
        if (ret_url && !*ret_url && sources[i].url && !sources[i].rc) *ret_url = mem_strdup(sources[i].url);
        mem_free(sources[i].url);
    }
    mem_free(sources);
    return rc;
}

/* ---- names from the server: POST /pprof/symbol ---- */

static char *symbol_url(const char *url)
{
    size_t path_end = strcspn(url, "?");
    char *path = mem_strndup(url, path_end), *slash = strrchr(path, '/');
    const char *last = slash ? slash + 1 : "";
    static const char *const services[] = {"heap", "growth", "profile", "pmuprofile", "contention", NULL};
    bool pprof_like = strstr(path, "/debug/pprof/") != NULL;
    for (size_t i = 0; services[i] && slash; i++) {
        if (strcmp(last, services[i])) continue;
        pprof_like |= slash - path >= 6 && !strncmp(slash - 6, "/pprof", 6);
    }
    char *result = slash ? mem_printf("%.*s/%s", (int)(slash - path), path, pprof_like ? "symbol" : "symbolz")
                         : mem_strdup(path);
    mem_free(path);
    return result;
}

/* Names the locations that are wanted; of two names for one address, the first counts. */
static void take_symbol_reply(struct profile *p, const uint8_t *wanted, const struct bytes *reply)
{
    struct idmap function_of = {0}; /* by address */
    struct piece rest = {(const char *)reply->data, reply->len}, name;
    uint64_t address;
    while (symbolized_next(&rest, &address, &name)) {
        bool is_new;
        uint32_t *function = idmap_slot(&function_of, address, &is_new),
                 string = profile_string(p, name.s, name.n);
        if (is_new) *function = profile_add_function(p, string, string, 0, 0);
    }
    for (size_t i = 0; i < p->n_locations; i++) {
        uint32_t function;
        if (wanted[i] && idmap_find(&function_of, p->locations[i].address, &function))
            profile_name_location(p, i, function);
    }
    idmap_free(&function_of);
}

static void symbolize_remotely(const struct load_options *o, struct profile *p, const char *url)
{
    struct buf body = {0};
    uint8_t *wanted = mem_zalloc(p->n_locations);
    for (size_t i = 0; i < p->n_locations; i++) {
        const struct location *l = &p->locations[i];
        if (!l->address || (l->n_lines && !o->force_symbols)) continue;
        wanted[i] = 1;
        buf_printf(&body, "%s%#llx", body.len ? "+" : "", (unsigned long long)l->address);
    }
    if (body.len) {
        char *where = symbol_url(url);
        struct fetch_options posting = {.post_body = buf_cstr(&body),
                                        .tls_cert = o->tls_cert,
                                        .tls_key = o->tls_key,
                                        .tls_ca = o->tls_ca};
        struct bytes reply = {0};
        struct err err;
        if (fetch(where, &posting, &reply, &err))
            tell(o, true, "names from the server: %s", err.text);
        else
            take_symbol_reply(p, wanted, &reply);
        bytes_free(&reply);
        mem_free(where);
    }
    buf_free(&body);
    mem_free(wanted);
}

static void symbolize(const struct load_options *o, struct profile *p, const char *url,
                      struct symbolizer **ret_symbolizer)
{
    struct symbol_options so = {.search = o->search, .symbol_table_only = o->fast_local};
    struct symbolizer *s = symbolizer_new(&so);
    if (!o->remote_only) {
        struct symbolize_options how = {
            .force = o->force_symbols, .lines = o->want_lines, .warn = o->warn, .warn_context = o->context};
        profile_symbolize(p, s, &how);
    }
    if (url && !o->local_only) symbolize_remotely(o, p, url);
    if (o->name_places) profile_name_places(p, o->remote_only ? NULL : s);
    if (ret_symbolizer)
        *ret_symbolizer = s;
    else
        symbolizer_free(s);
}

int load_profile(const struct load_options *o, struct profile **ret_profile, bool *ret_remote,
                 struct symbolizer **ret_symbolizer, struct err *err)
{
    struct profile *p = NULL, *base = NULL;
    char *url = NULL;
    if (ret_symbolizer) *ret_symbolizer = NULL;
    int rc = read_group(o, o->sources, o->n_sources, "source", &p, &url, err);
    if (!rc && o->n_bases) {
        rc = read_group(o, o->bases, o->n_bases, "base", &base, &url, err);
        if (!rc) rc = profile_subtract(&p, base, o->is_diff, o->normalize, err);
        profile_free(base);
    }
    if (!rc && o->all_frames) p->drop_frames = p->keep_frames = 0;
    if (!rc && !o->no_symbols) {
        symbolize(o, p, url, ret_symbolizer);
        profile_simplify_names(p, o->name_detail, o->force_symbols);
    }
    if (!rc) rc = profile_drop_uninteresting(p, err);
    if (!rc && o->comment) profile_add_comment(p, o->comment);
    if (!rc) rc = profile_check(p, err);
    if (ret_remote) *ret_remote = url != NULL;
    mem_free(url);
    if (rc) {
        profile_free(p);
        return rc;
    }
    *ret_profile = p;
    return 0;
}
