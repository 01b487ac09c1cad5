/* tables.c - see tables.h.
 *
 * Writers are captures (tables_hold, and every 20 ms while they run) and the library's thread; `lock` admits
 * one at a time. Readers are signal handlers, malloc and lock hooks, which may not wait for a lock: they load
 * unwind_published inside unwind_epoch (hot/epoch.h). They could still be reading a list that a writer has
 * just replaced, so the writer frees the old list only after epoch_drain has seen every such reader leave.
 */
#include "agent/unwind/tables.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "agent/host/deadline.h"
#include "agent/host/pages.h"
#include "agent/hot/untabled_code.h"
#include "agent/hot/unwind.h"
#include "agent/unwind/objects.h"

#define MAX_OBJECTS    4096
#define DRAIN_LIMIT_MS 1000

/* A rebuild for which the kernel refused memory runs again after a second, and the wait doubles each time. A
 * process at its memory limit then does not read the same frame information on every tick of a capture. */
#define FIRST_RETRY_MS 1000
#define MAX_RETRY_MS   64000

struct known { /* an object whose table was built */
    struct object object;
    uint64_t fingerprint;
    struct cfi_table table; /* table.memory is NULL when the object has no rules */
    bool seen;              /* it is in the loader's latest list */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic unsigned n_holders; /* changed under the lock, read without it */
static void (*_Atomic wake)(void); /* wakes the library's thread */
static struct object_counts counts;
static bool has_counts;                /* counts are those of the latest rebuild */
static unsigned n_refused;             /* objects that the latest rebuild had no memory for */
static bool must_retry;                /* the latest rebuild had no memory for all of it */
static int64_t retry_ms, retry_at;     /* the wait until the next retry; its end in ns of clock_now_ns */
static struct pages_buf known_objects; /* struct known[] */
static struct unwind_tables *current;
static size_t current_bytes;
static struct tables_status status_;

static struct known *known_at(size_t i)
{
    return (struct known *)(void *)known_objects.data + i;
}

static size_t n_known(void)
{
    return known_objects.size / sizeof(struct known);
}

static struct known *find_known(const struct object *o, uint64_t fingerprint)
{
    for (size_t i = 0; i < n_known(); i++) {
        struct known *k = known_at(i);
        if (k->object.code_begin == o->code_begin && k->object.code_end == o->code_end &&
            k->fingerprint == fingerprint)
            return k;
    }
    return NULL;
}

/* Returns false when there was no memory for the object. It is not remembered then, so that a later rebuild
 * tries it again. An object without usable frame information is remembered without a table, and its code is
 * stepped over by frame pointer. */
static bool find_or_build(const struct object *o)
{
    uint64_t fingerprint = objects_fingerprint(o);
    struct known *k = find_known(o, fingerprint);
    if (k) {
        k->seen = true;
        return true;
    }
    struct known fresh = {.object = *o, .fingerprint = fingerprint, .seen = true};
    if (objects_build(o, &fresh.table, NULL) == ERR_LIMIT) return false;
    pages_buf_bytes(&known_objects, &fresh, sizeof fresh);
    if (!known_objects.failed) return true;
    known_objects.failed = false;
    cfi_table_free(&fresh.table);
    return false;
}

/* Makes the list to publish, sorted by address and without overlaps. */
static struct unwind_tables *make_list(size_t *ret_bytes)
{
    size_t n = 0;
    for (size_t i = 0; i < n_known(); i++) n += known_at(i)->seen && known_at(i)->table.memory;
    *ret_bytes = sizeof(struct unwind_tables) + n * sizeof(struct unwind_module);
    struct unwind_tables *t = pages_map(*ret_bytes);
    if (!t) return NULL;
    for (size_t i = 0; i < n_known(); i++) {
        struct known *k = known_at(i);
        if (!k->seen || !k->table.memory) continue;
        uint32_t at = t->n_modules++;
        for (; at > 0 && t->modules[at - 1].begin > k->table.module.begin; at--)
            t->modules[at] = t->modules[at - 1];
        t->modules[at] = k->table.module;
    }
    for (uint32_t i = 0; i + 1 < t->n_modules; i++)
        if (t->modules[i].end > t->modules[i + 1].begin) t->modules[i].end = t->modules[i + 1].begin;
    t->generation = ++status_.generation;
    return t;
}

static void note_status(const struct timespec *begin)
{
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    unsigned generation = status_.generation;
    status_ = (struct tables_status){
        .generation = generation, .n_modules = n_refused, .n_without_rules = n_refused};
    status_.last_build_ms =
        (double)(end.tv_sec - begin->tv_sec) * 1e3 + (double)(end.tv_nsec - begin->tv_nsec) / 1e6;
    for (size_t i = 0; i < n_known(); i++) {
        struct known *k = known_at(i);
        status_.n_modules++;
        status_.n_without_rules += !k->table.memory;
        status_.n_rows += k->table.n_rows;
        status_.n_rules += k->table.n_rules;
        status_.n_bytes += k->table.n_bytes;
    }
}

/* Finds or makes the table of every loaded object. Returns false, and leaves everything as it was, when there
 * is no memory for the list of them. */
static bool visit_objects(void)
{
    struct pages_buf list = {0};
    counts = objects_list(&list);
    has_counts = true;
    bool has_list = !list.failed;
    if (has_list) {
        n_refused = 0;
        for (size_t i = 0; i < n_known(); i++) known_at(i)->seen = false;
        size_t n = list.size / sizeof(struct object);
        for (size_t i = 0; i < n && i < MAX_OBJECTS; i++)
            n_refused += !find_or_build((const struct object *)(const void *)list.data + i);
    }
    pages_buf_free(&list);
    return has_list;
}

static void plan_retry(bool is_complete)
{
    must_retry = !is_complete;
    retry_ms = is_complete               ? 0
               : !retry_ms               ? FIRST_RETRY_MS
               : retry_ms < MAX_RETRY_MS ? retry_ms * 2
                                         : retry_ms;
    retry_at = deadline_after_ms(retry_ms);
}

static void rebuild(void)
{
    struct timespec begin;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    size_t bytes, old_bytes = current_bytes;
    struct unwind_tables *made = visit_objects() ? make_list(&bytes) : NULL, *old = current;
    plan_retry(made && !n_refused);
    if (!made) return; /* the old list stays */
    atomic_store(&unwind_published, (const struct unwind_tables *)made);
    current = made;
    current_bytes = bytes;
    /* A thread of the host can leave malloc by longjmp and then never leaves the epoch. epoch_drain gives up
     * in that case, and everything such a reader might use is kept for ever instead of freed. */
    bool drained = epoch_drain(&unwind_epoch, DRAIN_LIMIT_MS);
    if (drained) pages_unmap(old, old_bytes);
    if (made->generation % 8 == 0) unwind_cache_clear();
    size_t n_left = 0;
    for (size_t i = 0; i < n_known(); i++) {
        struct known *k = known_at(i);
        if (k->seen)
            *known_at(n_left++) = *k;
        else if (drained)
            cfi_table_free(&k->table);
    }
    known_objects.size = n_left * sizeof(struct known);
    note_status(&begin);
}

static _Atomic bool filter_was_seen;

void tables_filter_seen(void)
{
    atomic_store(&filter_was_seen, true);
    atomic_store(&untabled_find, NULL);
}

static untabled_find_fn *loader_find; /* NULL: this libc has none */

/* dlsym waits for a thread that is in dlopen. Before main there is none, so the lookup happens here, once. */
__attribute__((constructor(102))) static void look_up_loader_find(void)
{
    *(void **)&loader_find = dlsym(RTLD_DEFAULT, "_dl_find_object");
    if (!loader_find) dlerror(); /* clears the error, so that the host's next dlerror does not return it */
}

/* Lets handlers ask the loader about code that has no table yet, unless there is a seccomp filter: it might
 * kill the process because of the system call with which they read memory. */
static void set_untabled_find(void)
{
    if (prctl(PR_GET_SECCOMP) != 0) atomic_store(&filter_was_seen, true);
    atomic_store(&untabled_find, atomic_load(&filter_was_seen) ? NULL : loader_find);
}

static void refresh_locked(bool retry_now)
{
    set_untabled_find();
    struct object_counts latest = objects_counts();
    if (!has_counts || latest.n_added != counts.n_added || latest.n_removed != counts.n_removed ||
        (must_retry && (retry_now || clock_now_ns() >= retry_at)))
        rebuild();
}

void tables_wake_with(void (*wake_housekeeping)(void))
{
    atomic_store(&wake, wake_housekeeping);
}

int tables_hold(struct err *err)
{
    pthread_mutex_lock(&lock);
    refresh_locked(true);
    int result = current ? 0 : err_set(err, ERR_LIMIT, "no memory for the unwind tables");
    bool is_first = !result && n_holders++ == 0;
    pthread_mutex_unlock(&lock);
    void (*wake_housekeeping)(void) = atomic_load(&wake);
    if (is_first && wake_housekeeping) wake_housekeeping();
    return result;
}

void tables_release(void)
{
    pthread_mutex_lock(&lock);
    if (n_holders) n_holders--;
    pthread_mutex_unlock(&lock);
}

bool tables_are_held(void)
{
    return atomic_load(&n_holders) != 0;
}

void tables_refresh(void)
{
    if (pthread_mutex_trylock(&lock)) return; /* another thread is refreshing them */
    if (n_holders) refresh_locked(false);
    pthread_mutex_unlock(&lock);
}

void tables_forked(void)
{
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    n_holders = 0;
    known_objects =
        (struct pages_buf){0}; /* another thread may have been changing it; the published list is complete */
    has_counts = must_retry = false;
    epoch_reset(&unwind_epoch);
}

void tables_status(struct tables_status *ret_status)
{
    pthread_mutex_lock(&lock);
    *ret_status = status_;
    pthread_mutex_unlock(&lock);
}
