/* collector_follow.c - a frontend that is another procprof. It collects by itself; we fetch its profiles.
 *
 * A fetch ("turn") runs on a detached thread after a heartbeat. member.is_followed, set under the collector's
 * lock, allows one turn for each node at a time. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/compress/tar.h"
#include "base/mem.h"
#include "serve/collector/collector_int.h"
#include "serve/collector/node_list.h"
#include "serve/collector/node_request.h"

enum { MAX_LISTED = 10000, MAX_FILES_A_TURN = 100, MAX_NAMES = 1024, MAX_SAME_SECOND = 16 };
#define LIST_LIMIT_S       5
#define FILE_LIMIT_S       60
/* A capture appears in the list when it has ended, under the second in which it began. So a capture that
 * began up to this long before the newest one may still appear. */
#define LONGEST_CAPTURE_MS 3600000

/* What was fetched from a node. Only the thread of its turn uses it. There is one turn at a time, and
 * read_nodes does not free the node during a turn, so no lock is needed. */
struct followed {
    char newest[PROFILE_STAMP_LEN + 1];      /* "" before the first complete turn */
    char names[MAX_NAMES][PROFILE_NAME_MAX]; /* a ring of the last names that were fetched or refused */
    size_t n_names_ever;
    int64_t
        last_id_before; /* the largest id of the profiles that were fetched before this start of the server */
};

struct turn {
    struct collector *collector;
    struct followed *followed;
    struct cluster_node node;
};

static bool is_known(const struct followed *f, const char *file)
{
    for (size_t i = 0; i < MAX_NAMES && i < f->n_names_ever; i++)
        if (!strcmp(f->names[i], file)) return true;
    return false;
}

static void remember(struct followed *f, const char *file)
{
    snprintf(f->names[f->n_names_ever++ % MAX_NAMES], PROFILE_NAME_MAX, "%s", file);
}

/* Decodes the file before it is published and fills in what the index shows of it. */
static int check(const struct bytes *file, const struct profile_name *name, struct store_new *new,
                 char types[128], struct err *err)
{
    struct bytes inside = {0};
    struct profile *p = NULL;
    const char *format;
    int bad = 0;
    if (name->form == PROFILE_ARCHIVE) {
        bad = tar_gz_entry(file->data, file->len, ".html", &inside, err);
        bytes_free(&inside);
        if (bad) return bad;
        if (tar_gz_entry(file->data, file->len, ".pprof", &inside,
                         NULL)) { /* a page without data can be shown but not merged */
            new->samples = -1;
            return 0;
        }
    }
    const struct bytes *data = name->form == PROFILE_ARCHIVE ? &inside : file;
    bad = capture_check(data->data, data->len, "", name->type, &p, &format, err);
    if (!bad) {
        capture_sample_types(p, types, 128);
        new->samples = capture_samples(p, name->type);
        new->total = capture_total(p);
        new->duration_ms = p->duration_ns / 1000000;
        new->has_data = true;
        profile_free(p);
    }
    bytes_free(&inside);
    return bad;
}

static int fetch_one(struct collector *c, const struct cluster_node *node, const struct node_list_entry *e)
{
    struct bytes body = {0};
    struct err err = {0};
    char types[128] = "";
    struct store_new new = {.node = node->id,
                            .type = e->name.type,
                            .form = e->name.form,
                            .time_ms = profile_stamp_ms(e->name.stamp),
                            .sample_types = types};
    char *path = mem_printf("/api/proc_profile/raw?filename=%s", e->file);
    int bad = node_request(c->cluster, node->id, path, NULL, FILE_LIMIT_S, &body, NULL, &err);
    mem_free(path);
    if (!bad) bad = check(&body, &e->name, &new, types, &err);
    if (!bad) {
        new.data = body.data;
        new.len = body.len;
        bad = store_publish(c->store, &new, NULL, &err);
    }
    bytes_free(&body);
    if (bad < 0)
        server_log(LOG_WARN_, "cannot take over %s of node %d (%s): %s", e->file, node->id, node->name,
                   err.text);
    return bad;
}

static int64_t largest_id(struct store *store, int32_t node)
{
    struct store_profile *list;
    int64_t id = 0;
    size_t n = store_list(store, &(struct store_query){.nodes = &node, .n_nodes = 1}, &list, NULL);
    for (size_t i = 0; i < n; i++)
        if (list[i].id > id) id = list[i].id;
    mem_free(list);
    return id;
}

/* Whether the profile was fetched before this start of the server. Profiles that began in the same second at
 * the node have different seconds in our store, so the sizes are compared as well. */
static bool is_there(struct store *store, int32_t node, int64_t last_id_before,
                     const struct node_list_entry *e)
{
    for (int second = 0; second < MAX_SAME_SECOND; second++) {
        struct profile_name name = e->name;
        char file[PROFILE_NAME_MAX];
        struct store_profile there;
        profile_stamp(profile_stamp_ms(e->name.stamp) + second * 1000, name.stamp);
        profile_name_print(&name, file);
        if (store_find(store, node, file, &there)) return false;
        if (there.size_bytes == e->size_bytes && there.id <= last_id_before) return true;
    }
    return false;
}

/* The oldest second from which profiles are fetched. Older ones would be removed by retention at once, or
 * were fetched long ago and may have been removed since. */
static void wanted_since(struct turn *t, char stamp[PROFILE_STAMP_LEN + 1])
{
    int64_t days = cluster_setting_int(t->collector->cluster, CONF_PROC_PROFILE_FILE_RETAINED_DAYS);
    profile_stamp(clock_wall_ns() / 1000000 - days * 86400000, stamp);
    if (!t->followed->newest[0]) return;
    char recent[PROFILE_STAMP_LEN + 1];
    profile_stamp(profile_stamp_ms(t->followed->newest) - LONGEST_CAPTURE_MS, recent);
    if (strcmp(recent, stamp) > 0) memcpy(stamp, recent, sizeof recent);
}

/* Fetches new profiles, the newest first, at most MAX_FILES_A_TURN. */
static void fetch_new(struct turn *t)
{
    struct collector *c = t->collector;
    struct followed *f = t->followed;
    struct bytes body = {0};
    int32_t node = t->node.id;
    if (node_request(c->cluster, node, "/api/proc_profile/list", NULL, LIST_LIMIT_S, &body, NULL, NULL))
        return;
    struct node_list_entry *entries;
    struct err err = {0};
    size_t n_entries, n_fetched = 0, i = 0;
    if (node_list_parse(body.data, body.len, MAX_LISTED, &entries, &n_entries, &err))
        server_log(LOG_WARN_, "cannot read the list of profiles of node %d (%s): %s", node, t->node.name,
                   err.text);
    bytes_free(&body);
    char since[PROFILE_STAMP_LEN + 1];
    wanted_since(t, since);
    if (!f->n_names_ever) f->last_id_before = largest_id(c->store, node);
    for (; i < n_entries && n_fetched < MAX_FILES_A_TURN && !collector_gives_up(c, node); i++) {
        const struct node_list_entry *e = &entries[i];
        if (strcmp(e->name.stamp, since) < 0 || is_known(f, e->file)) continue;
        int bad = 0;
        if (!is_there(c->store, node, f->last_id_before, e)) {
            bad = fetch_one(c, &t->node, e);
            n_fetched++;
        }
        if (!bad || bad == ERR_INPUT)
            remember(f, e->file); /* other failures are tried again in the next turn */
    }
    if (i == n_entries && n_entries) memcpy(f->newest, entries[0].name.stamp, sizeof f->newest);
    mem_free(entries);
}

static void end_turn(struct turn *t)
{
    struct collector *c = t->collector;
    pthread_mutex_lock(&c->lock);
    struct member *m = member_of(c, t->node.id);
    if (m) m->is_followed = false;
    c->n_own_threads--;
    pthread_cond_broadcast(&c->wake);
    pthread_mutex_unlock(&c->lock);
    mem_free(t);
}

static void *follow(void *context)
{
    fetch_new(context);
    end_turn(context);
    return NULL;
}

void node_follow(struct collector *c, const struct cluster_node *node)
{
    pthread_mutex_lock(&c->lock);
    struct member *m = member_of(c, node->id);
    bool begins = m && !m->is_followed && !c->stopping;
    struct followed *followed = NULL;
    if (begins) {
        m->is_followed = true;
        if (!m->followed) m->followed = mem_zalloc(sizeof *m->followed);
        followed = m->followed;
        c->n_own_threads++;
    }
    pthread_mutex_unlock(&c->lock);
    if (!begins) return;
    struct turn *t = mem_zalloc(sizeof *t);
    *t = (struct turn){c, followed, *node};
    pthread_t thread;
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    int failed = pthread_create(&thread, &detached, follow, t);
    pthread_attr_destroy(&detached);
    if (failed) end_turn(t); /* no thread could be created; the next heartbeat tries again */
}
