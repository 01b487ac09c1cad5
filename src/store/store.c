/* store.c - records, publishing, looking. See store.h. */
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/idmap.h"
#include "base/lock_rank.h"
#include "base/mem.h"
#include "store/store_int.h"

enum { MAX_STORED_BYTES = 1 << 30 };

static const char schema[] = "CREATE TABLE IF NOT EXISTS profiles (id INTEGER PRIMARY KEY AUTOINCREMENT, "
                             "node INTEGER NOT NULL, type INTEGER NOT NULL,"
                             " form INTEGER NOT NULL, stamp TEXT NOT NULL, time_ms INTEGER NOT NULL, "
                             "duration_ms INTEGER NOT NULL, samples INTEGER NOT NULL,"
                             " sample_types TEXT NOT NULL, has_data INTEGER NOT NULL, "
                             "total INTEGER NOT NULL DEFAULT 0, total_type TEXT NOT NULL DEFAULT '');";
/* Columns that an index of an older version lacks. SQLite refuses to add a column that exists, which does no
 * harm. */
static const char *const added_columns[] = {
    "ALTER TABLE profiles ADD COLUMN total INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE profiles ADD COLUMN total_type TEXT NOT NULL DEFAULT ''"};

static int64_t machine_now_ms(void)
{
    return clock_wall_ns() / 1000000;
}

/* ---- records ----
 *
 * The records are an array sorted by time. New records nearly always come last, and the oldest ones are
 * nearly always removed first. */

struct record *record_push(struct store *s)
{
    size_t before = (size_t)(s->records - s->room);
    if (before + s->n_records == s->cap_room) {
        if (before >
            s->cap_room / 2) { /* as many as went since the last time are moved: nothing beside them */
            memmove(s->room, s->records, s->n_records * sizeof *s->records);
            before = 0;
        } else {
            s->room = mem_grow(s->room, &s->cap_room, s->cap_room + 1, sizeof *s->room);
        }
        s->records = s->room + before;
    }
    return &s->records[s->n_records++];
}

size_t record_place(const struct store *s, int64_t time_ms, int64_t id)
{
    size_t low = 0, high = s->n_records;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct record *r = &s->records[middle];
        if (r->time_ms < time_ms || (r->time_ms == time_ms && r->id < id))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int by_id(const void *a, const void *b)
{
    const struct id_place *x = a, *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

void record_index(struct store *s)
{
    s->n_ids = 0;
    for (size_t i = 0; i < s->n_records; i++)
        *VEC_PUSH(s->ids, s->n_ids, s->cap_ids) =
            (struct id_place){.id = s->records[i].id, .time_ms = s->records[i].time_ms};
    if (s->n_ids) qsort(s->ids, s->n_ids, sizeof *s->ids, by_id);
}

void record_insert(struct store *s, const struct record *r)
{
    size_t at = record_place(s, r->time_ms, r->id);
    (void)record_push(s);
    memmove(&s->records[at + 1], &s->records[at], (s->n_records - 1 - at) * sizeof *r);
    s->records[at] = *r;
    s->total_bytes += r->size_bytes + r->derived_bytes;
    if (s->n_ids > 1000 && s->n_ids > 2 * s->n_records)
        record_index(s);
    else
        *VEC_PUSH(s->ids, s->n_ids, s->cap_ids) = (struct id_place){.id = r->id, .time_ms = r->time_ms};
    record_check(s);
}

struct record *record_by_id(struct store *s, int64_t id)
{
    struct id_place key = {.id = id};
    struct id_place *found = s->n_ids ? bsearch(&key, s->ids, s->n_ids, sizeof *s->ids, by_id) : NULL;
    if (!found) return NULL;
    size_t at = record_place(s, found->time_ms, id);
    return at < s->n_records && s->records[at].id == id ? &s->records[at] : NULL;
}

void record_check(struct store *s)
{
    enum { MAX_CHECKED = 2000 }; /* records; checking a larger store would take too much time */
    if (!ASSERT_ON || s->n_records > MAX_CHECKED) return;
    int64_t sum_bytes = 0;
    ASSERT(s->records >= s->room && (size_t)(s->records - s->room) + s->n_records <= s->cap_room);
    for (size_t i = 0; i < s->n_records; i++) {
        const struct record *r = &s->records[i];
        ASSERT(r->id > 0 && r->id <= s->last_id);
        ASSERT(record_by_id(s, r->id) == r);
        ASSERT(r->size_bytes >= 0 && r->derived_bytes >= 0);
        ASSERT(r->sample_types < s->texts.n_items || !r->sample_types);
        ASSERT(r->total_type < s->texts.n_items || !r->total_type);
        sum_bytes += r->size_bytes + r->derived_bytes;
    }
    ASSERT(sum_bytes == s->total_bytes);
}

bool record_remove(struct store *s, int64_t id, struct store_profile *ret_removed)
{
    struct record *r = record_by_id(s, id);
    if (!r) return false;
    record_copy(s, r, ret_removed);
    s->total_bytes -= r->size_bytes + r->derived_bytes;
    memmove(r, r + 1, (size_t)(s->records + s->n_records - (r + 1)) * sizeof *r);
    s->n_records--;
    record_check(s);
    return true;
}

int64_t record_new_id(struct store *s)
{
    return ++s->last_id;
}

static void total_copy(struct store *s, const struct record *r, struct store_total *out)
{
    out->value = r->total;
    snprintf(out->type, sizeof out->type, "%s", strtab_get(&s->texts, r->total_type).s);
}

void record_copy(struct store *s, const struct record *r, struct store_profile *out)
{
    *out = (struct store_profile){.id = r->id,
                                  .node = r->node,
                                  .type = (enum profile_type)r->type,
                                  .form = (enum profile_form)r->form,
                                  .time_ms = r->time_ms,
                                  .duration_ms = r->duration_ms,
                                  .size_bytes = r->size_bytes,
                                  .samples = r->samples,
                                  .has_data = r->has_data};
    memcpy(out->stamp, r->stamp, sizeof out->stamp);
    struct profile_name name = {.type = out->type, .form = out->form};
    memcpy(name.stamp, r->stamp, sizeof name.stamp);
    profile_name_print(&name, out->file);
    snprintf(out->sample_types, sizeof out->sample_types, "%s", strtab_get(&s->texts, r->sample_types).s);
    total_copy(s, r, &out->total);
}

/* ---- the index ----
 *
 * Failures of the index are ignored, because the files decide which profiles exist. */

void index_insert(struct store *s, const struct record *r, const char *sample_types, const char *total_type)
{
    pthread_mutex_lock(&s->db_lock);
    db_run(&s->db, NULL, "INSERT OR REPLACE INTO profiles VALUES (?,?,?,?,?,?,?,?,?,?,?,?)", "iiiitiiitiit",
           r->id, (int64_t)r->node, (int64_t)r->type, (int64_t)r->form, r->stamp, r->time_ms, r->duration_ms,
           r->samples, sample_types, (int64_t)r->has_data, r->total, total_type);
    pthread_mutex_unlock(&s->db_lock);
}

void index_remove(struct store *s, int64_t id)
{
    pthread_mutex_lock(&s->db_lock);
    db_run(&s->db, NULL, "DELETE FROM profiles WHERE id = ?", "i", id);
    pthread_mutex_unlock(&s->db_lock);
}

/* ---- opening ---- */

int store_open(const struct store_options *o, struct store **ret_store, struct err *err)
{
    struct store *s = mem_zalloc(sizeof *s);
    lock_rank_init(&s->change, LOCK_STORE_CHANGE, NULL);
    lock_rank_init(&s->lock, LOCK_STORE_RECORDS, NULL);
    lock_rank_init(&s->db_lock, LOCK_STORE_INDEX, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&s->retention_wake, &monotonic);
    s->dir = mem_strdup(o->dir);
    s->now_ms = o->now_ms ? o->now_ms : machine_now_ms;
    s->durable = o->durable;
    s->lock_fd = -1;
    const char *index_dir = o->index_dir ? o->index_dir : o->dir;
    char *lock_path = mem_printf("%s/index.lock", index_dir), *db_path = mem_printf("%s/index.db", index_dir);
    int bad = file_make_dirs(index_dir, 0700, err);
    if (!bad) {
        s->lock_fd = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (s->lock_fd < 0)
            bad = err_errno(err, errno, "%s", lock_path);
        else if (flock(s->lock_fd, LOCK_EX | LOCK_NB))
            bad = err_set(err, ERR_BUSY, "%s: another procprof serves this directory already", index_dir);
    }
    if (!bad) bad = file_make_dirs(o->dir, 0755, err);
    if (!bad) bad = db_open(&s->db, db_path, schema, NULL, err);
    for (size_t i = 0; !bad && i < sizeof added_columns / sizeof *added_columns; i++)
        db_exec(&s->db, added_columns[i], NULL);
    mem_free(lock_path);
    mem_free(db_path);
    if (bad) return store_close(s), bad;
    *ret_store = s;
    return 0;
}

void store_close(struct store *s)
{
    if (!s) return;
    if (s->retention_runs) {
        pthread_mutex_lock(&s->lock);
        s->retention_stops = true;
        pthread_cond_signal(&s->retention_wake);
        pthread_mutex_unlock(&s->lock);
        pthread_join(s->retention, NULL);
    }
    db_close(&s->db);
    if (s->lock_fd >= 0) close(s->lock_fd);
    for (size_t i = 0; i < s->n_folders; i++) mem_free(s->folders[i].dir);
    mem_free(s->folders);
    mem_free(s->room);
    mem_free(s->ids);
    strtab_free(&s->texts);
    pthread_cond_destroy(&s->retention_wake);
    pthread_mutex_destroy(&s->db_lock);
    pthread_mutex_destroy(&s->lock);
    pthread_mutex_destroy(&s->change);
    mem_free(s->dir);
    mem_free(s);
}

void store_watch(struct store *s, void (*watcher)(void *, enum store_event, const struct store_profile *),
                 void *context)
{
    s->watcher = watcher;
    s->watcher_context = context;
}

void store_tell(struct store *s, enum store_event event, const struct store_profile *p)
{
    if (s->watcher) s->watcher(s->watcher_context, event, p);
}

/* ---- folders ---- */

int store_node_dir(struct store *s, int32_t node, const char *dir, bool is_shared, struct err *err)
{
    int bad = file_make_dirs(dir, 0755, err);
    if (bad) return bad;
    pthread_mutex_lock(&s->lock);
    struct folder *f = NULL;
    for (size_t i = 0; i < s->n_folders; i++)
        if (s->folders[i].node == node) f = &s->folders[i];
    if (!f) {
        f = VEC_PUSH(s->folders, s->n_folders, s->cap_folders);
        *f = (struct folder){.node = node};
    }
    mem_free(f->dir);
    f->dir = mem_strdup(dir);
    f->is_shared = is_shared;
    pthread_mutex_unlock(&s->lock);
    return 0;
}

char *folder_of(struct store *s, int32_t node, bool make, struct err *err)
{
    char *dir = NULL;
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->n_folders && !dir; i++)
        if (s->folders[i].node == node) dir = mem_strdup(s->folders[i].dir);
    pthread_mutex_unlock(&s->lock);
    if (dir) return dir;
    dir = mem_printf("%s/%d", s->dir, node);
    if (make && store_node_dir(s, node, dir, false, err)) {
        mem_free(dir);
        return NULL;
    }
    return dir;
}

char *store_path(struct store *s, int32_t node, const char *file)
{
    char *dir = folder_of(s, node, false, NULL), *path = mem_printf("%s/%s", dir, file);
    mem_free(dir);
    return path;
}

/* ---- publishing ---- */

static int write_all(int fd, const void *data, size_t len)
{
    for (size_t done = 0; done < len;) {
        ssize_t n = write(fd, (const char *)data + done, len - done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return n < 0 ? errno : ENOSPC;
        done += (size_t)n;
    }
    return 0;
}

/* Writes the whole content under a temporary name, which listings ignore. The caller renames or unlinks
 * *ret_path and frees it. */
static int write_temporary(struct store *s, const char *dir, const void *data, size_t len, char **ret_path,
                           struct err *err)
{
    uint64_t number = __atomic_add_fetch(&s->n_temporary, 1, __ATOMIC_RELAXED);
    char *path = mem_printf("%s/.tmp-%d-%llu", dir, (int)getpid(), (unsigned long long)number);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644), why = 0;
    if (fd < 0 && errno == ENOENT &&
        !file_make_dirs(dir, 0755, NULL)) /* another program removed the folder */
        fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0) {
        why = errno;
    } else {
        why = write_all(fd, data, len);
        if (!why && s->durable && fdatasync(fd)) why = errno;
        if (close(fd) && !why) why = errno;
        if (why) unlink(path);
    }
    if (!why) return *ret_path = path, 0;
    int code = err_errno(err, why, "%s", dir);
    mem_free(path);
    return code;
}

/* Renames a file, but never over an existing file. Returns 0 or an errno. */
static int rename_new(const char *from, const char *to)
{
    if (!renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE)) return 0;
    if (errno != EINVAL && errno != ENOSYS) return errno;
    if (link(from, to)) return errno;
    unlink(from);
    return 0;
}

static void note_problem(struct store *s, const char *text)
{
    pthread_mutex_lock(&s->lock);
    snprintf(s->counts.problem, sizeof s->counts.problem, "%.199s", text);
    if (*text) s->counts.n_publish_failed++;
    pthread_mutex_unlock(&s->lock);
}

int store_publish(struct store *s, const struct store_new *p, struct store_profile *ret_profile,
                  struct err *err)
{
    struct err why = {0};
    char *dir = folder_of(s, p->node, true, &why), *temporary = NULL;
    int bad = dir ? write_temporary(s, dir, p->data, p->len, &temporary, &why) : why.code;
    struct record r = {.node = p->node,
                       .type = (uint8_t)p->type,
                       .form = (uint8_t)p->form,
                       .time_ms = p->time_ms,
                       .duration_ms = p->duration_ms,
                       .size_bytes = (int64_t)p->len,
                       .samples = p->samples,
                       .total = p->total.value,
                       .has_data = p->has_data};
    struct store_profile out = {0};
    if (!bad) {
        pthread_mutex_lock(&s->change);
        enum { MAX_TRIES = 120 };
        int rc = EEXIST;
        for (int tries = 0; rc == EEXIST && tries < MAX_TRIES; tries++) {
            if (tries) r.time_ms += 1000;
            struct profile_name name = {.type = p->type, .form = p->form};
            profile_stamp(r.time_ms, name.stamp);
            memcpy(r.stamp, name.stamp, sizeof r.stamp);
            char file[PROFILE_NAME_MAX];
            profile_name_print(&name, file);
            char *path = mem_printf("%s/%s", dir, file);
            rc = rename_new(temporary, path);
            if (rc && rc != EEXIST) bad = err_errno(&why, rc, "%s", path);
            mem_free(path);
        }
        if (rc == EEXIST)
            bad =
                err_set(&why, ERR_BUSY, "%s: %d profiles of these seconds are there already", dir, MAX_TRIES);
        if (bad) {
            unlink(temporary);
        } else {
            const char *types = p->sample_types ? p->sample_types : "";
            pthread_mutex_lock(&s->lock);
            r.id = record_new_id(s);
            r.sample_types = strtab_add_cstr(&s->texts, types);
            r.total_type = strtab_add_cstr(&s->texts, p->total.type);
            record_insert(s, &r);
            s->counts.n_published++;
            record_copy(s, &r, &out);
            pthread_mutex_unlock(&s->lock);
            index_insert(s, &r, types, p->total.type);
        }
        pthread_mutex_unlock(&s->change);
    }
    mem_free(temporary);
    mem_free(dir);
    note_problem(s, bad ? why.text : "");
    if (bad) {
        if (err) *err = why;
        return bad;
    }
    store_tell(s, STORE_ADDED, &out);
    store_retention_wake(s);
    if (ret_profile) *ret_profile = out;
    return 0;
}

/* ---- derived files ---- */

static char *derived_path(struct store *s, const struct store_profile *p)
{
    struct profile_name name = {.type = p->type, .form = PROFILE_FLAME};
    memcpy(name.stamp, p->stamp, sizeof name.stamp);
    char file[PROFILE_NAME_MAX];
    profile_name_print(&name, file);
    return store_path(s, p->node, file);
}

int store_put_derived(struct store *s, int64_t id, const void *data, size_t len, struct err *err)
{
    struct store_profile p;
    if (store_get(s, id, &p)) return err_set(err, ERR_NOT_FOUND, "no profile has the id %lld", (long long)id);
    char *path = derived_path(s, &p), *dir = folder_of(s, p.node, true, err), *temporary = NULL;
    int bad = dir ? write_temporary(s, dir, data, len, &temporary, err) : ERR_IO;
    if (!bad) {
        pthread_mutex_lock(&s->change);
        pthread_mutex_lock(&s->lock);
        struct record *r = record_by_id(s, id);
        pthread_mutex_unlock(&s->lock);
        if (!r) /* the profile was removed in the meantime */
            bad = err_set(err, ERR_NOT_FOUND, "%s was removed", p.file);
        else if (rename(temporary, path))
            bad = err_errno(err, errno, "%s", path);
        if (bad) {
            unlink(temporary);
        } else {
            pthread_mutex_lock(&s->lock);
            if ((r = record_by_id(s, id))) {
                s->total_bytes += (int64_t)len - r->derived_bytes;
                r->derived_bytes = (int64_t)len;
            }
            record_check(s);
            pthread_mutex_unlock(&s->lock);
        }
        pthread_mutex_unlock(&s->change);
    }
    mem_free(temporary);
    mem_free(path);
    mem_free(dir);
    if (!bad) store_retention_wake(s);
    return bad;
}

int store_get_derived(struct store *s, int64_t id, struct bytes *ret_bytes, struct err *err)
{
    struct store_profile p;
    if (store_get(s, id, &p)) return err_set(err, ERR_NOT_FOUND, "no profile has the id %lld", (long long)id);
    char *path = derived_path(s, &p);
    int bad = access(path, R_OK) ? ERR_NOT_FOUND : file_read(path, MAX_STORED_BYTES, ret_bytes, err);
    mem_free(path);
    return bad;
}

void store_describe(struct store *s, int64_t id, int64_t duration_ms, int64_t samples,
                    const char *sample_types, const struct store_total *total)
{
    struct record copy = {0};
    pthread_mutex_lock(&s->lock);
    struct record *r = record_by_id(s, id);
    if (r) {
        if (duration_ms > 0) r->duration_ms = duration_ms;
        r->samples = samples;
        r->has_data = true;
        r->sample_types = strtab_add_cstr(&s->texts, sample_types);
        r->total = total->value;
        r->total_type = strtab_add_cstr(&s->texts, total->type);
        copy = *r;
    }
    pthread_mutex_unlock(&s->lock);
    if (r) index_insert(s, &copy, sample_types, total->type);
}

/* ---- queries ---- */

/* Finds the records in the query's range of time: from *ret_begin up to, without, *ret_end. */
static void range_of(const struct store *s, const struct store_query *q, size_t *ret_begin, size_t *ret_end)
{
    *ret_begin = q->from_ms ? record_place(s, q->from_ms, 0) : 0;
    *ret_end = q->to_ms ? record_place(s, q->to_ms, 0) : s->n_records;
}

/* Returns true if a record in that range matches the query's types and nodes. */
static bool wants(const struct store_query *q, const struct record *r)
{
    if (q->type_mask && !(q->type_mask >> r->type & 1)) return false;
    if (!q->nodes) return true;
    for (size_t i = 0; i < q->n_nodes; i++)
        if (q->nodes[i] == r->node) return true;
    return false;
}

size_t store_list(struct store *s, const struct store_query *q, struct store_profile **ret_profiles,
                  size_t *ret_total)
{
    struct store_profile *out = NULL;
    size_t n = 0, cap = 0, total = 0;
    const bool after = q->before_id == 0;
    int32_t *seen = NULL;
    size_t n_seen = 0, cap_seen = 0, begin, end;
    pthread_mutex_lock(&s->lock);
    const struct record *start = after ? NULL : record_by_id(s, q->before_id);
    range_of(s, q, &begin, &end);
    for (size_t i = end; i-- > begin;) {
        const struct record *r = &s->records[i];
        bool was_after = after || (start && r < start);
        if (!wants(q, r)) continue;
        if (q->newest_of_each_node) {
            bool known = false;
            for (size_t k = 0; k < n_seen && !known; k++) known = seen[k] == r->node;
            if (known) continue;
            *VEC_PUSH(seen, n_seen, cap_seen) = r->node;
        }
        total++;
        if (was_after && (!q->limit || n < q->limit)) record_copy(s, r, VEC_PUSH(out, n, cap));
    }
    pthread_mutex_unlock(&s->lock);
    mem_free(seen);
    *ret_profiles = out;
    if (ret_total) *ret_total = total;
    return n;
}

int store_get(struct store *s, int64_t id, struct store_profile *ret_profile)
{
    pthread_mutex_lock(&s->lock);
    struct record *r = record_by_id(s, id);
    if (r) record_copy(s, r, ret_profile);
    pthread_mutex_unlock(&s->lock);
    return r ? 0 : ERR_NOT_FOUND;
}

bool store_span(struct store *s, const struct store_query *q, int64_t *ret_first_ms, int64_t *ret_last_ms)
{
    size_t begin, end;
    pthread_mutex_lock(&s->lock);
    range_of(s, q, &begin, &end);
    while (begin < end && !wants(q, &s->records[begin])) begin++;
    while (begin < end && !wants(q, &s->records[end - 1])) end--;
    bool any = begin < end;
    if (any) {
        *ret_first_ms = s->records[begin].time_ms;
        *ret_last_ms = s->records[end - 1].time_ms;
    }
    pthread_mutex_unlock(&s->lock);
    return any;
}

static int newest_first(const void *a, const void *b)
{
    const struct record *const *x = a, *const *y = b;
    return *x > *y ? -1 : *x < *y;
}

size_t store_get_many(struct store *s, const int64_t *ids, size_t n_ids, struct store_profile **ret_profiles)
{
    struct store_profile *out = NULL;
    size_t n = 0, cap = 0, n_found = 0;
    const struct record **found = mem_array(n_ids ? n_ids : 1, sizeof *found);
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < n_ids; i++)
        if ((found[n_found] = record_by_id(s, ids[i]))) n_found++;
    if (n_found) qsort(found, n_found, sizeof *found, newest_first);
    for (size_t i = 0; i < n_found; i++)
        if (!i || found[i] != found[i - 1]) record_copy(s, found[i], VEC_PUSH(out, n, cap));
    pthread_mutex_unlock(&s->lock);
    mem_free(found);
    *ret_profiles = out;
    return n;
}

static bool is_named(const struct record *r, int32_t node, const struct profile_name *name)
{
    return r->node == node && r->type == name->type && r->form == name->form &&
           !strcmp(r->stamp, name->stamp);
}

int store_find(struct store *s, int32_t node, const char *file, struct store_profile *ret_profile)
{
    struct profile_name name;
    if (!profile_name_parse(file, &name)) return ERR_NOT_FOUND;
    int64_t time_ms = profile_stamp_ms(name.stamp);
    const struct record *found = NULL;
    pthread_mutex_lock(&s->lock);
    for (size_t i = record_place(s, time_ms, 0); i < s->n_records && !found; i++) {
        if (s->records[i].time_ms >= time_ms + 1000) break;
        if (is_named(&s->records[i], node, &name)) found = &s->records[i];
    }
    /* The time of a stamp is ambiguous in the hour that occurs twice in autumn. All records are searched
     * then. */
    for (size_t i = 0; i < s->n_records && !found; i++)
        if (is_named(&s->records[i], node, &name)) found = &s->records[i];
    if (found) record_copy(s, found, ret_profile);
    pthread_mutex_unlock(&s->lock);
    return found ? 0 : ERR_NOT_FOUND;
}

int store_read(struct store *s, int64_t id, struct bytes *ret_bytes, struct err *err)
{
    struct store_profile p;
    if (store_get(s, id, &p)) return err_set(err, ERR_NOT_FOUND, "no profile has the id %lld", (long long)id);
    char *path = store_path(s, p.node, p.file);
    struct stat st;
    int bad = 0;
    if (lstat(path, &st))
        bad = errno == ENOENT ? err_set(err, ERR_NOT_FOUND, "%s is not there any more", p.file)
                              : err_errno(err, errno, "%s", p.file);
    else if (!S_ISREG(st.st_mode))
        bad = err_set(err, ERR_DENIED, "%s is not a plain file", p.file);
    if (!bad) bad = file_read(path, MAX_STORED_BYTES, ret_bytes, err);
    mem_free(path);
    return bad;
}

static int by_bucket(const void *a, const void *b)
{
    const struct store_bucket *x = a, *y = b;
    if (x->node != y->node) return x->node < y->node ? -1 : 1;
    if (x->type != y->type) return x->type < y->type ? -1 : 1;
    return x->t_ms < y->t_ms ? -1 : x->t_ms > y->t_ms;
}

/* Adds a record's total to the sum of its bucket. Totals of different sample types cannot be added: if the
 * type changed within a bucket, only the newer type counts. If the total of a record is unknown (found on the
 * disk, or of an older version), the bucket has no sum. */
static void add_total(struct store *s, const struct record *r, bool is_first, struct store_total *sum)
{
    struct store_total one;
    total_copy(s, r, &one);
    bool is_gauge = r->type == PROFILE_HEAP;
    if (*one.type && !is_first && !is_gauge) {
        if (!*sum->type) return;
        if (!strcmp(one.type, sum->type)) one.value += sum->value;
    }
    *sum = one;
}

size_t store_timeline(struct store *s, const struct store_query *q, int64_t bucket_ms,
                      struct store_bucket **ret_buckets)
{
    struct store_bucket *all = NULL;
    struct idmap newest = {0}; /* node and type -> their last bucket; the records are sorted by time */
    size_t n = 0, cap = 0, begin, end;
    if (bucket_ms < 1) bucket_ms = 1;
    pthread_mutex_lock(&s->lock);
    range_of(s, q, &begin, &end);
    for (size_t i = begin; i < end; i++) {
        const struct record *r = &s->records[i];
        if (!wants(q, r)) continue;
        int64_t t = q->from_ms + (r->time_ms - q->from_ms) / bucket_ms * bucket_ms;
        bool is_new;
        uint32_t *at = idmap_slot(&newest, (uint64_t)(uint32_t)r->node << 8 | r->type, &is_new);
        if (is_new || all[*at].t_ms != t) {
            *at = (uint32_t)n;
            *VEC_PUSH(all, n, cap) =
                (struct store_bucket){.node = r->node, .type = (enum profile_type)r->type, .t_ms = t};
        }
        struct store_bucket *b = &all[*at];
        b->profiles++;
        b->samples += r->samples > 0 ? r->samples : 0;
        b->bytes += r->size_bytes;
        add_total(s, r, b->profiles == 1, &b->total);
    }
    pthread_mutex_unlock(&s->lock);
    idmap_free(&newest);
    if (n) qsort(all, n, sizeof *all, by_bucket);
    *ret_buckets = all;
    return n;
}

void store_state(struct store *s, struct store_state *ret_state)
{
    pthread_mutex_lock(&s->lock);
    *ret_state = s->counts;
    ret_state->n_profiles = s->n_records;
    ret_state->bytes = s->total_bytes;
    pthread_mutex_unlock(&s->lock);
}
