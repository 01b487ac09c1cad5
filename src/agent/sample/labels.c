/* labels.c - see labels.h. Threads of the host add sets, under a lock; threads that write profiles read them
 * without it. The block of sets only grows and a set never changes, so a number that a reader has got from a
 * sample always names a complete set. */
#include "agent/sample/labels.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/host/pages.h"
#include "agent/host/threads.h"
#include "agent/hot/sampler.h"

#define TEXT_BYTES     ((size_t)4 << 20)
#define MAX_LABEL_SIZE 128

struct set {
    struct labels_pair pairs[LABELS_MAX_PER_SET];
    uint32_t n, next; /* next: of the same hash */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct set *sets; /* [0] is the empty set */
static uint32_t n_sets, heads[4096];
static char *text;
static size_t n_text;

/* The set of each thread by its tid, for the wall clock's thread, which looks at sleeping threads from
 * outside; 0: none. The kernel gives the tid of an ended thread to a new one, which must not inherit the
 * set. So the destructor of the key clears the entry when its thread ends. */
static _Atomic(_Atomic uint32_t *) set_of;
static pthread_key_t end_key;
#define SET_OF_BYTES (THREADS_MAX_TIDS * sizeof(uint32_t))

static void publish(uint32_t set)
{
    _Atomic uint32_t *table = atomic_load_explicit(&set_of, memory_order_acquire);
    if (!table) return;
    if (!sampler_own_tid) sampler_own_tid = (uint32_t)syscall(SYS_gettid);
    if (sampler_own_tid < THREADS_MAX_TIDS)
        atomic_store_explicit(&table[sampler_own_tid], set, memory_order_relaxed);
}

/* Will the destructor clear the entry of this thread? */
static bool is_cleared_at_end(void)
{
    return atomic_load_explicit(&set_of, memory_order_relaxed) &&
           (pthread_getspecific(end_key) || !pthread_setspecific(end_key, &end_key));
}

static void thread_ends(void *unused)
{
    (void)unused;
    publish(0);
}

uint32_t labels_of(uint32_t tid)
{
    _Atomic uint32_t *table = atomic_load_explicit(&set_of, memory_order_acquire);
    return table && tid < THREADS_MAX_TIDS ? atomic_load_explicit(&table[tid], memory_order_relaxed) : 0;
}

static bool ready(void)
{
    if (sets) return true;
    struct set *memory = pages_map(LABELS_MAX_SETS * sizeof *sets);
    text = pages_map(TEXT_BYTES);
    if (!memory || !text) return false;
    n_sets = 1;
    sets = memory;
    if (!pthread_key_create(&end_key, thread_ends)) /* without the key, sleeping threads have no labels */
        atomic_store_explicit(&set_of, (_Atomic uint32_t *)pages_map(SET_OF_BYTES), memory_order_release);
    return true;
}

static uint32_t hash_set(const struct labels_pair *pairs, uint32_t n)
{
    uint32_t h = n;
    for (uint32_t i = 0; i < n; i++) {
        for (const char *c = pairs[i].key; *c; c++) h = h * 31 + (unsigned char)*c;
        for (const char *c = pairs[i].value; *c; c++) h = h * 37 + (unsigned char)*c;
    }
    return (h ^ h >> 15) % 4096;
}

static const char *keep_text(const char *s)
{
    size_t n = strnlen(s, MAX_LABEL_SIZE - 1);
    if (n_text + n + 1 > TEXT_BYTES) return NULL;
    char *at = text + n_text;
    memcpy(at, s, n);
    n_text += n + 1;
    return at;
}

static int64_t intern(const struct labels_pair *pairs, uint32_t n)
{
    if (n == 0) return 0;
    uint32_t *head = &heads[hash_set(pairs, n)];
    for (uint32_t at = *head; at; at = sets[at].next) {
        uint32_t i = 0;
        while (i < n && sets[at].n == n && !strcmp(sets[at].pairs[i].key, pairs[i].key) &&
               !strcmp(sets[at].pairs[i].value, pairs[i].value))
            i++;
        if (i == n) return at;
    }
    if (n_sets == LABELS_MAX_SETS) return -1;
    struct set *s = &sets[n_sets];
    for (uint32_t i = 0; i < n; i++) {
        s->pairs[i] = (struct labels_pair){keep_text(pairs[i].key), keep_text(pairs[i].value)};
        if (!s->pairs[i].key || !s->pairs[i].value) return -1;
    }
    s->n = n;
    s->next = *head;
    return *head = n_sets++;
}

int labels_set(const char *key, const char *value)
{
    pthread_mutex_lock(&lock);
    int64_t set = -1;
    if (ready()) {
        struct labels_pair pairs[LABELS_MAX_PER_SET + 1];
        const struct set *current = &sets[sampler_label_set];
        uint32_t n = 0;
        char short_key[MAX_LABEL_SIZE], short_value[MAX_LABEL_SIZE];
        strncpy(short_key, key, sizeof short_key - 1)[sizeof short_key - 1] = 0;
        for (uint32_t i = 0; i < current->n; i++)
            if (strcmp(current->pairs[i].key, short_key)) pairs[n++] = current->pairs[i];
        if (value) {
            strncpy(short_value, value, sizeof short_value - 1)[sizeof short_value - 1] = 0;
            pairs[n++] = (struct labels_pair){short_key, short_value};
        }
        if (n <= LABELS_MAX_PER_SET) set = intern(pairs, n);
    }
    pthread_mutex_unlock(&lock);
    if (set < 0) return -1;
    sampler_label_set = (uint32_t)set;
    if (is_cleared_at_end()) publish((uint32_t)set);
    return 0;
}

unsigned labels_get(uint32_t set, struct labels_pair pairs[LABELS_MAX_PER_SET])
{
    if (!set || !sets || set >= LABELS_MAX_SETS) return 0;
    memcpy(pairs, sets[set].pairs, sizeof sets[set].pairs);
    return sets[set].n;
}

void labels_forked(void)
{
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    void *table = atomic_load(&set_of);
    if (!table) return;
    madvise(table, SET_OF_BYTES,
            MADV_DONTNEED); /* the pages read as zero again: the other threads do not exist in the child */
    if (sampler_label_set) publish(sampler_label_set);
}
