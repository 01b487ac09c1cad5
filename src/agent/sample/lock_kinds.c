/* lock_kinds.c - the kinds contention, mutex and block, over one table of waits.
 *
 *     contention, mutex   waits for mutexes and rwlocks: threads that are kept from working
 *     block               these, and condition variables, semaphores, futexes: also threads without work
 *
 * The stack is the waiter's. Values are the number of waits and the nanoseconds waited, both with exact
 * weights.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "agent/hooks/lock_resolve.h"
#include "agent/host/config.h"
#include "agent/hot/lock_hook.h"
#include "agent/sample/kinds.h"
#include "agent/unwind/tables.h"

#define N_STACKS        32768
#define WORDS_PER_STACK 40
#define DRAIN_MS        2000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t last_epoch;
static size_t book_bytes;
static bool wanted[2];         /* switched on for good: locks, waits */
static unsigned n_captures[2]; /* running ?seconds=N captures: locks, waits */
static bool is_holding_tables;

static int book_replace(struct err *err)
{
    size_t head_bytes = (sizeof(struct lock_book) + 63) & ~63ul, old_bytes = book_bytes;
    size_t table_bytes = stack_table_bytes(N_STACKS, (uint64_t)N_STACKS * WORDS_PER_STACK, LOCK_N_COUNTERS);
    char *memory = pages_map(head_bytes + table_bytes);
    if (!memory) return err_set(err, ERR_LIMIT, "contention: no memory for a table of %d stacks", N_STACKS);
    struct lock_book *book = (struct lock_book *)(void *)memory, *old;
    book->stacks = stack_table_init(memory + head_bytes, N_STACKS, (uint64_t)N_STACKS * WORDS_PER_STACK,
                                    LOCK_N_COUNTERS);
    for (unsigned kind = 0; kind < LOCK_N_KINDS; kind++)
        book->overflow[kind] = stack_table_find(book->stacks, NULL, 0, kind);
    book->epoch = ++last_epoch;
    book_bytes = head_bytes + table_bytes;
    old = atomic_exchange(&lock_book, book);
    if (old && epoch_drain(&lock_epoch, DRAIN_MS)) pages_unmap(old, old_bytes);
    return 0;
}

/* Makes the hooks agree with what is wanted. Called with the lock held. */
static int apply(struct err *err)
{
    bool waits = wanted[1] || n_captures[1], locks = waits || wanted[0] || n_captures[0];
    int status = 0;
    if (locks && !lock_sees_calls())
        return err_set(
            err, ERR_UNSUPPORTED,
            "contention: another library's pthread_mutex_lock is found before ours: waits cannot be seen");
    lock_resolve();
    if (locks && !atomic_load(&lock_book)) {
        uint64_t seed;
        if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) == sizeof seed) atomic_fetch_xor(&lock_seed, seed);
        status = book_replace(err);
    }
    if (!status && locks && !is_holding_tables) status = tables_hold(err);
    if (status) return status;
    if (!locks && is_holding_tables) tables_release();
    is_holding_tables = locks;
    atomic_store(&lock_active, locks);
    lock_switch(locks, waits);
    return 0;
}

/* "100us", "1ms", or nanoseconds. */
static int set_period(const char *text, struct err *err)
{
    char *end;
    unsigned long long ns = strtoull(text, &end, 10);
    unsigned long long unit = !strcmp(end, "us")            ? 1000
                              : !strcmp(end, "ms")          ? 1000000
                              : !*end || !strcmp(end, "ns") ? 1
                                                            : 0;
    if (end == text || !unit || ns == 0 || ns > 3600ull * 1000000000 / unit)
        return err_set(err, ERR_INPUT,
                       "contention: \"%s\" is no interval: give nanoseconds of waiting between samples (also "
                       "100us, 1ms)",
                       text);
    atomic_store(&lock_period_ns, ns * unit);
    return 0;
}

static int query_period(const struct kind_options *options, struct err *err)
{
    char text[32];
    return kind_query(options->query, "interval", text, sizeof text) ? set_period(text, err) : 0;
}

static int begin(const struct kind_options *options, bool waits, struct err *err)
{
    pthread_mutex_lock(&lock);
    int status = query_period(options, err);
    if (!status) {
        n_captures[waits]++;
        status = apply(err);
        if (status) n_captures[waits]--;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

static void end(bool waits)
{
    pthread_mutex_lock(&lock);
    if (n_captures[waits]) n_captures[waits]--;
    apply(NULL);
    pthread_mutex_unlock(&lock);
}

static int locks_start(const struct kind_options *options, struct err *err)
{
    return begin(options, false, err);
}

static int waits_start(const struct kind_options *options, struct err *err)
{
    return begin(options, true, err);
}

static void locks_stop(void)
{
    end(false);
}

static void waits_stop(void)
{
    end(true);
}

static int read_book(struct output *o, bool waits, struct err *err)
{
    static const char *const names[] = {"mutex", "rwlock", "cond", "sem", "futex"};
    struct lock_book *book = atomic_load(&lock_book);
    if (!book)
        return err_set(
            err, ERR_UNSUPPORTED,
            "%s: lock profiling has not been switched on; ask for ?seconds=N, for .../%s/enable, or start "
            "with contention=on",
            o->name, o->name);
    for (uint32_t id = 0; id < book->stacks->n_slots; id++) {
        const uintptr_t *pcs;
        uint32_t n_pcs;
        uint64_t tag;
        if (!stack_table_get(book->stacks, id, &pcs, &n_pcs, &tag) || tag >= LOCK_N_KINDS) continue;
        if (!waits && tag != LOCK_MUTEX && tag != LOCK_RWLOCK) continue;
        int64_t values[2] = {(stack_table_value(book->stacks, id, LOCK_COUNT) + POISSON_ONE / 2) /
                                 POISSON_ONE,
                             stack_table_value(book->stacks, id, LOCK_NS)};
        struct output_label label = {.key = "lock", .str = names[tag]};
        if (values[0] | values[1]) output_add(o, pcs, n_pcs, true, values, &label, 1);
    }
    o->types[0] = (struct output_type){"contentions", "count"};
    o->types[1] = (struct output_type){"delay", "nanoseconds"};
    o->n_types = 2;
    o->legacy = OUTPUT_LEGACY_CONTENTION;
    o->period_type = (struct output_type){"contentions", "count"};
    o->period = 1;
    o->n_lost = atomic_load(&book->stacks->n_dropped);
    output_comment(
        o,
        "%s: a mark every %llu ns of waiting on average, each wait weighed with its own length; %llu samples",
        o->name, (unsigned long long)atomic_load(&lock_period_ns),
        (unsigned long long)atomic_load(&book->n_samples));
    return 0;
}

static int snapshot(struct output *o, bool waits, struct err *err)
{
    o->n_types = 2; /* output_add copies this many values */
    pthread_mutex_lock(&lock);
    int status = read_book(o, waits, err);
    pthread_mutex_unlock(&lock);
    return status;
}

static int locks_snapshot(const struct kind_options *options, struct output *o, struct err *err)
{
    (void)options;
    return snapshot(o, false, err);
}

static int waits_snapshot(const struct kind_options *options, struct output *o, struct err *err)
{
    (void)options;
    return snapshot(o, true, err);
}

static void status_text(struct pages_buf *reply)
{
    struct lock_book *book = atomic_load(&lock_book);
    pages_buf_format(reply, "lock profiler: %s\n", atomic_load(&lock_active) ? "on" : "off");
    pages_buf_format(reply, "waits for mutexes and rwlocks: %s\n",
                     wanted[0] || wanted[1] || n_captures[0] || n_captures[1] ? "on" : "off");
    pages_buf_format(reply, "waits for condition variables, semaphores, futexes: %s\n",
                     wanted[1] || n_captures[1] ? "on" : "off");
    pages_buf_format(reply, "calls of the host: %s\n",
                     lock_sees_calls() ? "seen" : "not seen: another library's functions come first");
    pages_buf_format(reply, "interval: %llu ns\n", (unsigned long long)atomic_load(&lock_period_ns));
    if (!book) return;
    pages_buf_format(reply, "samples: %llu\n", (unsigned long long)atomic_load(&book->n_samples));
    pages_buf_format(reply, "stacks taken with the lock held: %llu\n",
                     (unsigned long long)atomic_load(&book->n_late));
    pages_buf_format(reply, "stacks: %u of %u\n", (unsigned)atomic_load(&book->stacks->n_slots_used),
                     (unsigned)book->stacks->n_slots);
    pages_buf_format(reply, "samples without room for their stack: %llu\n",
                     (unsigned long long)atomic_load(&book->stacks->n_dropped));
}

static int control(const char *verb, bool waits, const struct kind_options *options, struct pages_buf *reply,
                   struct err *err)
{
    pthread_mutex_lock(&lock);
    int status = query_period(options, err);
    if (status) {
    } else if (!strcmp(verb, "enable")) {
        wanted[waits] = true;
        status = apply(err);
        if (status) wanted[waits] = false;
        if (!status) pages_buf_text(reply, "lock profiling is on\n");
    } else if (!strcmp(verb, "disable")) {
        wanted[0] = wanted[1] = false;
        status = apply(err);
        if (!status)
            pages_buf_text(reply, atomic_load(&lock_active)
                                      ? "lock profiling goes off when the running captures end\n"
                                      : "lock profiling is off\n");
    } else if (!strcmp(verb, "reset")) {
        status = atomic_load(&lock_book) ? book_replace(err) : 0;
        if (!status) pages_buf_text(reply, "lock profile is empty again\n");
    } else if (!strcmp(verb, "status")) {
        status_text(reply);
    } else {
        status = err_set(err, ERR_NOT_FOUND,
                         "lock profiling knows enable, disable, status and reset, not \"%s\"", verb);
    }
    pthread_mutex_unlock(&lock);
    return status;
}

static int locks_control(const char *verb, const struct kind_options *options, struct pages_buf *reply,
                         struct err *err)
{
    return control(verb, false, options, reply, err);
}

static int waits_control(const char *verb, const struct kind_options *options, struct pages_buf *reply,
                         struct err *err)
{
    return control(verb, true, options, reply, err);
}

/* contention=on, contention=block (all waits); contention_interval=1ms */
static void lock_started(void)
{
    struct err err;
    const char *period = config_text("contention_interval", "");
    pthread_mutex_lock(&lock);
    int status = *period ? set_period(period, &err) : 0;
    if (!status && config_flag("contention", false)) {
        wanted[!strcmp(config_text("contention", ""), "block")] = true;
        status = apply(&err);
    }
    if (status && !config_flag("quiet", false)) dprintf(STDERR_FILENO, "procprof: %s\n", err.text);
    pthread_mutex_unlock(&lock);
}

/* A capture that is still running switches the hooks off when it ends. */
static void lock_stopped(void)
{
    pthread_mutex_lock(&lock);
    wanted[0] = wanted[1] = false;
    if (atomic_load(&lock_active)) apply(NULL);
    pthread_mutex_unlock(&lock);
}

static void lock_forked(void)
{
    pthread_mutex_init(&lock, NULL);
    epoch_reset(&lock_epoch);
    wanted[0] = wanted[1] = false;
    n_captures[0] = n_captures[1] = 0;
    is_holding_tables = false;
    atomic_store(&lock_active, false);
    lock_switch_forked();
}

static const struct kind contention_kind = {
    .name = "contention",
    .title = "time spent waiting for mutexes and rwlocks, by the stack that waited",
    .start = locks_start,
    .stop = locks_stop,
    .snapshot = locks_snapshot,
    .control = locks_control,
    .agent_started = lock_started,
    .agent_stopped = lock_stopped,
    .forked = lock_forked,
};
KIND_REGISTER(contention_kind);

static const struct kind mutex_kind = {
    .name = "mutex",
    .title = "the same, under the name Go uses",
    .start = locks_start,
    .stop = locks_stop,
    .snapshot = locks_snapshot,
    .control = locks_control,
};
KIND_REGISTER(mutex_kind);

static const struct kind block_kind = {
    .name = "block",
    .title = "time spent waiting for mutexes, rwlocks, condition variables, semaphores and futexes",
    .start = waits_start,
    .stop = waits_stop,
    .snapshot = waits_snapshot,
    .control = waits_control,
};
KIND_REGISTER(block_kind);
