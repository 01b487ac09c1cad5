/* views.c - see views.h: loads and merges profiles and caches views. */
#include "serve/view/views.h"

#include <openssl/evp.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compress/pack.h"
#include "base/compress/tar.h"
#include "base/lock_rank.h"
#include "base/mem.h"
#include "base/text.h"
#include "format/format.h"
#include "profile/compat.h"
#include "profile/filter.h"
#include "report/name_places.h"
#include "report/simple_names.h"
#include "report/symbolize.h"
#include "serve/collector/node_capture.h"
#include "serve/view/views_int.h"

enum {
    MERGE_AT_ONCE = 64,
    PACK_FROM_BYTES = 1024,
    MAX_UNPACKED_BYTES = 1 << 30,
};

struct views {
    struct views_options o;
    struct symbolizer *symbols;
    char *search_path;
    sem_t at_work; /* limits how many threads make a view at the same time, because large profiles need memory
                    */
    pthread_mutex_t lock; /* protects the list of views, their n_users and state */
    struct view *newest, *oldest;
    struct views_state state;
};

static const struct {
    const char *name, *content_type, *ending;
} kinds[VIEW_N_KINDS] = {
    [VIEW_FLAME] = {"flame", "application/octet-stream", "bin"},
    [VIEW_TOP] = {"top", "application/json", "json"},
    [VIEW_DOT] = {"dot", "text/vnd.graphviz; charset=utf-8", "dot"},
    [VIEW_SOURCE] = {"source", "application/json", "json"},
    [VIEW_PPROF] = {"pprof", "application/octet-stream", "pb.gz"},
    [VIEW_FOLDED] = {"folded", "text/plain; charset=utf-8", "folded"},
    [VIEW_SVG] = {"svg", "image/svg+xml", "svg"},
    [VIEW_HTML] = {"html", "text/html; charset=utf-8", "html"},
    [VIEW_CSV] = {"csv", "text/csv; charset=utf-8", "csv"},
    [VIEW_SPEEDSCOPE] = {"speedscope", "application/json", "speedscope.json"},
};

const char *view_content_type(enum view_kind kind)
{
    return kinds[kind].content_type;
}

const char *view_file_ending(enum view_kind kind)
{
    return kinds[kind].ending;
}

bool view_export_parse(const char *format, enum view_kind *ret_kind)
{
    for (int k = VIEW_PPROF; k < VIEW_N_KINDS; k++) {
        if (strcmp(kinds[k].name, format)) continue;
        *ret_kind = (enum view_kind)k;
        return true;
    }
    return false;
}

struct views *views_new(const struct views_options *o)
{
    struct views *v = mem_zalloc(sizeof *v);
    v->o = *o;
    if (!v->o.cache_bytes) v->o.cache_bytes = (size_t)256 << 20;
    struct symbol_options so = {.search = o->symbol_search};
    v->symbols = symbolizer_new(&so);
    struct buf path = {0};
    for (size_t i = 0; o->symbol_search && o->symbol_search[i]; i++)
        buf_printf(&path, "%s%s", i ? ":" : "", o->symbol_search[i]);
    v->search_path = buf_take(&path);
    long n_cores = sysconf(_SC_NPROCESSORS_ONLN);
    sem_init(&v->at_work, 0, (unsigned)(n_cores > 1 ? n_cores : 2));
    lock_rank_init(&v->lock, LOCK_VIEWS, NULL);
    return v;
}

static void free_view(struct view *view)
{
    mem_free(view->key);
    mem_free(view->data);
    mem_free(view);
}

void views_free(struct views *v)
{
    if (!v) return;
    while (v->newest) {
        struct view *view = v->newest;
        v->newest = view->older;
        free_view(view);
    }
    symbolizer_free(v->symbols);
    mem_free(v->search_path);
    sem_destroy(&v->at_work);
    pthread_mutex_destroy(&v->lock);
    mem_free(v);
}

void views_state(struct views *v, struct views_state *ret_state)
{
    pthread_mutex_lock(&v->lock);
    *ret_state = v->state;
    pthread_mutex_unlock(&v->lock);
}

/* ---- loading ---- */

static bool names_are_missing(const struct profile *p)
{
    for (size_t i = 0; i < p->n_locations; i++)
        if (!p->locations[i].n_lines) return true;
    return false;
}

/* A file on this host is the binary of another host only if its build id is the same; a path alone does not
 * prove it. */
static bool may_look_here(struct views *v, const struct profile *p, int32_t node)
{
    if (!v->o.is_local || v->o.is_local(v->o.context, node)) return true;
    for (size_t i = 0; i < p->n_mappings; i++)
        if (p->mappings[i].filename && !p->mappings[i].build_id) return false;
    return true;
}

static int decode(struct views *v, const void *data, size_t len, const char *name, int32_t node,
                  bool want_lines, struct profile **ret_profile, struct err *err)
{
    struct format_options reading = {.max_bytes = MAX_UNPACKED_BYTES};
    struct profile *p;
    int bad = format_read(data, len, name, &reading, &p, err);
    if (bad) return bad;
    if (v->o.binary) {
        if (!p->n_mappings) {
            profile_add_mapping(p, 0, 0, 0, 0, 0);
            for (size_t i = 0; i < p->n_locations; i++) p->locations[i].mapping = 1;
        }
        p->mappings[0].filename = profile_cstr(p, v->o.binary);
    }
    if ((want_lines || names_are_missing(p)) && may_look_here(v, p, node)) {
        struct symbolize_options how = {.lines = want_lines};
        profile_symbolize(p, v->symbols, &how);
    }
    *ret_profile = p;
    return 0;
}

/* Reads the profile in a stored file, from inside the archive if it is one, and symbolizes it. */
static int load(struct views *v, const struct store_profile *s, bool want_lines, struct profile **ret_profile,
                struct err *err)
{
    struct bytes file = {0}, inside = {0};
    int bad = store_read(v->o.store, s->id, &file, err);
    if (!bad && s->form == PROFILE_ARCHIVE) {
        bad = tar_gz_entry(file.data, file.len, ".pprof", &inside, err);
        if (bad == ERR_NOT_FOUND)
            err_set(err, ERR_UNSUPPORTED, "%s holds only a page, which can be shown but not merged", s->file);
    }
    const struct bytes *data = s->form == PROFILE_ARCHIVE ? &inside : &file;
    if (!bad) bad = decode(v, data->data, data->len, s->file, s->node, want_lines, ret_profile, err);
    if (!bad && (s->samples < 0 || !*s->total.type)) { /* the index lacks the totals of a file that it found
                                                          or that an older version wrote */
        struct store_total total = capture_total(*ret_profile);
        char types[128];
        capture_sample_types(*ret_profile, types, sizeof types);
        store_describe(v->o.store, s->id, (*ret_profile)->duration_ns / 1000000,
                       capture_samples(*ret_profile, s->type), types, &total);
    }
    bytes_free(&file);
    bytes_free(&inside);
    return bad;
}

static int merge(struct profile **parts, size_t n, struct profile **ret, struct err *err)
{
    int bad = 0;
    if (n == 1) {
        *ret = parts[0];
        return 0;
    }
    bad = profile_make_compatible(parts, n, err);
    if (!bad) bad = profile_merge(parts, n, ret, err);
    for (size_t i = 0; i < n; i++) profile_free(parts[i]);
    return bad;
}

/* Merges the profiles that can be read. An error only if none can. */
static int load_all(struct views *v, const struct store_profile *list, size_t n, bool want_lines,
                    struct profile **ret, struct err *err)
{
    struct profile *parts[MERGE_AT_ONCE + 1];
    size_t n_parts = 0;
    int bad = 0;
    struct err why = {0};
    for (size_t i = 0; i < n && !bad; i++) {
        struct profile *p;
        int rc = load(v, &list[i], want_lines, &p, &why);
        if (rc) {
            if (n == 1) bad = rc;
            continue;
        }
        parts[n_parts++] = p;
        if (n_parts > MERGE_AT_ONCE) {
            struct profile *merged = NULL;
            bad = merge(parts, n_parts, &merged, &why);
            n_parts = 0;
            if (!bad) parts[n_parts++] = merged;
        }
    }
    if (!bad && !n_parts) bad = why.code ? why.code : ERR_NOT_FOUND;
    if (!bad) bad = merge(parts, n_parts, ret, &why);
    if (bad && err) *err = why;
    return bad;
}

int views_profile(struct views *v, const struct store_profile *list, size_t n,
                  const struct store_profile *base, size_t n_base, bool want_lines,
                  struct profile **ret_profile, struct err *err)
{
    struct profile *p = NULL, *less = NULL;
    while (sem_wait(&v->at_work)) continue;
    int bad = load_all(v, list, n, want_lines, &p, err);
    if (!bad && n_base) bad = load_all(v, base, n_base, want_lines, &less, err);
    if (!bad && less) {
        struct profile *both[] = {p, less};
        bad = profile_make_compatible(both, 2, err);
        if (!bad) bad = profile_subtract(&p, less, true, false, err);
    }
    if (!bad) profile_simplify_names(p, NAME_SIMPLE, false);
    if (!bad) bad = profile_drop_uninteresting(p, err);
    profile_free(less);
    if (bad)
        profile_free(p);
    else
        *ret_profile = p;
    sem_post(&v->at_work);
    return bad;
}

struct symbolizer *views_symbolizer(struct views *v)
{
    return v->symbols;
}

static void name_places(struct views *v, const struct store_profile *list, size_t n, struct profile *p)
{
    bool may_look = true;
    for (size_t i = 0; i < n && may_look; i++) may_look = may_look_here(v, p, list[i].node);
    profile_name_places(p, may_look ? v->symbols : NULL);
}

/* ---- titles ---- */

static unsigned n_nodes_of(const struct store_profile *list, size_t n)
{
    unsigned count = 0;
    for (size_t i = 0; i < n; i++) {
        bool seen = false;
        for (size_t k = 0; k < i && !seen; k++) seen = list[k].node == list[i].node;
        count += !seen;
    }
    return count;
}

static char *title_of(struct views *v, const struct store_profile *list, size_t n)
{
    if (!n) return NULL;
    char *node = v->o.node_name ? v->o.node_name(v->o.context, list[0].node) : mem_printf("%d", list[0].node),
         *title;
    const char *s = list[0].stamp, *type = profile_type_title(list[0].type);
    unsigned n_nodes = n_nodes_of(list, n);
    char when[24];
    snprintf(when, sizeof when, "%.4s-%.2s-%.2s %.2s:%.2s:%.2s", s, s + 4, s + 6, s + 9, s + 11, s + 13);
    if (n == 1)
        title = mem_printf("%s · %s · %s", type, node, when);
    else if (n_nodes == 1)
        title = mem_printf("%s · %s · %zu profiles until %s", type, node, n, when);
    else
        title = mem_printf("%s · %u nodes · %zu profiles until %s", type, n_nodes, n, when);
    mem_free(node);
    return title;
}

/* ---- making a view ---- */

static int make(struct views *v, const struct view_request *r, struct buf *out, struct err *err)
{
    struct profile *p = NULL, *base = NULL;
    bool want_lines = r->kind == VIEW_SOURCE;
    int bad = load_all(v, r->profiles, r->n_profiles, want_lines, &p, err);
    if (!bad && r->n_base) bad = load_all(v, r->base, r->n_base, want_lines, &base, err);
    if (!bad && r->kind != VIEW_PPROF) {
        name_places(v, r->profiles, r->n_profiles, p);
        if (base) name_places(v, r->base, r->n_base, base);
    }
    if (!bad && base && (r->kind == VIEW_FLAME || r->kind == VIEW_HTML)) {
        struct profile *both[] = {p, base};
        bad = profile_make_compatible(both, 2, err);
    }
    if (!bad) {
        char *title = title_of(v, r->profiles, r->n_profiles), *base_title = title_of(v, r->base, r->n_base);
        struct buf extra = {0};
        buf_str(&extra, "\"ids\":[");
        for (size_t i = 0; i < r->n_profiles && i < 1000; i++)
            buf_printf(&extra, "%s%lld", i ? "," : "", (long long)r->profiles[i].id);
        const struct store_profile *newest = &r->profiles[0];
        buf_printf(&extra, "],\"node\":%d,\"type\":\"%s\",\"stored_ms\":%lld", newest->node,
                   profile_type_name(newest->type), (long long)newest->time_ms);
        struct flame_data_options flame = {.base = base,
                                           .title = title,
                                           .base_title = base_title,
                                           .n_processes = n_nodes_of(r->profiles, r->n_profiles),
                                           .base_n_processes = n_nodes_of(r->base, r->n_base),
                                           .sample_type = r->sample,
                                           .extra_json = buf_cstr(&extra)};
        bad = view_write(&p, base, r, &flame, v->search_path, out, err);
        buf_free(&extra);
        mem_free(title);
        mem_free(base_title);
    }
    profile_free(p);
    profile_free(base);
    return bad;
}

void view_tag(const struct view_request *r, char tag[33])
{
    EVP_MD_CTX *h = EVP_MD_CTX_new();
    unsigned char digest[EVP_MAX_MD_SIZE];
    if (!h || !EVP_DigestInit_ex(h, EVP_sha256(), NULL)) abort();
    int64_t head[] = {2 /* the version of the format */, r->kind, (int64_t)r->n_profiles, (int64_t)r->n_base,
                      (int64_t)r->n_rows};
    EVP_DigestUpdate(h, head, sizeof head);
    for (size_t i = 0; i < r->n_profiles; i++)
        EVP_DigestUpdate(h, &r->profiles[i].id, sizeof r->profiles[i].id);
    for (size_t i = 0; i < r->n_base; i++) EVP_DigestUpdate(h, &r->base[i].id, sizeof r->base[i].id);
    /* After a loss of the index an id can be used again, so the name of the file is part of the tag. */
    if (r->n_profiles) EVP_DigestUpdate(h, r->profiles[0].file, strlen(r->profiles[0].file));
    if (r->sample) EVP_DigestUpdate(h, r->sample, strlen(r->sample) + 1);
    if (r->function) EVP_DigestUpdate(h, r->function, strlen(r->function) + 1);
    EVP_DigestFinal_ex(h, digest, NULL);
    EVP_MD_CTX_free(h);
    text_hex(digest, 16, tag);
}

static void unlink_view(struct views *v, struct view *view)
{
    *(view->newer ? &view->newer->older : &v->newest) = view->older;
    *(view->older ? &view->older->newer : &v->oldest) = view->newer;
}

static void link_newest(struct views *v, struct view *view)
{
    view->newer = NULL;
    view->older = v->newest;
    *(v->newest ? &v->newest->newer : &v->oldest) = view;
    v->newest = view;
}

static struct view *find_view(struct views *v, const char *key)
{
    for (struct view *view = v->newest; view; view = view->older)
        if (!strcmp(view->key, key)) return view;
    return NULL;
}

int views_get(struct views *v, const struct view_request *r, const struct view **ret_view, struct err *err)
{
    char tag[33];
    view_tag(r, tag);
    pthread_mutex_lock(&v->lock);
    struct view *view = find_view(v, tag);
    if (view) {
        unlink_view(v, view);
        link_newest(v, view);
        view->n_users++;
        v->state.n_hits++;
    } else {
        v->state.n_misses++;
    }
    pthread_mutex_unlock(&v->lock);
    if (view) return *ret_view = view, 0;

    while (sem_wait(&v->at_work)) continue;
    struct buf out = {0};
    int bad = make(v, r, &out, err);
    if (!bad) {
        view = mem_zalloc(sizeof *view);
        *view = (struct view){.key = mem_strdup(tag), .len = out.len, .n_users = 1};
        if (out.len >= PACK_FROM_BYTES || r->kind == VIEW_PPROF) {
            struct bytes packed;
            pack_gzip_member(out.data, out.len, 1, &packed);
            view->data = packed.data;
            view->len = packed.len;
            view->is_packed = true;
        } else {
            view->data = buf_take(&out);
        }
    }
    buf_free(&out);
    sem_post(&v->at_work);
    if (bad) return bad;

    pthread_mutex_lock(&v->lock);
    /* Two threads may have missed the same view and made it twice. Both copies are correct; the one that
     * find_view does not return is evicted when it is the oldest. */
    link_newest(v, view);
    v->state.bytes += view->len;
    v->state.n_views++;
    for (struct view *old = v->oldest; old && v->state.bytes > v->o.cache_bytes;) {
        struct view *next = old->newer;
        if (!old->n_users) {
            unlink_view(v, old);
            v->state.bytes -= old->len;
            v->state.n_views--;
            free_view(old);
        }
        old = next;
    }
    pthread_mutex_unlock(&v->lock);
    *ret_view = view;
    return 0;
}

void view_done(struct views *v, const struct view *view)
{
    pthread_mutex_lock(&v->lock);
    ((struct view *)view)->n_users--;
    pthread_mutex_unlock(&v->lock);
}

int views_open(struct views *v, const void *data, size_t len, const char *name, enum view_kind kind,
               struct buf *out, struct err *err)
{
    struct profile *p = NULL;
    while (sem_wait(&v->at_work)) continue;
    int bad = decode(v, data, len, name, 0, false, &p, err);
    if (!bad) {
        if (kind != VIEW_PPROF) profile_name_places(p, v->symbols);
        struct flame_data_options flame = {.title = name};
        struct view_request r = {.kind = kind};
        bad = view_write(&p, NULL, &r, &flame, v->search_path, out, err);
    }
    profile_free(p);
    sem_post(&v->at_work);
    return bad;
}
