/* store_retain.c - deletes profiles that are too old or too many. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "store/store_int.h"

enum {
    BATCH = 256,
    LOOK_EVERY_MS = 10000,         /* how often shared folders are checked */
    JUMP_MS = 3600 * 1000,         /* a wall clock that jumps forward this far may be wrong */
    JUMP_PATIENCE_MS = 600 * 1000, /* how long it is not trusted, because it may be corrected */
};

int unlink_profile(struct store *s, const struct store_profile *p)
{
    struct profile_name derived = {.type = p->type, .form = PROFILE_FLAME};
    memcpy(derived.stamp, p->stamp, sizeof derived.stamp);
    char file[PROFILE_NAME_MAX];
    profile_name_print(&derived, file);
    char *path = store_path(s, p->node, p->file), *beside = store_path(s, p->node, file);
    /* The derived file goes first: without its profile, nothing would ever delete it. */
    int why = unlink(beside) && errno != ENOENT ? errno : 0;
    if (unlink(path) && errno != ENOENT) why = errno;
    mem_free(path);
    mem_free(beside);
    return why;
}

/* Removes the deleted profiles from the records. Victims have the order of the records and are nearly always
 * the first ones. Only records before the last victim are moved, so that the many behind it stay in place. */
static size_t forget_victims(struct store *s, const struct store_profile *victims, const uint8_t *failed,
                             size_t n)
{
    const struct store_profile *last = &victims[n - 1];
    size_t end = record_place(s, last->time_ms, last->id + 1), n_gone = 0, v = n;
    for (size_t i = end, to = end; i-- > 0;) {
        struct record *r = &s->records[i];
        /* Skip victims that another thread removed in the meantime. */
        while (v && (victims[v - 1].time_ms > r->time_ms ||
                     (victims[v - 1].time_ms == r->time_ms && victims[v - 1].id > r->id)))
            v--;
        bool is_victim = v && victims[v - 1].id == r->id;
        if (is_victim && !failed[v - 1]) {
            s->total_bytes -= r->size_bytes + r->derived_bytes;
            n_gone++;
            continue;
        }
        if (is_victim && !r->cannot_delete) {
            r->cannot_delete = true;
            s->n_cannot_delete++;
        }
        if (--to != i) s->records[to] = *r;
    }
    s->records += n_gone;
    s->n_records -= n_gone;
    record_check(s);
    return n_gone;
}

/* Removes these profiles (in the order of the records) from disk and index. Returns how many were removed. */
static size_t remove_batch(struct store *s, const struct store_profile *victims, size_t n)
{
    uint8_t failed[BATCH] = {0};
    pthread_mutex_lock(&s->change);
    for (size_t i = 0; i < n; i++) failed[i] = unlink_profile(s, &victims[i]) != 0;
    pthread_mutex_lock(&s->lock);
    size_t n_gone = forget_victims(s, victims, failed, n);
    s->counts.n_removed += n_gone;
    for (size_t i = 0; i < n; i++) s->counts.n_remove_failed += failed[i];
    pthread_mutex_unlock(&s->lock);
    pthread_mutex_lock(&s->db_lock);
    db_exec(&s->db, "BEGIN", NULL);
    pthread_mutex_unlock(&s->db_lock);
    for (size_t i = 0; i < n; i++)
        if (!failed[i]) index_remove(s, victims[i].id);
    pthread_mutex_lock(&s->db_lock);
    if (db_exec(&s->db, "COMMIT", NULL)) db_exec(&s->db, "ROLLBACK", NULL); /* a full disk */
    pthread_mutex_unlock(&s->db_lock);
    pthread_mutex_unlock(&s->change);
    for (size_t i = 0; i < n; i++)
        if (!failed[i]) store_tell(s, STORE_REMOVED, &victims[i]);
    return n_gone;
}

int store_remove(struct store *s, int64_t id, struct err *err)
{
    struct store_profile p;
    if (store_get(s, id, &p)) return err_set(err, ERR_NOT_FOUND, "no profile has the id %lld", (long long)id);
    return remove_batch(s, &p, 1) ? 0 : err_set(err, ERR_IO, "%s cannot be deleted", p.file);
}

/* Chooses the profiles to delete now, oldest first and at most BATCH. */
static size_t choose(struct store *s, const struct store_limits *limits, int64_t now_ms,
                     struct store_profile victims[BATCH], int64_t *ret_next_ms)
{
    size_t n = 0;
    *ret_next_ms = 0;
    pthread_mutex_lock(&s->lock);
    int64_t remaining = s->total_bytes;
    for (size_t i = 0; i < s->n_records && n < BATCH; i++) {
        struct record *r = &s->records[i];
        bool too_old = limits->max_age_ms >= 0 && now_ms - r->time_ms >= limits->max_age_ms;
        bool too_much = limits->max_bytes >= 0 && remaining > limits->max_bytes;
        if (!too_old && !too_much) {
            if (limits->max_age_ms >= 0) *ret_next_ms = r->time_ms + limits->max_age_ms;
            break;
        }
        if (r->cannot_delete) continue; /* it still counts, so that younger profiles are deleted instead */
        remaining -= r->size_bytes + r->derived_bytes;
        record_copy(s, r, &victims[n++]);
    }
    pthread_mutex_unlock(&s->lock);
    return n;
}

size_t store_retain(struct store *s, const struct store_limits *limits, int64_t *ret_next_ms)
{
    static __thread struct store_profile victims[BATCH];
    size_t total = 0, n;
    int64_t next_ms;
    /* Files that could not be deleted earlier may be deletable by now. */
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; s->n_cannot_delete && i < s->n_records; i++) s->records[i].cannot_delete = false;
    s->n_cannot_delete = 0;
    pthread_mutex_unlock(&s->lock);
    while ((n = choose(s, limits, s->now_ms(), victims, &next_ms))) total += remove_batch(s, victims, n);
    if (ret_next_ms) *ret_next_ms = next_ms;
    return total;
}

/* ---- the thread ---- */

struct clock_watch {
    int64_t offset_ms; /* wall clock minus monotonic clock, when it was last trusted */
    int64_t since_ms;  /* monotonic time at which the offset was first seen to differ; 0: it does not */
};

/* Returns true if the wall clock jumped forward lately and may be wrong. */
static bool clock_is_suspect(struct clock_watch *w, int64_t now_ms)
{
    int64_t monotonic_ms = clock_monotonic_ns() / 1000000, offset_ms = now_ms - monotonic_ms;
    int64_t moved_ms = offset_ms - w->offset_ms;
    if (moved_ms < JUMP_MS) { /* also if the clock moved back, which makes no profile older */
        w->offset_ms = offset_ms;
        w->since_ms = 0;
        return false;
    }
    if (!w->since_ms) w->since_ms = monotonic_ms;
    if (monotonic_ms - w->since_ms < JUMP_PATIENCE_MS) return true;
    w->offset_ms = offset_ms;
    w->since_ms = 0;
    return false;
}

static void *retain_always(void *context)
{
    struct store *s = context;
    struct clock_watch watch = {.offset_ms = s->now_ms() - clock_monotonic_ns() / 1000000};
    int64_t looked_ms = 0;
    for (;;) {
        int64_t monotonic_ms = clock_monotonic_ns() / 1000000;
        if (!looked_ms || monotonic_ms - looked_ms >= LOOK_EVERY_MS) {
            store_refresh(s);
            looked_ms = monotonic_ms;
        }
        struct store_limits limits = s->limits(s->limits_context);
        int64_t next_ms = 0, now_ms = s->now_ms();
        if (clock_is_suspect(&watch, now_ms)) limits.max_age_ms = -1;
        store_retain(s, &limits, &next_ms);
        int64_t wait_ms = LOOK_EVERY_MS;
        if (next_ms && next_ms - now_ms < wait_ms) wait_ms = next_ms - now_ms;
        if (wait_ms < 100) wait_ms = 100;
        int64_t until_ns = clock_monotonic_ns() + wait_ms * 1000000;
        struct timespec until = {.tv_sec = until_ns / 1000000000, .tv_nsec = until_ns % 1000000000};
        pthread_mutex_lock(&s->lock);
        while (!s->retention_stops && !s->retention_woken)
            if (pthread_cond_timedwait(&s->retention_wake, &s->lock, &until)) break;
        bool stop = s->retention_stops;
        s->retention_woken = false;
        pthread_mutex_unlock(&s->lock);
        if (stop) return NULL;
        /* Wait a little, so that a burst of publishes causes one round only. */
        clock_sleep_ns(20 * 1000000);
    }
}

int store_retention_start(struct store *s, struct store_limits (*limits)(void *), void *context,
                          struct err *err)
{
    s->limits = limits;
    s->limits_context = context;
    errno = pthread_create(&s->retention, NULL, retain_always, s);
    if (errno) return err_errno(err, errno, "cannot start the retention thread");
    s->retention_runs = true;
    return 0;
}

void store_retention_wake(struct store *s)
{
    pthread_mutex_lock(&s->lock);
    s->retention_woken = true;
    pthread_cond_signal(&s->retention_wake);
    pthread_mutex_unlock(&s->lock);
}
