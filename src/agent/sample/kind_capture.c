/* kind_capture.c - a capture from begin to end (kinds.h), and how several of one kind at once go together.
 *
 *     reader 1   start ────────────────────────────────── snapshot
 *     reader 2            mark ─────────────────────────────────── stop, snapshot since the mark
 *
 * A capture kind has one sampler, which only ever adds to its counters. Who comes while it runs marks where
 * they stand and reads the difference in the end; the first one starts it and the last one stops it, whoever
 * that is. What was lost is told to each for its own time.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "agent/hot/raw_clock.h"
#include "agent/sample/capture.h"
#include "agent/sample/kinds.h"
#include "agent/unwind/tables.h"

#define TICK_NS    20000000
#define PATIENCE_S 10.0  /* for a capture that does not fit to end */
#define JOIN_S     600.0 /* an older one is joined no more: its table must be emptied some time */

struct reader { /* on the stack of kind_capture */
    int64_t begin_ns, end_ns;
    struct capture_mark *mark; /* NULL: from the start */
    struct reader *next;
};

struct session { /* of a capture kind, by its number */
    pthread_mutex_t lock;
    int64_t begin_ns;
    _Atomic(struct reader *) readers; /* the first one ticks; NULL: nothing runs */
};
static struct session sessions[KINDS_MAX] = {[0 ... KINDS_MAX - 1] = {.lock = PTHREAD_MUTEX_INITIALIZER}};

static int64_t date_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t ns(double seconds)
{
    return (int64_t)(seconds * 1e9);
}

static bool is_cancelled(const _Atomic bool *cancel)
{
    return cancel && atomic_load(cancel);
}

/* Until then, keeping the unwinder's tables fresh; a reader whose turn it is lets the sampler look around. */
static void wait_until(int64_t end_ns, const _Atomic bool *cancel, const struct kind *k,
                       const struct session *s, const struct reader *r)
{
    for (int64_t left; (left = end_ns - clock_now_ns()) > 0 && !is_cancelled(cancel);) {
        nanosleep(&(struct timespec){.tv_nsec = left < TICK_NS ? left : TICK_NS}, NULL);
        tables_refresh();
        if (r && k->tick && atomic_load(&s->readers) == r) k->tick();
    }
}

/* Waits a little; false when that was long enough. */
static bool waits_on(int64_t give_up_ns, const _Atomic bool *cancel)
{
    if (clock_now_ns() >= give_up_ns || is_cancelled(cancel)) return false;
    nanosleep(&(struct timespec){.tv_nsec = TICK_NS}, NULL);
    return true;
}

static int snapshot(const struct kind *k, const struct kind_options *options, struct output *output,
                    struct err *err)
{
    *output = (struct output){.name = k->name, .time_ns = date_ns()};
    int status = k->snapshot(options, output, err);
    if (!status && (output->samples.failed || output->data.failed || output->raw.failed))
        status = err_set(err, ERR_LIMIT, "%s: the profile does not fit in memory", k->name);
    if (status) output_free(output);
    return status;
}

/* ---- capture kinds */

/* Starts the sampler, or marks where it stands. ERR_BUSY: it runs, and not as r wants it; *ret_free_ns is
 * when it will end, as far as that is known. */
static int enter(const struct kind *k, struct session *s, struct reader *r,
                 const struct kind_options *options, int64_t *ret_free_ns, struct err *err)
{
    int status = 0;
    pthread_mutex_lock(&s->lock);
    int64_t time_ns = clock_now_ns();
    *ret_free_ns = 0;
    if (!s->readers) {
        status = k->start(options, err);
        s->begin_ns = time_ns;
    } else if (k->fits && k->fits(options) && time_ns - s->begin_ns < ns(JOIN_S)) {
        r->mark = k->mark();
        if (!r->mark) status = err_set(err, ERR_LIMIT, "%s: no memory for a second reader", k->name);
    } else {
        for (const struct reader *other = s->readers; other; other = other->next)
            if (other->end_ns > *ret_free_ns) *ret_free_ns = other->end_ns;
        int64_t left_ns = *ret_free_ns - time_ns;
        status =
            err_set(err, ERR_BUSY,
                    "a %s is being taken already, with other settings; it ends in %lld s, ask again then",
                    k->name, left_ns < 0 ? 0 : (long long)(left_ns / 1000000000 + 1));
    }
    if (!status) {
        r->begin_ns = clock_now_ns();
        r->end_ns = r->begin_ns + ns(options->seconds);
        r->next = s->readers;
        s->readers = r;
    }
    pthread_mutex_unlock(&s->lock);
    return status;
}

static void unlink_reader(struct session *s, struct reader *r)
{
    if (s->readers == r) {
        s->readers = r->next;
        return;
    }
    struct reader *before = s->readers;
    while (before->next != r) before = before->next;
    before->next = r->next;
}

static int leave(const struct kind *k, struct session *s, struct reader *r,
                 const struct kind_options *options, struct output *output, struct err *err)
{
    struct kind_options mine = *options;
    mine.since = r->mark;
    pthread_mutex_lock(&s->lock);
    unlink_reader(s, r);
    bool is_last = !s->readers;
    if (is_last) k->stop();
    int64_t duration_ns = clock_now_ns() - r->begin_ns;
    int status = snapshot(k, &mine, output, err);
    if (!status) output->duration_ns = duration_ns;
    if (is_last && k->free_capture) k->free_capture();
    pthread_mutex_unlock(&s->lock);
    capture_mark_free(r->mark);
    return status;
}

static int capture_between(const struct kind *k, const struct kind_options *options,
                           const _Atomic bool *cancel, struct output *output, struct err *err)
{
    struct session *s = &sessions[kind_number(k)];
    struct reader r = {0};
    int64_t give_up_ns = clock_now_ns() + ns(PATIENCE_S), free_ns;
    int status;
    do status = enter(k, s, &r, options, &free_ns, err);
    while (status == ERR_BUSY && free_ns < give_up_ns && waits_on(give_up_ns, cancel));
    if (status) return status;
    int64_t begin_ns = date_ns();
    wait_until(r.end_ns, cancel, k, s, &r);
    status = leave(k, s, &r, options, output, err);
    if (!status) output->time_ns = begin_ns;
    return status;
}

/* ---- counter kinds */

static int capture_difference(const struct kind *k, const struct kind_options *options,
                              const _Atomic bool *cancel, struct output *output, struct err *err)
{
    struct output begin;
    int status = snapshot(k, options, &begin, err);
    if (status) return status;
    wait_until(clock_now_ns() + ns(options->seconds), cancel, k, NULL, NULL);
    status = snapshot(k, options, output, err);
    if (!status) {
        status = output_subtract(output, &begin, err);
        if (status) output_free(output);
    }
    output_free(&begin);
    return status;
}

int kind_capture(const struct kind *k, const struct kind_options *options, const _Atomic bool *cancel,
                 struct output *output, struct err *err)
{
    if (k->is_capture) return capture_between(k, options, cancel, output, err);
    int status;
    if (!options->has_seconds || options->seconds <= 0) {
        int64_t give_up_ns = clock_now_ns() + ns(PATIENCE_S);
        do status = snapshot(k, options, output, err);
        while (status == ERR_BUSY && waits_on(give_up_ns, cancel));
        return status;
    }
    status = k->start ? k->start(options, err) : 0;
    if (status) return status;
    status = capture_difference(k, options, cancel, output, err);
    if (k->stop) k->stop();
    return status;
}

void kind_captures_forked(void)
{
    for (unsigned i = 0; i < KINDS_MAX; i++)
        sessions[i] = (struct session){.lock = PTHREAD_MUTEX_INITIALIZER};
}
