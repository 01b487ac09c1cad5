/* store_load.c - reads folders into records, at the start and again for folders that other programs change.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "store/store_int.h"

struct found { /* a file with the name of a profile */
    struct profile_name name;
    int64_t size_bytes, derived_bytes;
};

static int by_name(const void *a, const void *b)
{
    const struct profile_name *x = a, *y = b; /* the first member of found */
    int order = strcmp(x->stamp, y->stamp);
    if (order) return order;
    if (x->type != y->type) return x->type < y->type ? -1 : 1;
    return (int)x->form - (int)y->form;
}

/* Removes a temporary file ".tmp-PID-N" if its process does not exist any more. A file of a live process is
 * still being written. */
static void remove_temporary(int dir_fd, const char *name)
{
    int pid = atoi(name + 5);
    if (pid == getpid() || (pid > 0 && (kill(pid, 0) == 0 || errno == EPERM))) {
        struct stat st;
        if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) || st.st_mtime > time(NULL) - 3600) return;
    }
    unlinkat(dir_fd, name, 0);
}

/* Lists all profiles of a folder, sorted by name, with the sizes of their derived files. Removes derived
 * files without a profile. */
static int look_through(const char *dir, struct found **ret_found, size_t *ret_n, struct timespec *ret_mtime,
                        struct err *err)
{
    DIR *d = opendir(dir);
    if (!d) return err_errno(err, errno, "%s", dir);
    struct stat st;
    if (!fstat(dirfd(d), &st)) *ret_mtime = st.st_mtim;
    struct found *all = NULL;
    size_t n = 0, cap = 0, out = 0;
    for (struct dirent *e; (e = readdir(d));) {
        struct found f = {0};
        if (!strncmp(e->d_name, ".tmp-", 5)) remove_temporary(dirfd(d), e->d_name);
        if (!profile_name_parse(e->d_name, &f.name)) continue;
        if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode)) continue;
        f.size_bytes = st.st_size;
        *VEC_PUSH(all, n, cap) = f;
    }
    if (n) qsort(all, n, sizeof *all, by_name);
    for (size_t i = 0; i < n; i++) {
        if (all[i].name.form != PROFILE_FLAME) {
            all[out++] = all[i];
            continue;
        }
        struct found *parent = out ? &all[out - 1] : NULL; /* PROFILE_FLAME sorts behind its parent */
        if (parent && parent->name.type == all[i].name.type &&
            !strcmp(parent->name.stamp, all[i].name.stamp)) {
            parent->derived_bytes = all[i].size_bytes;
        } else {
            char file[PROFILE_NAME_MAX];
            profile_name_print(&all[i].name, file);
            unlinkat(dirfd(d), file, 0);
        }
    }
    closedir(d);
    *ret_found = all;
    *ret_n = out;
    return 0;
}

size_t store_retain_folder(const char *dir, const struct store_limits *limits, int64_t now_ms)
{
    struct found *all = NULL;
    size_t n = 0, n_gone = 0;
    struct timespec unused;
    if (look_through(dir, &all, &n, &unused, NULL)) return 0;
    int64_t remaining = 0;
    for (size_t i = 0; i < n; i++) remaining += all[i].size_bytes + all[i].derived_bytes;
    for (size_t i = 0; i < n; i++) { /* oldest first, because the order compares stamps first */
        bool too_old =
            limits->max_age_ms >= 0 && now_ms - profile_stamp_ms(all[i].name.stamp) >= limits->max_age_ms;
        if (!too_old && (limits->max_bytes < 0 || remaining <= limits->max_bytes)) break;
        char file[PROFILE_NAME_MAX];
        struct profile_name derived = all[i].name;
        derived.form = PROFILE_FLAME;
        profile_name_print(&derived, file);
        char *beside = mem_printf("%s/%s", dir, file);
        profile_name_print(&all[i].name, file);
        char *path = mem_printf("%s/%s", dir, file);
        unlink(beside);
        if (!unlink(path)) {
            n_gone++;
            remaining -= all[i].size_bytes + all[i].derived_bytes;
        }
        mem_free(path);
        mem_free(beside);
    }
    mem_free(all);
    return n_gone;
}

static struct record record_of(const struct found *f, int32_t node)
{
    struct record r = {.node = node,
                       .type = (uint8_t)f->name.type,
                       .form = (uint8_t)f->name.form,
                       .time_ms = profile_stamp_ms(f->name.stamp),
                       .size_bytes = f->size_bytes,
                       .derived_bytes = f->derived_bytes,
                       .samples = -1,
                       .has_data = f->name.form == PROFILE_PPROF};
    memcpy(r.stamp, f->name.stamp, sizeof r.stamp);
    return r;
}

/* ---- at the start ---- */

struct row { /* of the index */
    struct profile_name name;
    int32_t node;
    int64_t id, time_ms, duration_ms, samples, total;
    uint32_t sample_types, total_type;
    bool has_data, is_found;
};

static int by_node_and_name(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    if (x->node != y->node) return x->node < y->node ? -1 : 1;
    return by_name(x, y);
}

static int read_index(struct store *s, struct row **ret_rows, size_t *ret_n, struct err *err)
{
    struct row *rows = NULL;
    size_t n = 0, cap = 0;
    sqlite3_stmt *q = db_query(&s->db, err,
                               "SELECT id, node, type, form, stamp, time_ms, duration_ms, samples, "
                               "sample_types, has_data, total, total_type FROM profiles");
    while (db_row(q)) {
        int type = sqlite3_column_int(q, 2), form = sqlite3_column_int(q, 3);
        if (type < 0 || type >= PROFILE_N_TYPES || form < 0 || form >= PROFILE_N_FORMS) continue;
        struct row *r = VEC_PUSH(rows, n, cap);
        *r = (struct row){.id = sqlite3_column_int64(q, 0),
                          .node = sqlite3_column_int(q, 1),
                          .name = {.type = (enum profile_type)type, .form = (enum profile_form)form},
                          .time_ms = sqlite3_column_int64(q, 5),
                          .duration_ms = sqlite3_column_int64(q, 6),
                          .samples = sqlite3_column_int64(q, 7),
                          .sample_types = strtab_add_cstr(&s->texts, db_text(q, 8)),
                          .has_data = sqlite3_column_int(q, 9),
                          .total = sqlite3_column_int64(q, 10),
                          .total_type = strtab_add_cstr(&s->texts, db_text(q, 11))};
        snprintf(r->name.stamp, sizeof r->name.stamp, "%s", db_text(q, 4));
    }
    int bad = db_done(&s->db, q, err);
    q = db_query(&s->db, NULL, "SELECT seq FROM sqlite_sequence WHERE name = 'profiles'");
    if (db_row(q)) s->last_id = sqlite3_column_int64(q, 0);
    db_done(&s->db, q, NULL);
    if (n) qsort(rows, n, sizeof *rows, by_node_and_name);
    *ret_rows = rows;
    *ret_n = n;
    return bad;
}

/* Adds the folders that are named after a node's id. */
static void find_folders(struct store *s)
{
    DIR *d = opendir(s->dir);
    if (!d) return;
    for (struct dirent *e; (e = readdir(d));) {
        int64_t node;
        if (!text_to_int(e->d_name, 1, INT32_MAX, &node)) continue;
        bool known = false;
        for (size_t i = 0; i < s->n_folders; i++) known |= s->folders[i].node == node;
        struct stat st;
        if (known || fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISDIR(st.st_mode)) continue;
        *VEC_PUSH(s->folders, s->n_folders, s->cap_folders) =
            (struct folder){.node = (int32_t)node, .dir = mem_printf("%s/%s", s->dir, e->d_name)};
    }
    closedir(d);
}

static int record_order(const void *a, const void *b)
{
    const struct record *x = a, *y = b;
    if (x->time_ms != y->time_ms) return x->time_ms < y->time_ms ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

int store_load(struct store *s, struct err *err)
{
    struct row *rows = NULL;
    size_t n_rows = 0;
    pthread_mutex_lock(&s->change);
    int bad = read_index(s, &rows, &n_rows, err);
    if (bad) { /* an unreadable index is emptied; it only adds details to the files */
        db_exec(&s->db, "DELETE FROM profiles", NULL);
        n_rows = 0;
    }
    find_folders(s);
    db_exec(&s->db, "BEGIN", NULL);
    for (size_t i = 0; i < s->n_folders; i++) {
        struct found *found = NULL;
        size_t n_found = 0;
        struct folder *f = &s->folders[i];
        if (look_through(f->dir, &found, &n_found, &f->seen, err))
            continue; /* a folder that does not exist any more counts as empty */
        for (size_t k = 0; k < n_found; k++) {
            struct row key = {.node = f->node, .name = found[k].name};
            struct row *row = n_rows ? bsearch(&key, rows, n_rows, sizeof *rows, by_node_and_name) : NULL;
            struct record r = record_of(&found[k], f->node);
            if (row) {
                row->is_found = true;
                r.id = row->id;
                r.time_ms = row->time_ms;
                r.duration_ms = row->duration_ms;
                r.samples = row->samples;
                r.sample_types = row->sample_types;
                r.has_data = row->has_data;
                r.total = row->total;
                r.total_type = row->total_type;
            } else {
                r.id = record_new_id(s);
                index_insert(s, &r, "", "");
            }
            *record_push(s) = r;
            s->total_bytes += r.size_bytes + r.derived_bytes;
        }
        mem_free(found);
    }
    for (size_t i = 0; i < n_rows; i++)
        if (!rows[i].is_found) index_remove(s, rows[i].id);
    if (db_exec(&s->db, "COMMIT", NULL)) db_exec(&s->db, "ROLLBACK", NULL); /* a full disk */
    if (s->n_records) qsort(s->records, s->n_records, sizeof *s->records, record_order);
    record_index(s);
    record_check(s);
    pthread_mutex_unlock(&s->change);
    mem_free(rows);
    return 0;
}

/* ---- later, for folders that other programs change ---- */

struct known {
    struct profile_name name;
    int64_t id;
    bool is_found;
};

static void refresh_folder(struct store *s, int32_t node, const char *dir, struct timespec *seen)
{
    struct found *found = NULL;
    struct known *known = NULL;
    struct store_profile *added = NULL, *removed = NULL;
    size_t n_found = 0, n_known = 0, cap_known = 0, n_added = 0, cap_added = 0, n_removed = 0,
           cap_removed = 0;
    pthread_mutex_lock(&s->change);
    if (look_through(dir, &found, &n_found, seen, NULL)) n_found = 0;
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->n_records; i++) {
        const struct record *r = &s->records[i];
        if (r->node != node) continue;
        struct known *k = VEC_PUSH(known, n_known, cap_known);
        *k = (struct known){.id = r->id,
                            .name = {.type = (enum profile_type)r->type, .form = (enum profile_form)r->form}};
        memcpy(k->name.stamp, r->stamp, sizeof k->name.stamp);
    }
    pthread_mutex_unlock(&s->lock);
    if (n_known) qsort(known, n_known, sizeof *known, by_name);
    for (size_t i = 0; i < n_found; i++) {
        struct known *k = n_known ? bsearch(&found[i].name, known, n_known, sizeof *known, by_name) : NULL;
        if (k) {
            k->is_found = true;
            continue;
        }
        struct record r = record_of(&found[i], node);
        pthread_mutex_lock(&s->lock);
        r.id = record_new_id(s);
        record_insert(s, &r);
        record_copy(s, &r, VEC_PUSH(added, n_added, cap_added));
        pthread_mutex_unlock(&s->lock);
        index_insert(s, &r, "", "");
    }
    for (size_t i = 0; i < n_known; i++) {
        if (known[i].is_found) continue;
        struct store_profile gone;
        pthread_mutex_lock(&s->lock);
        bool was_there = record_remove(s, known[i].id, &gone);
        pthread_mutex_unlock(&s->lock);
        index_remove(s, known[i].id);
        if (was_there) *VEC_PUSH(removed, n_removed, cap_removed) = gone;
    }
    pthread_mutex_unlock(&s->change);
    for (size_t i = 0; i < n_added; i++) store_tell(s, STORE_ADDED, &added[i]);
    for (size_t i = 0; i < n_removed; i++) store_tell(s, STORE_REMOVED, &removed[i]);
    mem_free(found);
    mem_free(known);
    mem_free(added);
    mem_free(removed);
}

void store_refresh(struct store *s)
{
    for (size_t i = 0;; i++) {
        pthread_mutex_lock(&s->lock);
        bool more = i < s->n_folders, is_shared = more && s->folders[i].is_shared;
        struct folder f = more ? s->folders[i] : (struct folder){0};
        char *dir = more ? mem_strdup(f.dir) : NULL;
        pthread_mutex_unlock(&s->lock);
        if (!more) return;
        struct stat st;
        bool there = is_shared && !stat(dir, &st);
        /* Two changes within one tick of the clock leave the same mtime, so that the second may be missed. A
         * folder that changed in the last two seconds is therefore read again. */
        if (there && (st.st_mtim.tv_sec != f.seen.tv_sec || st.st_mtim.tv_nsec != f.seen.tv_nsec ||
                      time(NULL) - st.st_mtim.tv_sec < 2)) {
            refresh_folder(s, f.node, dir, &f.seen);
            pthread_mutex_lock(&s->lock);
            if (i < s->n_folders) s->folders[i].seen = f.seen;
            pthread_mutex_unlock(&s->lock);
        }
        mem_free(dir);
    }
}
