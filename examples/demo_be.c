/* demo_be.c - a small native backend that behaves like a database node, with libprocprof linked in.
 *
 *   build/demo_be --listen 127.0.0.1:8060          then open http://127.0.0.1:8060/debug/pprof/
 *
 * Worker threads run queries: a hash join, an aggregation, reads through an LRU cache, and a commit under one
 * mutex that all of them need. Every query leaks a little memory (up to a bound), so that a heap profile has
 * something to show. Compare the profiles with the function names below.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "procprof.h"

#define NOINLINE __attribute__((noinline))

static _Atomic int is_stopping;
static unsigned long n_queries;

static struct {
    const char *listen, *token, *settings;
    double seconds;        /* 0: until a signal */
    unsigned load_percent; /* of one core, over all workers */
    unsigned n_workers;
    unsigned log_write_ms; /* how long a commit holds the mutex of the log */
    size_t max_leaked_bytes;
} options = {.listen = "127.0.0.1:8060",
             .settings = "heap=on,contention=on",
             .load_percent = 30,
             .n_workers = 4,
             .log_write_ms = 2,
             .max_leaked_bytes = 64u << 20};

static uint64_t now_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void sleep_ns(uint64_t ns)
{
    nanosleep(&(struct timespec){.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)},
              NULL);
}

static void *must(void *memory)
{
    if (memory) return memory;
    fputs("demo_be: out of memory\n", stderr);
    abort();
}

/* ---- hash join: build a table of the small side, probe it with the large one */

#define BUILD_ROWS 20000u
#define PROBE_ROWS 200000u

struct row {
    uint64_t key, value;
    struct row *next;
};

struct hash_table {
    struct row **buckets, *rows;
    size_t mask;
};

static inline uint64_t mix(uint64_t x)
{
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdu;
    x ^= x >> 33;
    return x;
}

static NOINLINE void build_hash_table(struct hash_table *t, uint64_t seed)
{
    t->mask = 32767;
    t->buckets = must(calloc(t->mask + 1, sizeof *t->buckets));
    t->rows = must(malloc(BUILD_ROWS * sizeof *t->rows));
    for (uint32_t i = 0; i < BUILD_ROWS; i++) {
        struct row *r = &t->rows[i];
        *r = (struct row){.key = mix(seed + i), .value = i};
        struct row **bucket = &t->buckets[r->key & t->mask];
        r->next = *bucket;
        *bucket = r;
    }
}

static NOINLINE uint64_t probe_hash_table(const struct hash_table *t, uint64_t seed)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < PROBE_ROWS; i++) {
        uint64_t key = mix(seed + i % (2 * BUILD_ROWS));
        for (const struct row *r = t->buckets[key & t->mask]; r; r = r->next)
            if (r->key == key) {
                sum += r->value;
                break;
            }
    }
    return sum;
}

static NOINLINE uint64_t hash_join(uint64_t seed)
{
    struct hash_table t;
    build_hash_table(&t, seed);
    uint64_t sum = probe_hash_table(&t, seed);
    free(t.rows);
    free(t.buckets);
    return sum;
}

/* ---- aggregation and sort: a column, grouped; the groups, ordered */

#define N_GROUPS 4096u

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static NOINLINE void scan_and_group(uint64_t *groups, uint64_t seed)
{
    memset(groups, 0, N_GROUPS * sizeof *groups);
    for (uint32_t i = 0; i < 150000; i++) {
        uint64_t value = mix(seed ^ i);
        groups[value % N_GROUPS] += value >> 40;
    }
}

static NOINLINE uint64_t sort_groups(uint64_t *groups)
{
    qsort(groups, N_GROUPS, sizeof *groups, compare_u64);
    return groups[N_GROUPS / 2];
}

static NOINLINE uint64_t aggregate(uint64_t seed)
{
    uint64_t *groups = must(malloc(N_GROUPS * sizeof *groups));
    scan_and_group(groups, seed);
    uint64_t median = sort_groups(groups);
    free(groups);
    return median;
}

/* ---- an LRU cache of pages, shared by all workers */

#define PAGE_BYTES  16384u
#define CACHE_PAGES 1024u /* 16 MiB */
#define CACHE_SLOTS 2048u

struct page {
    uint64_t id;
    struct page *newer, *older, *next_in_slot;
    unsigned char bytes[PAGE_BYTES];
};

static struct {
    pthread_mutex_t lock;
    struct page *slots[CACHE_SLOTS], *newest, *oldest;
    unsigned n_pages;
} cache = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void cache_unlink(struct page *p)
{
    *(p->newer ? &p->newer->older : &cache.newest) = p->older;
    *(p->older ? &p->older->newer : &cache.oldest) = p->newer;
}

static void cache_push(struct page *p)
{
    p->newer = NULL;
    p->older = cache.newest;
    *(cache.newest ? &cache.newest->newer : &cache.oldest) = p;
    cache.newest = p;
}

static NOINLINE void cache_evict_oldest(void)
{
    struct page *victim = cache.oldest;
    struct page **at = &cache.slots[mix(victim->id) % CACHE_SLOTS];
    while (*at != victim) at = &(*at)->next_in_slot;
    *at = victim->next_in_slot;
    cache_unlink(victim);
    cache.n_pages--;
    free(victim);
}

static NOINLINE struct page *cache_load_page(uint64_t id)
{
    struct page *p = must(malloc(sizeof *p));
    p->id = id;
    for (uint32_t i = 0; i < PAGE_BYTES; i += 8) {
        uint64_t word = mix(id * PAGE_BYTES + i);
        memcpy(p->bytes + i, &word, 8);
    }
    return p;
}

static NOINLINE uint32_t checksum_page(const struct page *p)
{
    uint32_t a = 1, b = 0;
    for (uint32_t i = 0; i < PAGE_BYTES; i++) {
        a += p->bytes[i];
        b += a;
    }
    return b << 16 | (a & 0xffff);
}

static NOINLINE uint32_t cache_read(uint64_t id)
{
    pthread_mutex_lock(&cache.lock);
    struct page **slot = &cache.slots[mix(id) % CACHE_SLOTS], *p = *slot;
    while (p && p->id != id) p = p->next_in_slot;
    if (p) {
        cache_unlink(p);
    } else {
        if (cache.n_pages == CACHE_PAGES) cache_evict_oldest();
        p = cache_load_page(id);
        p->next_in_slot = *slot;
        *slot = p;
        cache.n_pages++;
    }
    cache_push(p);
    uint32_t sum = checksum_page(p);
    pthread_mutex_unlock(&cache.lock);
    return sum;
}

static NOINLINE uint32_t read_pages(uint64_t seed)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < 40; i++) {
        uint64_t dice = mix(seed + i);
        sum ^= cache_read(dice % 10 ? dice % 900 : dice % 100000); /* nine of ten reads hit hot pages */
    }
    return sum;
}

/* ---- the log: one mutex, held while the "disk" writes */

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t log_position;

static NOINLINE void write_log_record(uint64_t record)
{
    log_position = mix(log_position ^ record);
    sleep_ns(options.log_write_ms * 1000000ull);
}

static NOINLINE void commit_transaction(uint64_t record)
{
    pthread_mutex_lock(&log_lock);
    write_log_record(record);
    pthread_mutex_unlock(&log_lock);
}

/* ---- the leak: queries never free their context; when the bound is reached, the oldest one is freed */

#define CONTEXT_BYTES 8192u
static pthread_mutex_t leak_lock = PTHREAD_MUTEX_INITIALIZER;
static void **leaked;
static size_t n_leaked, max_leaked;

static NOINLINE void remember_query_context(void)
{
    if (!max_leaked) return;
    char *context = must(malloc(CONTEXT_BYTES));
    memset(context, 1, CONTEXT_BYTES);
    pthread_mutex_lock(&leak_lock);
    void **slot = &leaked[n_leaked++ % max_leaked];
    free(*slot);
    *slot = context;
    pthread_mutex_unlock(&leak_lock);
}

/* ---- workers */

static _Atomic uint64_t answer; /* keeps the compiler from removing the queries, whose results are not used */

static NOINLINE void execute_query(unsigned worker, uint64_t number)
{
    uint64_t seed = mix(worker * 1000003u + number);
    static const char *const kinds[] = {"join", "aggregate", "lookup"};
    unsigned kind = number % 5 < 3 ? 0 : number % 5 == 3 ? 1 : 2;
    pp_label_set("query", kinds[kind]);
    remember_query_context();
    if (kind == 0)
        answer ^= hash_join(seed);
    else if (kind == 1)
        answer ^= aggregate(seed);
    else
        answer ^= read_pages(seed);
    if (number % 8 == 0) commit_transaction(seed);
    pp_label_set("query", NULL);
}

static void *query_worker(void *argument)
{
    unsigned worker = (unsigned)(uintptr_t)argument;
    double share = options.load_percent / 100.0 / options.n_workers; /* of a core, for this thread */
    char name[16];
    snprintf(name, sizeof name, "query-%u", worker);
    pthread_setname_np(pthread_self(), name);
    uint64_t begin = now_ns(CLOCK_MONOTONIC);
    for (uint64_t number = worker; !is_stopping; number++) {
        execute_query(worker, number);
        __atomic_add_fetch(&n_queries, 1, __ATOMIC_RELAXED);
        uint64_t due = (uint64_t)((double)now_ns(CLOCK_THREAD_CPUTIME_ID) / share);
        uint64_t passed = now_ns(CLOCK_MONOTONIC) - begin;
        if (due > passed) {
            uint64_t pause = due - passed;
            sleep_ns(pause < 200000000u ? pause : 200000000u);
        }
    }
    return NULL;
}

static void on_signal(int number)
{
    (void)number;
    is_stopping = 1;
}

static int usage(FILE *to, int status)
{
    fputs(
        "usage: demo_be [--listen HOST:PORT] [--seconds S] [--load PERCENT] [--threads N] [--leak MIB]\n"
        "               [--log-write MS] [--token TOKEN] [--settings KEY=VALUE,...]\n"
        "A backend under load with libprocprof linked in. PORT 0 takes a free one; the port is printed.\n"
        "--load is the share of one core over all threads (default 30); a commit holds the mutex of the log\n"
        "for --log-write milliseconds (default 2; with 100 ms all threads wait for it most of the time);\n"
        "--seconds 0 (default) runs until SIGTERM or SIGINT. --listen off: no profiler.\n",
        to);
    return status;
}

static bool number_in(const char *text, double low, double high, double *ret)
{
    char *end;
    *ret = strtod(text, &end);
    return end != text && !*end && *ret >= low && *ret <= high;
}

static int read_options(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        double number = 0;
        bool good = value != NULL;
        if (!strcmp(name, "--help") || !strcmp(name, "-h")) exit(usage(stdout, 0));
        i++;
        if (!good) {
            fprintf(stderr, "demo_be: %s needs a value\n", name);
            return usage(stderr, 2);
        } else if (!strcmp(name, "--listen")) {
            options.listen = value;
        } else if (!strcmp(name, "--token")) {
            options.token = value;
        } else if (!strcmp(name, "--settings")) {
            options.settings = value;
        } else if (!strcmp(name, "--seconds")) {
            good = number_in(value, 0, 1e7, &number);
            options.seconds = number;
        } else if (!strcmp(name, "--load")) {
            good = number_in(value, 1, 6400, &number);
            options.load_percent = (unsigned)number;
        } else if (!strcmp(name, "--threads")) {
            good = number_in(value, 1, 256, &number);
            options.n_workers = (unsigned)number;
        } else if (!strcmp(name, "--log-write")) {
            good = number_in(value, 0, 1000, &number);
            options.log_write_ms = (unsigned)number;
        } else if (!strcmp(name, "--leak")) {
            good = number_in(value, 0, 4096, &number);
            options.max_leaked_bytes = (size_t)number << 20;
        } else {
            fprintf(stderr, "demo_be: unknown option %s\n", name);
            return usage(stderr, 2);
        }
        if (!good) {
            fprintf(stderr, "demo_be: %s %s: not a number in range\n", name, value);
            return 2;
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    int status = read_options(argc, argv);
    if (status) return status;
    max_leaked = options.max_leaked_bytes / CONTEXT_BYTES;
    if (max_leaked) leaked = must(calloc(max_leaked, sizeof *leaked));

    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);

    if (strcmp(options.listen, "off")) {
        struct pp_options agent = {.size = sizeof agent,
                                   .listen = options.listen,
                                   .token = options.token,
                                   .settings = options.settings};
        if (pp_agent_start(&agent)) {
            fprintf(stderr, "demo_be: %s\n", pp_error_text());
            return 1;
        }
        printf("demo_be: pid %d, profiles at port %d, /debug/pprof/\n", (int)getpid(), pp_agent_port());
    } else {
        printf("demo_be: pid %d\n", (int)getpid());
    }
    fflush(stdout);

    pthread_t *workers = must(calloc(options.n_workers, sizeof *workers));
    unsigned n_started = 0;
    for (; n_started < options.n_workers; n_started++) {
        int why = pthread_create(&workers[n_started], NULL, query_worker, (void *)(uintptr_t)n_started);
        if (why) {
            fprintf(stderr, "demo_be: cannot start thread %u: %s\n", n_started, strerror(why));
            is_stopping = 1;
            break;
        }
    }
    uint64_t end = now_ns(CLOCK_MONOTONIC) + (uint64_t)(options.seconds * 1e9);
    while (!is_stopping && (options.seconds == 0 || now_ns(CLOCK_MONOTONIC) < end)) sleep_ns(50000000);
    status = n_started < options.n_workers;
    is_stopping = 1;
    for (unsigned i = 0; i < n_started; i++) pthread_join(workers[i], NULL);
    pp_agent_stop();
    printf("demo_be: %lu queries\n", n_queries);
    while (cache.oldest) cache_evict_oldest();
    for (size_t i = 0; i < max_leaked; i++) free(leaked[i]);
    free(leaked);
    free(workers);
    return status;
}
