/* lock_hook.c - the exported waiting functions and their counting versions (see lock_hook.h).
 *
 * A lock is tried first, whatever its type. A trylock answers EBUSY exactly when the lock call would wait, or
 * refuse: EDEADLK then comes from the call that follows. Only then is the clock read.
 */
#include "agent/hot/lock_hook.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#include "agent/hot/heap_hook.h"

#define likely(x) __builtin_expect(!!(x), 1)
#define COLD      __attribute__((noinline)) HOOK_TEXT

/* No <unistd.h> here: it declares syscall with "...". */
#define EXPORT(name, type, arguments, values) HOOK_EXPORT(lock_routes, name, type, arguments, values)
LOCK_IN_C(EXPORT)
#if defined(__x86_64__)
_Static_assert(FUTEX_WAIT == 0 && FUTEX_WAIT_BITSET == 9 && FUTEX_CMD_MASK == ~(128 | 256), "lock_syscall.S");
#define exported_syscall lock_exported_syscall
#define counting_syscall lock_counting_syscall
#endif

/* ---- on: try, and measure only a lock that is taken */
#define COUNTING(name, arguments, values, object, kind, try)                                                 \
    COLD static int waiting_##name arguments                                                                 \
    {                                                                                                        \
        struct lock_wait w;                                                                                  \
        lock_wait_begin(&w, kind, (const void *)exported_##name);                                            \
        int status = lock_real.name values;                                                                  \
        lock_wait_end(&w);                                                                                   \
        return status;                                                                                       \
    }                                                                                                        \
    HOOK_TEXT static int counting_##name arguments                                                           \
    {                                                                                                        \
        int status = lock_tries.try(object);                                                                 \
        if (likely(status != EBUSY)) return status;                                                          \
        return lock_thread.busy ? lock_real.name values : waiting_##name values;                             \
    }
#define MUTEX_KIND                         m, LOCK_MUTEX, mutex
#define READER_KIND                        l, LOCK_RWLOCK, read
#define WRITER_KIND                        l, LOCK_RWLOCK, write
#define COUNT(name, arguments, values, of) COUNTING(name, arguments, values, of)
COUNT(pthread_mutex_lock, (pthread_mutex_t * m), (m), MUTEX_KIND)
COUNT(pthread_mutex_timedlock, (pthread_mutex_t * m, const struct timespec *until), (m, until), MUTEX_KIND)
COUNT(pthread_mutex_clocklock, (pthread_mutex_t * m, clockid_t clock, const struct timespec *until),
      (m, clock, until), MUTEX_KIND)
COUNT(pthread_rwlock_rdlock, (pthread_rwlock_t * l), (l), READER_KIND)
COUNT(pthread_rwlock_wrlock, (pthread_rwlock_t * l), (l), WRITER_KIND)
COUNT(pthread_rwlock_timedrdlock, (pthread_rwlock_t * l, const struct timespec *until), (l, until),
      READER_KIND)
COUNT(pthread_rwlock_timedwrlock, (pthread_rwlock_t * l, const struct timespec *until), (l, until),
      WRITER_KIND)
COUNT(pthread_rwlock_clockrdlock, (pthread_rwlock_t * l, clockid_t clock, const struct timespec *until),
      (l, clock, until), READER_KIND)
COUNT(pthread_rwlock_clockwrlock, (pthread_rwlock_t * l, clockid_t clock, const struct timespec *until),
      (l, clock, until), WRITER_KIND)

/* ---- condition variables */
#define COUNTING_COND(name, arguments, values)                                                               \
    HOOK_TEXT static int counting_##name arguments                                                           \
    {                                                                                                        \
        struct lock_wait w;                                                                                  \
        if (lock_thread.busy) return lock_real.name values;                                                  \
        lock_wait_begin(&w, LOCK_COND, (const void *)exported_##name);                                       \
        int status = lock_real.name values;                                                                  \
        lock_wait_end(&w);                                                                                   \
        return status;                                                                                       \
    }
COUNTING_COND(pthread_cond_wait, (pthread_cond_t * c, pthread_mutex_t *m), (c, m))
COUNTING_COND(pthread_cond_timedwait, (pthread_cond_t * c, pthread_mutex_t *m, const struct timespec *until),
              (c, m, until))
COUNTING_COND(pthread_cond_clockwait,
              (pthread_cond_t * c, pthread_mutex_t *m, clockid_t clock, const struct timespec *until),
              (c, m, clock, until))

/* ---- semaphores: failure is -1 and errno. A cancelled thread must end here even when it would not have
 * to wait; sem_trywait alone does not do that. */
#define COUNTING_SEM(name, arguments, values)                                                                \
    COLD static int waiting_##name arguments                                                                 \
    {                                                                                                        \
        struct lock_wait w;                                                                                  \
        lock_wait_begin(&w, LOCK_SEM, (const void *)exported_##name);                                        \
        int status = lock_real.name values;                                                                  \
        lock_wait_end(&w);                                                                                   \
        return status;                                                                                       \
    }                                                                                                        \
    HOOK_TEXT static int counting_##name arguments                                                           \
    {                                                                                                        \
        int saved = errno;                                                                                   \
        lock_tries.test_cancel();                                                                            \
        if (likely(lock_tries.sem(s) == 0)) return 0;                                                        \
        errno = saved;                                                                                       \
        return lock_thread.busy ? lock_real.name values : waiting_##name values;                             \
    }
COUNTING_SEM(sem_wait, (sem_t * s), (s))
COUNTING_SEM(sem_timedwait, (sem_t * s, const struct timespec *until), (s, until))
COUNTING_SEM(sem_clockwait, (sem_t * s, clockid_t clock, const struct timespec *until), (s, clock, until))

/* ---- bare futexes */
COLD long lock_waiting_futex(const long *f, long a, long b, long c, long d, long e)
{
    struct lock_wait w;
    if (lock_thread.busy) return lock_real.syscall(SYS_futex, a, b, c, d, e, *f);
    lock_wait_begin(&w, LOCK_FUTEX, (const void *)exported_syscall);
    long status = lock_real.syscall(SYS_futex, a, b, c, d, e, *f);
    lock_wait_end(&w);
    return status;
}

#if !defined(__x86_64__)
HOOK_TEXT static long counting_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    int command = (int)b & FUTEX_CMD_MASK;
    if (number != SYS_futex || (command != FUTEX_WAIT && command != FUTEX_WAIT_BITSET))
        return lock_real.syscall(number, a, b, c, d, e, f);
    return lock_waiting_futex(&f, a, b, c, d, e);
}
#endif

#define COUNTED(name, type, arguments, values)     .name = counting_##name,
#define EXPORTED_AS(name, type, arguments, values) .name = exported_##name,
const struct lock_functions lock_counting = {LOCK_ALL(COUNTED)};
const struct lock_functions lock_exported = {LOCK_ALL(EXPORTED_AS)};
