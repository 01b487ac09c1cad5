/* node_capture.c - see node_capture.h. */
#include "serve/collector/node_capture.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/compress/pack.h"
#include "base/compress/unpack.h"
#include "base/mem.h"
#include "base/text.h"
#include "format/format.h"
#include "serve/collector/node_request.h"
#include "serve/collector/remote_symbols.h"

enum { MAX_UNPACKED_BYTES = 1 << 30 };
#define SYMBOL_LIMIT_S 20

/* First the path of brpc and libprocprof, then those of Go and Databend. */
static const char *const paths[PROFILE_N_TYPES][4] = {
    [PROFILE_CPU] = {"/pprof/profile?seconds=%g", "/debug/pprof/profile?seconds=%g"},
    [PROFILE_MEM] = {"/pprof/allocs?seconds=%g", "/debug/pprof/allocs?seconds=%g"},
    [PROFILE_HEAP] = {"/pprof/heap", "/debug/pprof/heap", "/debug/mem/pprof/profile?seconds=0"},
    [PROFILE_CONTENTION] = {"/pprof/contention?seconds=%g", "/debug/pprof/mutex?seconds=%g"},
    [PROFILE_WALL] = {"/pprof/wall?seconds=%g", "/debug/fgprof?seconds=%g"},
};

char *capture_path(enum profile_type type, size_t number, double seconds)
{
    if (number >= 4 || !paths[type][number]) return NULL;
    const char *path = paths[type][number], *mark = strstr(path, "%g");
    return mark ? mem_printf("%.*s%g", (int)(mark - path), path, seconds) : mem_strdup(path);
}

char *capture_control_path(enum profile_type type, const char *verb)
{
    const char *path = paths[type][0];
    return mem_printf("%.*s/%s", (int)strcspn(path, "?"), path, verb);
}

/* ---- checking ---- */

static const char *const sample_types[PROFILE_N_TYPES] = {
    [PROFILE_CPU] = "cpu samples",
    [PROFILE_MEM] = "alloc_space alloc_objects alloc allocations",
    [PROFILE_HEAP] = "inuse_space inuse_objects space objects live",
    [PROFILE_CONTENTION] = "contentions delay lock contention",
    [PROFILE_WALL] = "wall time samples",
};

static bool has_word(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = list; (p = strstr(p, word)); p++)
        if ((p == list || p[-1] == ' ') && (!p[n] || p[n] == ' ')) return true;
    return false;
}

static bool is_of_type(const struct profile *p, enum profile_type type)
{
    for (size_t i = 0; i < p->n_sample_types; i++)
        if (has_word(sample_types[type], profile_text(p, p->sample_types[i].type))) return true;
    return false;
}

static bool looks_like_page(const void *data, size_t len, const char *content_type)
{
    char head[32];
    text_first_line(data, len, head, sizeof head);
    return !strncasecmp(content_type, "text/html", 9) || !strncasecmp(head, "<!doctype", 9) ||
           !strncasecmp(head, "<html", 5);
}

static const char *const nothing[PROFILE_N_TYPES] = {
    [PROFILE_CPU] = "no samples: the process used no CPU in that time",
    [PROFILE_MEM] = "no samples: nothing was allocated in that time",
    [PROFILE_HEAP] =
        "no memory in use was recorded: heap profiling is off or was just switched on; switch it on "
        "with enable_prof() from SQL or with the setting be_heap_enable",
    [PROFILE_CONTENTION] = "no samples: no thread waited for a lock in that time",
    [PROFILE_WALL] = "no samples",
};

static bool is_all_zero(const struct profile *p)
{
    size_t index = profile_default_sample_index(p);
    for (size_t i = 0; i < p->n_samples; i++)
        if (profile_sample_values(p, i)[index]) return false;
    return true;
}

int capture_check(const void *data, size_t len, const char *content_type, enum profile_type type,
                  struct profile **ret_profile, const char **ret_format, struct err *err)
{
    char line[120];
    if (!len) return err_set(err, ERR_INPUT, "the answer was empty");
    if (looks_like_page(data, len, content_type)) {
        text_first_line(data, len, line, sizeof line);
        return err_set(err, ERR_INPUT, "the answer is a web page, not a profile: %s", line);
    }
    struct format_options reading = {.max_bytes = MAX_UNPACKED_BYTES, .ret_format = ret_format};
    struct profile *p = NULL;
    struct err why = {0};
    int bad = format_read(data, len, "answer", &reading, &p, &why);
    if (bad) {
        bool is_text = !unpack_is_packed(data, len) && isprint(*(const unsigned char *)data);
        text_first_line(data, len, line, sizeof line);
        return is_text ? err_set(err, ERR_INPUT, "not a profile: %s", line)
                       : err_set(err, ERR_INPUT, "not a profile: %s", why.text);
    }
    if (p->n_samples && !is_of_type(p, type)) {
        bad = err_set(err, ERR_INPUT, "not a %s profile: its first sample type is '%.60s'",
                      profile_type_name(type),
                      p->n_sample_types ? profile_text(p, p->sample_types[0].type) : "");
    } else if (!p->n_samples || (type == PROFILE_HEAP && is_all_zero(p))) {
        /* A heap profile without any byte in use would look like an empty heap. */
        err_set(err, ERR_NOT_FOUND, "%s", nothing[type]);
        bad = CAPTURE_EMPTY;
    }
    if (bad)
        profile_free(p);
    else
        *ret_profile = p;
    return bad;
}

/* ---- publishing ---- */

int64_t capture_samples(const struct profile *p, enum profile_type type)
{
    if (type == PROFILE_HEAP || type == PROFILE_MEM) return (int64_t)p->n_samples;
    for (size_t t = 0; t < p->n_sample_types; t++)
        if (!strcmp(profile_text(p, p->sample_types[t].unit), "count")) return profile_total(p, t);
    return (int64_t)p->n_samples;
}

struct store_total capture_total(const struct profile *p)
{
    struct store_total total = {0};
    if (!p->n_sample_types) return total;
    size_t index = profile_default_sample_index(p);
    const struct value_type *type = &p->sample_types[index];
    int n = snprintf(total.type, sizeof total.type, "%s/%s", profile_text(p, type->type),
                     profile_text(p, type->unit));
    if (n < 0 || (size_t)n >= sizeof total.type)
        return (struct store_total){0}; /* longer than any unit we know */
    for (size_t i = 0; i < p->n_samples; i++)
        if (__builtin_add_overflow(total.value, profile_sample_values(p, i)[index], &total.value))
            return (struct store_total){0};
    return total;
}

void capture_sample_types(const struct profile *p, char *text, size_t size)
{
    size_t n = 0;
    text[0] = 0;
    for (size_t t = 0; t < p->n_sample_types; t++) {
        int more =
            snprintf(text + n, size - n, "%s%s/%s", t ? "," : "", profile_text(p, p->sample_types[t].type),
                     profile_text(p, p->sample_types[t].unit));
        if (more < 0 || (size_t)more >= size - n) {
            text[n] = 0; /* leaves out a type that does not fit completely */
            return;
        }
        n += (size_t)more;
    }
}

static bool has_names(const struct profile *p)
{
    for (size_t i = 0; i < p->n_locations; i++)
        if (p->locations[i].n_lines) return true;
    return p->n_locations == 0;
}

void capture_pack(struct profile *p, const char *format, const struct bytes *body, enum profile_type type,
                  int64_t begin_ms, double seconds, remote_post *post, void *context, struct bytes *ret_bytes)
{
    if (strcmp(format, format_proto.name) || !has_names(p)) {
        if (!has_names(p)) remote_symbols(post, context, p);
        if (!p->time_ns) p->time_ns = begin_ms * 1000000;
        if (!p->duration_ns && type != PROFILE_HEAP) p->duration_ns = (int64_t)(seconds * 1e9);
        struct buf proto = {0};
        format_write_proto(p, &proto);
        pack_gzip(proto.data, proto.len, 6, ret_bytes);
        buf_free(&proto);
    } else if (!unpack_is_packed(body->data, body->len)) {
        pack_gzip(body->data, body->len, 6, ret_bytes);
    }
}

struct node_post {
    struct cluster *cluster;
    int32_t node;
};

static int post_to_node(void *context, const char *path, const char *body, struct bytes *ret_reply)
{
    struct node_post *n = context;
    return node_request(n->cluster, n->node, path, body, SYMBOL_LIMIT_S, ret_reply, NULL, NULL);
}

int capture_publish(struct cluster *cluster, struct store *store, const struct capture_facts *f,
                    const struct bytes *body, const char *content_type, struct store_profile *ret_profile,
                    struct err *err)
{
    struct profile *p = NULL;
    const char *format = "";
    int bad = capture_check(body->data, body->len, content_type, f->type, &p, &format, err);
    if (bad) return bad;
    struct bytes packed = {0};
    struct node_post node = {cluster, f->node.id};
    capture_pack(p, format, body, f->type, f->begin_ms, f->seconds, post_to_node, &node, &packed);
    char types[128];
    capture_sample_types(p, types, sizeof types);
    struct store_new new = {.node = f->node.id,
                            .type = f->type,
                            .form = PROFILE_PPROF,
                            .time_ms = f->begin_ms,
                            .duration_ms = p->duration_ns > 0        ? p->duration_ns / 1000000
                                           : f->type == PROFILE_HEAP ? 0
                                                                     : (int64_t)(f->seconds * 1000),
                            .samples = capture_samples(p, f->type),
                            .sample_types = types,
                            .total = capture_total(p),
                            .has_data = true,
                            .data = packed.data ? packed.data : body->data,
                            .len = packed.data ? packed.len : body->len};
    bad = store_publish(store, &new, ret_profile, err);
    bytes_free(&packed);
    profile_free(p);
    return bad;
}
