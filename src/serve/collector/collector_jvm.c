/* collector_jvm.c - captures of frontends that are a JVM on this host.
 *
 * One session samples all types that are due. It runs on a detached thread, which owns its captures until
 * capture_ended. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compress/tar.h"
#include "base/compress/unpack.h"
#include "base/mem.h"
#include "collect/jvm_collect.h"
#include "collect/jvm_find.h"
#include "format/format.h"
#include "profile/filter.h"
#include "report/flame/flame_html.h"
#include "serve/collector/collector_int.h"
#include "serve/collector/jvm_settings.h"

struct session {
    struct collector *collector;
    struct cluster_node node;
    struct capture *captures[PROFILE_N_TYPES];
    size_t n_captures;
};

/* Writes what jvm_find understands: a process id or a part of the command line. */
static void target_of(const struct cluster_node *n, char *text, size_t size)
{
    if (n->jvm_pid)
        snprintf(text, size, "%d", n->jvm_pid);
    else
        snprintf(text, size, "%s", n->jvm_match);
}

static int find_jvm(const struct cluster_node *n, struct jvm_proc *ret_proc, struct err *err)
{
    char target[160];
    target_of(n, target, sizeof target);
    if (!*target) return err_set(err, ERR_NOT_FOUND, "no JVM is named (setting fe_jvm)");
    return jvm_find(target, ret_proc, err);
}

bool jvm_is_alive(const struct cluster_node *n, char *error, size_t n_error)
{
    struct jvm_proc proc;
    struct err err = {0};
    if (!find_jvm(n, &proc, &err)) return true;
    snprintf(error, n_error, "%.*s", (int)n_error - 1, err.text);
    return false;
}

/* ---- one session, several types ---- */

static const struct {
    unsigned event;
    const char *columns[3]; /* the first one in the profile is the one to show */
} kinds[PROFILE_N_TYPES] = {
    [PROFILE_CPU] = {JVM_EVENT_CPU, {"cpu", "samples"}},
    [PROFILE_MEM] = {JVM_EVENT_ALLOC, {"alloc_space", "alloc_objects"}},
    [PROFILE_HEAP] = {JVM_EVENT_ALLOC | JVM_EVENT_LIVE, {"inuse_space", "inuse_objects"}},
    [PROFILE_CONTENTION] = {JVM_EVENT_LOCK, {"delay", "contentions"}},
    [PROFILE_WALL] = {JVM_EVENT_WALL, {"wall", "wall_samples", "samples"}},
};

static bool is_column_of(enum profile_type type, const char *name)
{
    for (int i = 0; i < 3 && kinds[type].columns[i]; i++)
        if (!strcmp(kinds[type].columns[i], name)) return true;
    return false;
}

/* Keeps the columns of that type, and the samples with a value in them. A session in which nothing of that
 * type happened has no such columns; then no samples are kept. */
static void keep_type(struct profile *p, enum profile_type type)
{
    size_t n = p->n_sample_types, n_kept = 0;
    size_t *kept = mem_array(n + 1, sizeof *kept);
    double *ones = mem_array(n + 1, sizeof *ones);
    for (size_t t = 0; t < n; t++)
        if (is_column_of(type, profile_text(p, p->sample_types[t].type))) kept[n_kept++] = t;
    if (!n_kept) {
        p->n_samples = 0;
    } else {
        for (size_t s = 0; s < p->n_samples; s++)
            for (size_t k = 0; k < n_kept; k++)
                p->sample_values[s * n_kept + k] = p->sample_values[s * n + kept[k]];
        for (size_t k = 0; k < n_kept; k++) p->sample_types[k] = p->sample_types[kept[k]];
        p->n_sample_types = n_kept;
        for (size_t k = 0; k < n_kept; k++) ones[k] = 1;
        profile_scale_each(p, ones); /* drops samples that are all zero */
        p->default_sample_type = 0;
        for (int i = 0; i < 3 && kinds[type].columns[i] && !p->default_sample_type; i++)
            for (size_t k = 0; k < n_kept; k++)
                if (!strcmp(kinds[type].columns[i], profile_text(p, p->sample_types[k].type)))
                    p->default_sample_type = p->sample_types[k].type;
    }
    /* A period belongs to one column. The period of a removed column would keep profiles of this type from
     * being merged. */
    if (!is_column_of(type, profile_text(p, p->period_type.type))) {
        p->period_type = (struct value_type){0};
        p->has_period_type = false;
        p->period = 0;
    }
    mem_free(kept);
    mem_free(ones);
}

/* Publishes an archive with the page, as StarRocks stores it, and the profile, for merging and comparing. */
static int publish(struct store *store, const struct capture_facts *f, const struct jvm_collected *got,
                   struct store_profile *ret_profile, struct err *err)
{
    struct profile *p = profile_copy(got->profile);
    keep_type(p, f->type);
    if (!p->n_samples) {
        profile_free(p);
        err_set(err, ERR_NOT_FOUND, "no samples of this type in that time%s%.200s", *got->note ? ": " : "",
                got->note);
        return CAPTURE_EMPTY;
    }
    char stamp[PROFILE_STAMP_LEN + 1], page_name[80], data_name[80], title[200], types[128];
    int64_t begin_ms = got->start_ns / 1000000;
    profile_stamp(begin_ms, stamp);
    snprintf(page_name, sizeof page_name, "%s-profile-%s.html", profile_type_name(f->type), stamp);
    snprintf(data_name, sizeof data_name, "%s-profile-%s.pprof", profile_type_name(f->type), stamp);
    snprintf(title, sizeof title, "%s · %s · %s", profile_type_title(f->type), f->node.name, stamp);
    struct flame_html_options page = {.data = {.title = title}};
    struct buf html = {0}, proto = {0};
    int bad = flame_html_write(p, &page, &html, err);
    if (!bad) {
        struct bytes packed = {0};
        format_write_proto(p, &proto);
        capture_sample_types(p, types, sizeof types);
        struct tar_file files[] = {{page_name, html.data, html.len}, {data_name, proto.data, proto.len}};
        tar_gz_make(files, 2, begin_ms / 1000, &packed);
        struct store_new new = {.node = f->node.id,
                                .type = f->type,
                                .form = PROFILE_ARCHIVE,
                                .time_ms = begin_ms,
                                .duration_ms = p->duration_ns > 0 ? p->duration_ns / 1000000
                                                                  : (int64_t)(f->seconds * 1000),
                                .samples = capture_samples(p, f->type),
                                .sample_types = types,
                                .total = capture_total(p),
                                .has_data = true,
                                .data = packed.data,
                                .len = packed.len};
        bad = store_publish(store, &new, ret_profile, err);
        bytes_free(&packed);
    }
    buf_free(&html);
    buf_free(&proto);
    profile_free(p);
    return bad;
}

static bool is_cancelled(void *context)
{
    struct session *s = context;
    return collector_gives_up(s->collector, s->node.id);
}

static void *run_session(void *context)
{
    struct session *s = context;
    struct collector *c = s->collector;
    struct jvm_proc proc;
    struct err err = {0};
    struct jvm_collected got = {0};
    struct jvm_collect_options o = {.is_cancelled = is_cancelled, .context = s};
    for (size_t i = 0; i < s->n_captures; i++) {
        o.events |= kinds[s->captures[i]->facts.type].event;
        o.duration_s =
            s->captures[i]->facts.seconds > o.duration_s ? s->captures[i]->facts.seconds : o.duration_s;
    }
    if (!(o.duration_s > 0))
        o.duration_s = 1; /* only the heap is due: a short session that reports live objects */
    char *library;
    int bad = jvm_settings_read(c->cluster, s->node.id, &o, &library, &err);
    if (!bad) bad = find_jvm(&s->node, &proc, &err);
    if (!bad) bad = jvm_collect(&proc, &o, &got, &err);
    if (bad == ERR_TIMEOUT && is_cancelled(s))
        bad = ERR_BUSY; /* the session ended early on request; the JVM is well */
    if (got.jvm_crashed) collector_jvm_crashed(c, &s->node, got.note);
    for (size_t i = 0; i < s->n_captures; i++) {
        struct store_profile p;
        struct err why = err;
        int code = bad ? bad : publish(c->store, &s->captures[i]->facts, &got, &p, &why);
        char text[240];
        snprintf(text, sizeof text, "%.239s", got.jvm_crashed ? got.note : why.text);
        capture_ended(s->captures[i], code, code ? NULL : &p, text);
    }
    profile_free(got.profile);
    mem_free(library);
    mem_free(s);
    pthread_mutex_lock(&c->lock);
    c->n_own_threads--;
    pthread_cond_broadcast(&c->wake);
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

void capture_jvm_begin(struct capture **captures, size_t n_captures)
{
    struct collector *c = captures[0]->collector;
    struct session *s = mem_zalloc(sizeof *s);
    s->collector = c;
    s->node = captures[0]->facts.node;
    s->n_captures = n_captures;
    memcpy(s->captures, captures, n_captures * sizeof *captures);
    pthread_mutex_lock(&c->lock);
    c->n_own_threads++;
    pthread_mutex_unlock(&c->lock);
    pthread_t thread;
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    int failed = pthread_create(&thread, &detached, run_session, s);
    pthread_attr_destroy(&detached);
    if (!failed) return;
    pthread_mutex_lock(&c->lock);
    c->n_own_threads--;
    pthread_mutex_unlock(&c->lock);
    for (size_t i = 0; i < n_captures; i++)
        capture_ended(s->captures[i], ERR_IO, NULL, "the server cannot create another thread");
    mem_free(s);
}
