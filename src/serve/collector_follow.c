/* collector_follow.c - a frontend that is another procprof: it collects by itself, we fetch what it has. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "serve/archive.h"
#include "serve/collector_int.h"

enum { MAX_FILES_A_TURN = 100 };
#define LIST_LIMIT_S 5
#define FILE_LIMIT_S 60

struct turn {
    struct collector *collector;
    struct cluster_node node;
};

bool node_is_followed(const struct cluster_node *n)
{
    return n->role == CLUSTER_FE && n->port && !n->is_self;
}

/* Decoded before it is ours, as everything. */
static int check(const struct bytes *file, const struct profile_name *name, struct store_new *new,
                 char types[128], struct err *err)
{
    struct bytes inside = {0};
    struct profile *p = NULL;
    const char *format;
    int bad = 0;
    if (name->form == PROFILE_ARCHIVE) {
        bad = archive_entry(file->data, file->len, ".html", &inside, err);
        bytes_free(&inside);
        if (bad) return bad;
        if (archive_entry(file->data, file->len, ".pprof", &inside,
                          NULL)) { /* only a page: shown, not merged */
            new->samples = -1;
            return 0;
        }
    }
    const struct bytes *data = name->form == PROFILE_ARCHIVE ? &inside : file;
    bad = capture_check(data->data, data->len, "", name->type, &p, &format, err);
    if (!bad) {
        capture_sample_types(p, types, 128);
        new->samples = capture_samples(p, name->type);
        new->duration_ms = p->duration_ns / 1000000;
        new->has_data = true;
        profile_free(p);
    }
    bytes_free(&inside);
    return bad;
}

static int fetch_one(struct collector *c, const struct cluster_node *node, const char *file,
                     const struct profile_name *name)
{
    struct bytes body = {0};
    struct err err = {0};
    char types[128] = "";
    struct store_new new = {.node = node->id,
                            .type = name->type,
                            .form = name->form,
                            .time_ms = profile_stamp_ms(name->stamp),
                            .sample_types = types};
    char *path = mem_printf("/api/proc_profile/raw?filename=%s", file);
    int bad = cluster_node_request(c->cluster, node->id, path, NULL, FILE_LIMIT_S, &body, NULL, &err);
    mem_free(path);
    if (!bad) bad = check(&body, name, &new, types, &err);
    if (!bad) {
        new.data = body.data;
        new.len = body.len;
        bad = store_publish(c->store, &new, NULL, &err);
    }
    bytes_free(&body);
    if (bad < 0)
        server_log(LOG_WARN_, "%s of node %d (%s) was not taken over: %s", file, node->id, node->name,
                   err.text);
    return bad;
}

/* The newest first; what was seen once is not asked for again, even when retention has removed it since. */
static void fetch_new(struct turn *t)
{
    struct collector *c = t->collector;
    struct bytes body = {0};
    int32_t node = t->node.id;
    if (cluster_node_request(c->cluster, node, "/api/proc_profile/list", NULL, LIST_LIMIT_S, &body, NULL,
                             NULL))
        return;
    char *text = mem_strndup((const char *)body.data, body.len), seen[PROFILE_STAMP_LEN + 1],
         newest[PROFILE_STAMP_LEN + 1] = "";
    bytes_free(&body);
    pthread_mutex_lock(&c->lock);
    struct member *m = member_of(c, node);
    memcpy(seen, m ? m->followed_to : newest, sizeof seen);
    pthread_mutex_unlock(&c->lock);
    if (!seen[0]) { /* after a start: what is younger than anything we would keep */
        int64_t days = cluster_setting_int(c->cluster, CONF_PROC_PROFILE_FILE_RETAINED_DAYS);
        profile_stamp(clock_wall_ns() / 1000000 - days * 86400000, seen);
    }
    size_t n = 0;
    for (char *at = text; (at = strstr(at, "\"filename\"")) && n < MAX_FILES_A_TURN;) {
        struct profile_name name;
        struct store_profile there;
        at += strlen("\"filename\"");
        char *open = strchr(at, '"'), *close = open ? strchr(open + 1, '"') : NULL;
        if (!close) break;
        *close = 0;
        at = close + 1;
        if (!profile_name_parse(open + 1, &name) || name.form == PROFILE_FLAME) continue;
        if (strcmp(name.stamp, newest) > 0) memcpy(newest, name.stamp, sizeof newest);
        if (strcmp(name.stamp, seen) < 0 || !store_find(c->store, node, open + 1, &there)) continue;
        if (collector_gives_up(c, node)) break;
        fetch_one(c, &t->node, open + 1, &name);
        n++;
    }
    mem_free(text);
    pthread_mutex_lock(&c->lock);
    if ((m = member_of(c, node)) && newest[0]) memcpy(m->followed_to, newest, sizeof newest);
    pthread_mutex_unlock(&c->lock);
}

static void *follow(void *context)
{
    struct turn *t = context;
    struct collector *c = t->collector;
    fetch_new(t);
    pthread_mutex_lock(&c->lock);
    struct member *m = member_of(c, t->node.id);
    if (m) m->is_followed = false;
    c->n_own_threads--;
    pthread_cond_broadcast(&c->wake);
    pthread_mutex_unlock(&c->lock);
    mem_free(t);
    return NULL;
}

void node_follow(struct collector *c, const struct cluster_node *node)
{
    pthread_mutex_lock(&c->lock);
    struct member *m = member_of(c, node->id);
    bool begins = m && !m->is_followed && !c->stopping;
    if (begins) {
        m->is_followed = true;
        c->n_own_threads++;
    }
    pthread_mutex_unlock(&c->lock);
    if (!begins) return;
    struct turn *t = mem_zalloc(sizeof *t);
    *t = (struct turn){c, *node};
    pthread_t thread;
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    if (pthread_create(&thread, &detached, follow, t)) abort();
    pthread_attr_destroy(&detached);
}
