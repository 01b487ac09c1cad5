/* lock_hook.h - waits for locks, seen by the sampler.
 *
 *     host: pthread_mutex_lock(m) ──off──> libc's
 *                                 ──on───> trylock ──got it──> done: that was all
 *                                              └─busy──> note the time, wait, note the time
 *
 * As with allocations, each exported function is one jump through lock_routes. A wait of d nanoseconds passes
 * a mark with probability 1 - exp(-d / period) and is then counted with the inverse of that (heap_poisson.h).
 *
 * The stack should not be walked inside the critical section, and most waits are not sampled. The countdown
 * says before the wait how long the wait must last to be sampled. If that is within reach of this thread's
 * usual waits, the stack is walked before the wait, when the thread has nothing else to do. If it is far
 * beyond, nothing is done. A wait that then turns out several times longer than usual, and passes the mark,
 * is walked after it with the lock held (half a microsecond, counted as `late`). Interrupting long waits to
 * walk the stack in the middle was tried and given up: the thread loses its place in the queue, which
 * prolongs exactly the waits that are sampled. Waits for condition variables begin and end with their mutex
 * held, so their stacks are always walked after the wait.
 *
 * The hooks take no lock, allocate nothing and keep errno. A thread that is cancelled in a wait, or jumps out
 * of it, leaves through our frames; they hold no state that would have to be undone. A cancellation point of
 * libc is a cancellation point here.
 */
#ifndef AGENT_HOT_LOCK_HOOK_H
#define AGENT_HOT_LOCK_HOOK_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "agent/hot/epoch.h"
#include "agent/hot/heap_poisson.h"
#include "agent/hot/stack_table.h"

#pragma GCC visibility push(hidden)

/* name, return type, arguments with types, arguments */
#define LOCK_LOCKS(X)                                                                                        \
    X(pthread_mutex_lock, int, (pthread_mutex_t * m), (m))                                                   \
    X(pthread_mutex_timedlock, int, (pthread_mutex_t * m, const struct timespec *until), (m, until))         \
    X(pthread_mutex_clocklock, int, (pthread_mutex_t * m, clockid_t clock, const struct timespec *until),    \
      (m, clock, until))                                                                                     \
    X(pthread_rwlock_rdlock, int, (pthread_rwlock_t * l), (l))                                               \
    X(pthread_rwlock_wrlock, int, (pthread_rwlock_t * l), (l))                                               \
    X(pthread_rwlock_timedrdlock, int, (pthread_rwlock_t * l, const struct timespec *until), (l, until))     \
    X(pthread_rwlock_timedwrlock, int, (pthread_rwlock_t * l, const struct timespec *until), (l, until))     \
    X(pthread_rwlock_clockrdlock, int,                                                                       \
      (pthread_rwlock_t * l, clockid_t clock, const struct timespec *until), (l, clock, until))              \
    X(pthread_rwlock_clockwrlock, int,                                                                       \
      (pthread_rwlock_t * l, clockid_t clock, const struct timespec *until), (l, clock, until))

#define LOCK_WAITS(X)                                                                                        \
    X(pthread_cond_wait, int, (pthread_cond_t * c, pthread_mutex_t * m), (c, m))                             \
    X(pthread_cond_timedwait, int, (pthread_cond_t * c, pthread_mutex_t * m, const struct timespec *until),  \
      (c, m, until))                                                                                         \
    X(pthread_cond_clockwait, int,                                                                           \
      (pthread_cond_t * c, pthread_mutex_t * m, clockid_t clock, const struct timespec *until),              \
      (c, m, clock, until))                                                                                  \
    X(sem_wait, int, (sem_t * s), (s))                                                                       \
    X(sem_timedwait, int, (sem_t * s, const struct timespec *until), (s, until))                             \
    X(sem_clockwait, int, (sem_t * s, clockid_t clock, const struct timespec *until), (s, clock, until))

/* Bare futexes: Rust's standard library and others wait by syscall(SYS_futex, ...). */
#define LOCK_SYSCALL(X)                                                                                      \
    X(syscall, long, (long number, long a, long b, long c, long d, long e, long f),                          \
      (number, a, b, c, d, e, f))

#define LOCK_ALL(X) LOCK_SYSCALL(X) LOCK_LOCKS(X) LOCK_WAITS(X)

/* The functions that are written in C. lock_syscall.S says why syscall is not, on x86-64. */
#if defined(__x86_64__)
#define LOCK_IN_C(X) LOCK_LOCKS(X) LOCK_WAITS(X)
#else
#define LOCK_IN_C(X) LOCK_ALL(X)
#endif

#define LOCK_ROUTE(name, type, arguments, values) _Atomic(type(*) arguments) name;
#define LOCK_REAL(name, type, arguments, values)  type(*name) arguments;
struct lock_routes {
    LOCK_ALL(LOCK_ROUTE)
};
struct lock_functions {
    LOCK_ALL(LOCK_REAL)
};
#undef LOCK_ROUTE
#undef LOCK_REAL

_Static_assert(offsetof(struct lock_routes, syscall) == 0 && offsetof(struct lock_functions, syscall) == 0,
               "lock_syscall.S");

struct lock_tries { /* what the counting versions call in addition */
    int (*mutex)(pthread_mutex_t *m);
    int (*read)(pthread_rwlock_t *l);
    int (*write)(pthread_rwlock_t *l);
    int (*sem)(sem_t *s);
    void (*test_cancel)(
        void); /* unwinds the thread when it was cancelled; otherwise only reads a flag of the thread */
};

extern struct lock_routes lock_routes;
extern struct lock_functions lock_real; /* libc's functions; NULL where libc is too old to have one */
extern struct lock_tries lock_tries;
extern const struct lock_functions lock_counting;
extern const struct lock_functions lock_exported;

enum lock_kind {
    LOCK_MUTEX,
    LOCK_RWLOCK,
    LOCK_COND,
    LOCK_SEM,
    LOCK_FUTEX,
    LOCK_N_KINDS
};                                                          /* the tag of a stack */
enum lock_counter { LOCK_COUNT, LOCK_NS, LOCK_N_COUNTERS }; /* LOCK_COUNT in 1/POISSON_ONE */

struct lock_book {
    struct stack_table *stacks;
    uint32_t
        overflow[LOCK_N_KINDS]; /* empty stacks: samples without room for their stack are counted there */
    uint64_t epoch;
    _Atomic uint64_t n_samples;
    _Atomic uint64_t n_late; /* stacks that were walked with the lock held */
};

extern _Atomic(struct lock_book *) lock_book;
extern struct epoch lock_epoch;
extern _Atomic bool lock_active;
extern _Atomic uint64_t lock_period_ns;
extern _Atomic uint64_t lock_seed;

struct lock_thread {
    struct poisson poisson;
    int64_t usual_ns; /* how long its waits last, as a moving average */
    bool busy;        /* the hooks pass through; set for good in threads of the library */
};
extern __thread struct lock_thread lock_thread __attribute__((tls_model("initial-exec")));

/* lock_syscall.S */
long lock_exported_syscall(long number, long a, long b, long c, long d, long e, long f);
long lock_counting_syscall(long number, long a, long b, long c, long d, long e, long f);
long lock_bare_syscall(long number, long a, long b, long c, long d, long e, long f);
/* A wait for a futex, with its arguments. The last one is passed by its address, which must not be written
 * to. */
long lock_waiting_futex(const long *f, long a, long b, long c, long d, long e);

/* One wait, on the waiter's stack. */
struct lock_wait {
    int64_t begin_ns;
    bool has_stack;
    uint64_t epoch; /* of the book that holds the stack */
    uint32_t stack;
    enum lock_kind kind;
    const void *function; /* the exported function: the leaf of the stack */
};

void lock_wait_begin(struct lock_wait *w, enum lock_kind kind, const void *function);
void lock_wait_end(struct lock_wait *w);

#pragma GCC visibility pop
#endif
