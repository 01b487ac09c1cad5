/* kinds.c - the table of kinds, query parameters, and a capture from begin to end. */
#include "agent/kinds.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "agent/tables.h"

/* The linker gathers what KIND_REGISTER put into the section. Weak: a library without kinds still links. */
extern const struct kind *const __start_procprof_kinds[] __attribute__((weak, visibility("hidden")));
extern const struct kind *const __stop_procprof_kinds[] __attribute__((weak, visibility("hidden")));

static bool is_available(const struct kind *k)
{
    return !k->available || k->available();
}

const struct kind *kind_next(const struct kind *previous)
{
    bool found = !previous;
    for (const struct kind *const *k = __start_procprof_kinds; k < __stop_procprof_kinds; k++) {
        if (found && is_available(*k)) return *k;
        if (*k == previous) found = true;
    }
    return NULL;
}

const struct kind *kind_find(const char *name, size_t length)
{
    for (const struct kind *const *k = __start_procprof_kinds; k < __stop_procprof_kinds; k++)
        if (!strncmp((*k)->name, name, length) && !(*k)->name[length] && is_available(*k)) return *k;
    return NULL;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

bool kind_query(const char *query, const char *name, char *value, size_t size)
{
    size_t length = strlen(name), n = 0;
    value[0] = 0;
    const char *at = query;
    while (*at &&
           !(strncmp(at, name, length) == 0 && (at[length] == '=' || at[length] == '&' || !at[length]))) {
        at += strcspn(at, "&");
        if (*at) at++;
    }
    if (!*at) return false;
    at += length;
    if (*at == '=') at++;
    for (; *at && *at != '&' && n + 1 < size; at++) {
        char c = *at == '+' ? ' ' : *at;
        if (c == '%' && hex_digit(at[1]) >= 0 && hex_digit(at[2]) >= 0) {
            c = (char)(hex_digit(at[1]) * 16 + hex_digit(at[2]));
            at += 2;
        }
        if (c == 0) break;
        value[n++] = c;
    }
    value[n] = 0;
    return true;
}

static int64_t now_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000 + t.tv_nsec;
}

#define TICK_NS 20000000

static void wait_ticking(const struct kind *k, double seconds, const volatile bool *cancel)
{
    int64_t end = now_ns(CLOCK_MONOTONIC) + (int64_t)(seconds * 1e9);
    for (int64_t left; (left = end - now_ns(CLOCK_MONOTONIC)) > 0 && !(cancel && *cancel);) {
        nanosleep(&(struct timespec){.tv_nsec = left < TICK_NS ? left : TICK_NS}, NULL);
        tables_refresh();
        if (k->tick) k->tick();
    }
}

static int snapshot(const struct kind *k, const struct kind_options *options, struct output *output,
                    struct err *err)
{
    *output = (struct output){.name = k->name, .time_ns = now_ns(CLOCK_REALTIME)};
    int status = k->snapshot(options, output, err);
    if (!status && (output->samples.failed || output->data.failed || output->raw.failed))
        status = err_set(err, ERR_LIMIT, "%s: the profile does not fit in memory", k->name);
    if (status) output_free(output);
    return status;
}

static int capture_between(const struct kind *k, const struct kind_options *options,
                           const volatile bool *cancel, struct output *output, struct err *err)
{
    int64_t begin_ns = now_ns(CLOCK_REALTIME), begin_mono_ns = now_ns(CLOCK_MONOTONIC);
    int status = k->start(options, err);
    if (status) return status;
    wait_ticking(k, options->seconds, cancel);
    k->stop();
    int64_t duration_ns = now_ns(CLOCK_MONOTONIC) - begin_mono_ns;
    status = snapshot(k, options, output, err);
    if (k->free_capture) k->free_capture();
    if (status) return status;
    output->time_ns = begin_ns;
    output->duration_ns = duration_ns;
    return 0;
}

static int capture_difference(const struct kind *k, const struct kind_options *options,
                              const volatile bool *cancel, struct output *output, struct err *err)
{
    struct output begin;
    int status = snapshot(k, options, &begin, err);
    if (status) return status;
    wait_ticking(k, options->seconds, cancel);
    status = snapshot(k, options, output, err);
    if (!status) {
        status = output_subtract(output, &begin, err);
        if (status) output_free(output);
    }
    output_free(&begin);
    return status;
}

/* One capture of a kind at a time, whoever asks (HTTP, the API). */
#define MAX_KINDS 32
static _Atomic bool busy[MAX_KINDS];

static _Atomic bool *busy_flag(const struct kind *k)
{
    for (const struct kind *const *at = __start_procprof_kinds; at < __stop_procprof_kinds; at++)
        if (*at == k && at - __start_procprof_kinds < MAX_KINDS) return &busy[at - __start_procprof_kinds];
    return &busy[MAX_KINDS - 1];
}

static int capture(const struct kind *k, const struct kind_options *options, const volatile bool *cancel,
                   struct output *output, struct err *err)
{
    if (k->is_capture) return capture_between(k, options, cancel, output, err);
    if (!options->has_seconds || options->seconds <= 0) return snapshot(k, options, output, err);
    int status = k->start ? k->start(options, err) : 0;
    if (status) return status;
    status = capture_difference(k, options, cancel, output, err);
    if (k->stop) k->stop();
    return status;
}

int kind_capture(const struct kind *k, const struct kind_options *options, const volatile bool *cancel,
                 struct output *output, struct err *err)
{
    _Atomic bool *flag = busy_flag(k);
    if (atomic_exchange(flag, true))
        return err_set(err, ERR_BUSY, "a %s is being taken already; ask again when it has ended", k->name);
    int status = capture(k, options, cancel, output, err);
    atomic_store(flag, false);
    return status;
}

void kinds_forked(void)
{
    memset((void *)busy, 0, sizeof busy);
    for (const struct kind *const *k = __start_procprof_kinds; k < __stop_procprof_kinds; k++)
        if ((*k)->forked) (*k)->forked();
}

void kinds_agent_started(void)
{
    for (const struct kind *const *k = __start_procprof_kinds; k < __stop_procprof_kinds; k++)
        if ((*k)->agent_started) (*k)->agent_started();
}
