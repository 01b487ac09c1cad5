/* lock_rank.c - see lock_rank.h. The linker gives calls of pthread_mutex_lock to __wrap_pthread_mutex_lock;
 * __real_pthread_mutex_lock is the function of libc (ld's option --wrap, set in the Makefile). */
#include "base/lock_rank.h"

#if ASSERT_ON

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __real_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __real_pthread_mutex_destroy(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_destroy(pthread_mutex_t *mutex);

static const char *const names[LOCK_N_RANKS] = {
    [LOCK_LISTENERS] = "listeners",
    [LOCK_MYSQL] = "mysql",
    [LOCK_HTTP] = "http",
    [LOCK_COLLECTOR] = "collector",
    [LOCK_CLUSTER] = "cluster",
    [LOCK_SESSIONS] = "sessions",
    [LOCK_VIEWS] = "views",
    [LOCK_STORE_CHANGE] = "store change",
    [LOCK_STORE_RECORDS] = "store records",
    [LOCK_STORE_INDEX] = "store index",
    [LOCK_PULL] = "pull",
    [LOCK_SYMBOLIZER] = "symbolizer",
    [LOCK_OBJECT] = "object",
    [LOCK_SYMTAB] = "symtab",
    [LOCK_DWARF] = "dwarf",
    [LOCK_SCOPE_NAMES] = "scope names",
    [LOCK_EVENTS] = "events",
};

/* Address and rank of every mutex that has a rank: a hash table with a bounded number of probes. A mutex that
 * finds no free slot is not checked. All threads read it, and threads that make or destroy mutexes write it.
 * Accesses are relaxed atomics on purpose: a lock here would order threads that are not ordered otherwise,
 * and ThreadSanitizer would miss their races. A thread uses a mutex only after its initialisation has become
 * visible to that thread, so it finds the slot of its own mutex. */
enum { N_SLOTS = 1 << 14, N_PROBES = 64 };
static struct {
    uintptr_t mutex; /* 0: never used; FREED: may be used again */
    int rank;
} slots[N_SLOTS];
#define FREED ((uintptr_t)1)

enum { MAX_HELD = 16 };
static __thread struct {
    const pthread_mutex_t *mutex;
    int rank;
} held[MAX_HELD];
static __thread int n_held;

static size_t first_slot(uintptr_t mutex)
{
    return (size_t)((uint64_t)mutex * 0x9e3779b97f4a7c15u >> 40);
}

static ptrdiff_t find_slot(const pthread_mutex_t *mutex)
{
    uintptr_t key = (uintptr_t)mutex;
    for (size_t i = 0, at = first_slot(key); i < N_PROBES; i++) {
        size_t slot = (at + i) % N_SLOTS;
        uintptr_t there = __atomic_load_n(&slots[slot].mutex, __ATOMIC_RELAXED);
        if (there == key) return (ptrdiff_t)slot;
        if (!there) break;
    }
    return -1;
}

static void add_slot(const pthread_mutex_t *mutex, enum lock_rank rank)
{
    uintptr_t key = (uintptr_t)mutex;
    for (size_t i = 0, at = first_slot(key); i < N_PROBES; i++) {
        size_t slot = (at + i) % N_SLOTS;
        uintptr_t there = __atomic_load_n(&slots[slot].mutex, __ATOMIC_RELAXED);
        if (there > FREED) continue;
        if (!__atomic_compare_exchange_n(&slots[slot].mutex, &there, key, false, __ATOMIC_RELAXED,
                                         __ATOMIC_RELAXED))
            continue;
        __atomic_store_n(&slots[slot].rank, rank, __ATOMIC_RELAXED);
        return;
    }
}

static void forget(const pthread_mutex_t *mutex)
{
    ptrdiff_t slot = find_slot(mutex);
    if (slot >= 0) __atomic_store_n(&slots[slot].mutex, FREED, __ATOMIC_RELAXED);
}

void lock_rank_init(pthread_mutex_t *mutex, enum lock_rank rank, const pthread_mutexattr_t *attributes)
{
    pthread_mutex_init(mutex, attributes);
    forget(mutex);
    add_slot(mutex, rank);
}

static void check_order(const pthread_mutex_t *mutex, int rank)
{
    for (int i = 0; i < n_held; i++)
        if (held[i].mutex == mutex) return; /* a recursive mutex */
    for (int i = 0; i < n_held; i++) {
        if (held[i].rank < rank) continue;
        dprintf(STDERR_FILENO,
                "wrong order of locks: a thread that holds '%s' takes '%s' (base/lock_rank.h)\n",
                names[held[i].rank], names[rank]);
        abort();
    }
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
    ptrdiff_t slot = find_slot(mutex);
    if (slot < 0) return __real_pthread_mutex_lock(mutex);
    int rank = __atomic_load_n(&slots[slot].rank, __ATOMIC_RELAXED);
    check_order(mutex, rank);
    int rc = __real_pthread_mutex_lock(mutex);
    ASSERT(n_held < MAX_HELD);
    held[n_held].mutex = mutex;
    held[n_held++].rank = rank;
    return rc;
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    for (int i = n_held; i-- > 0;) {
        if (held[i].mutex != mutex) continue;
        for (n_held--; i < n_held; i++) held[i] = held[i + 1];
        break;
    }
    return __real_pthread_mutex_unlock(mutex);
}

int __wrap_pthread_mutex_destroy(pthread_mutex_t *mutex)
{
    forget(mutex);
    return __real_pthread_mutex_destroy(mutex);
}

#endif
