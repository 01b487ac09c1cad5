/* file_server.c - see file_server.h. The store is in a temporary folder that is removed at the end. */
#include "serve/file_server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "format/format.h"
#include "serve/collector/node_capture.h"
#include "serve/http/site.h"

enum { MAX_FILES = 1000 };

struct file_server {
    struct site site;
    struct http_server *http;
    char *dir, *binary;
};

static char *name_of(void *context, int32_t node)
{
    (void)context, (void)node;
    return mem_strdup("file");
}

int file_server_start(const struct file_server_options *o, struct file_server **ret_server, struct err *err)
{
    struct file_server *s = mem_zalloc(sizeof *s);
    struct site *site = &s->site;
    const char *tmp = getenv("TMPDIR");
    s->dir = mem_printf("%s/procprof-ui.XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(s->dir)) {
        int bad = err_errno(err, errno, "%s", s->dir);
        mem_free(s->dir);
        mem_free(s);
        return bad;
    }
    s->binary = o->binary ? mem_strdup(o->binary) : NULL;
    site->started_ms = clock_wall_ns() / 1000000;
    site->events = events_new();
    site->sessions = sessions_new();
    site->file_names = mem_zalloc(MAX_FILES * sizeof *site->file_names);
    struct store_options so = {.dir = s->dir};
    int bad = store_open(&so, &site->store, err);
    if (!bad) bad = store_load(site->store, err);
    if (!bad) {
        struct views_options vo = {
            .store = site->store, .symbol_search = o->search, .node_name = name_of, .binary = s->binary};
        site->views = views_new(&vo);
        site->any_host =
            strcmp(o->host, "localhost") && strncmp(o->host, "127.", 4) && strcmp(o->host, "::1");
        struct http_server_options http = {.host = o->host, .port = o->port};
        bad = http_server_start(site, &http, &s->http, err);
    }
    if (bad) return file_server_stop(s), bad;
    *ret_server = s;
    return 0;
}

/* Finds the type of a profile from its sample types. */
static enum profile_type type_of(const struct profile *p)
{
    for (size_t i = 0; i < p->n_sample_types; i++) {
        const char *type = profile_text(p, p->sample_types[i].type);
        if (!strncmp(type, "inuse", 5) || !strcmp(type, "space") || !strcmp(type, "objects"))
            return PROFILE_HEAP;
        if (!strcmp(type, "contentions") || !strcmp(type, "delay")) return PROFILE_CONTENTION;
        if (!strncmp(type, "alloc", 5)) return PROFILE_MEM;
        if (!strcmp(type, "wall")) return PROFILE_WALL;
    }
    return PROFILE_CPU;
}

int file_server_add(struct file_server *s, const char *name, const struct bytes *bytes, long long *ret_id,
                    struct err *err)
{
    struct site *site = &s->site;
    struct profile *p;
    struct store_profile stored;
    if (site->n_file_names == MAX_FILES) return err_set(err, ERR_LIMIT, "more than %d files", MAX_FILES);
    int bad = format_read(bytes->data, bytes->len, name, NULL, &p, err);
    if (bad) return bad;
    char types[128];
    enum profile_type type = type_of(p);
    capture_sample_types(p, types, sizeof types);
    struct store_new new = {.node = 0,
                            .type = type,
                            .form = PROFILE_PPROF,
                            .time_ms = p->time_ns > 0 ? p->time_ns / 1000000 : site->started_ms,
                            .duration_ms = p->duration_ns / 1000000,
                            .samples = capture_samples(p, type),
                            .sample_types = types,
                            .total = capture_total(p),
                            .has_data = true,
                            .data = bytes->data,
                            .len = bytes->len};
    profile_free(p);
    bad = store_publish(site->store, &new, &stored, err);
    if (bad) return bad;
    site->file_names[stored.id - 1] = mem_strdup(name);
    site->n_file_names = (size_t)stored.id;
    *ret_id = stored.id;
    return 0;
}

void file_server_select(struct file_server *s, const char *selection)
{
    mem_free(s->site.file_selection);
    s->site.file_selection = mem_strdup(selection);
}

int file_server_port(const struct file_server *s)
{
    return http_server_port(s->http);
}

void file_server_stop(struct file_server *s)
{
    if (!s) return;
    events_stop(s->site.events);
    http_server_stop(s->http);
    views_free(s->site.views);
    store_close(s->site.store);
    sessions_free(s->site.sessions);
    events_free(s->site.events);
    for (size_t i = 0; i < s->site.n_file_names; i++) mem_free(s->site.file_names[i]);
    mem_free(s->site.file_names);
    mem_free(s->site.file_selection);
    file_remove_tree(s->dir, NULL);
    mem_free(s->dir);
    mem_free(s->binary);
    mem_free(s);
}
