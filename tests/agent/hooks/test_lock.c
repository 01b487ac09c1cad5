/* The lock profiler in this process: waits the program measures itself, every kind of lock, what libc must
 * still answer. */
#include <errno.h>
#include <linux/futex.h>
#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "agent/hot/heap_hook.h"
#include "agent/hot/lock_hook.h"
#include "agent/sample/capture.h"

#include "../../t.h"
#include "../needs_hooks.h"

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000 + t.tv_nsec;
}

static void sleep_us(long us)
{
    nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
}

static void control(const char *kind, const char *verb, const char *query)
{
    struct err err = {0};
    struct pages_buf reply = {0};
    struct kind_options options = {.query = query};
    int status = kind_find(kind, strlen(kind))->control(verb, &options, &reply, &err);
    if (status) T_FAIL("%s: %s", verb, err.text);
    pages_buf_free(&reply);
}

/* Count and nanoseconds of samples with a frame in the function (the first `size` bytes of it) and this
 * label. */
struct sums {
    double count, ns;
};

static struct sums sums_of(const char *kind, const void *function, const char *label)
{
    struct err err = {0};
    struct output o;
    struct sums sums = {0};
    struct kind_options options = {.query = ""};
    int status = capture_take(kind_find(kind, strlen(kind)), &options, NULL, &o, &err);
    if (status) T_FAIL("%s", err.text);
    for (unsigned i = 0; !status && i < output_n_samples(&o); i++) {
        const struct output_sample *s = output_sample_at(&o, i);
        bool there = !function;
        for (unsigned f = 0; f < s->n_pcs; f++) there |= output_pcs(&o, s)[f] - (uintptr_t)function < 512;
        if (label && strcmp(label, output_label_text(&o, output_labels(&o, s)))) continue;
        if (!there) continue;
        sums.count += (double)output_values(&o, s)[0];
        sums.ns += (double)output_values(&o, s)[1];
    }
    if (!status) output_free(&o);
    return sums;
}

static bool near(double got, double want, double tolerance)
{
    if (fabs(got / want - 1) <= tolerance || (!IS_EXACT && got > 0)) return true;
    printf("# got %.0f, want %.0f (%.2f %%)\n", got, want, 100 * (got / want - 1));
    return false;
}

/* ---- contention the program measures itself */
enum { N_THREADS = 4 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static _Atomic int64_t measured_ns, n_waits;
static _Atomic bool stop;

static void hold(unsigned *x)
{
    *x = *x * 1664525 + 1013904223;
    if (*x >> 30 == 0)
        sleep_us(*x >> 20 & 1023); /* some long */
    else
        for (unsigned i = *x >> 22 & 255; i; i--) __asm__ volatile("" ::: "memory");
}

__attribute__((noinline, aligned(512))) static void lock_once(void)
{
    if (pthread_mutex_trylock(&mutex) == 0) return;
    int64_t begin_ns = now_ns();
    pthread_mutex_lock(&mutex);
    int64_t waited_ns = now_ns() - begin_ns;
    atomic_fetch_add(&measured_ns, waited_ns);
    atomic_fetch_add(&n_waits, 1);
}

static void *contend(void *number)
{
    unsigned x = (unsigned)(uintptr_t)number * 7919;
    while (!stop) {
        lock_once();
        hold(&x);
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

static void contend_for(double seconds)
{
    pthread_t threads[N_THREADS];
    stop = false;
    for (uintptr_t i = 0; i < N_THREADS; i++) pthread_create(&threads[i], NULL, contend, (void *)(i + 1));
    sleep_us((long)(seconds * 1e6) % 1000000);
    for (int i = 0; i < (int)seconds; i++) sleep_us(999999);
    stop = true;
    for (int i = 0; i < N_THREADS; i++) pthread_join(threads[i], NULL);
}

TEST(waiting_time_within_five_percent)
{
    struct sums s;
    for (int attempt = 0; attempt < 3; attempt++) { /* sampled: the error is about 1 %, seldom more */
        measured_ns = n_waits = 0;
        control("contention", "enable", "interval=500us");
        control("contention", "reset", "");
        contend_for(2.5);
        control("contention", "disable", "");
        s = sums_of("contention", lock_once, "mutex");
        printf("# measured %.0f ms in %lld waits; profile %.0f ms in %.0f; %llu samples, %llu late\n",
               (double)measured_ns / 1e6, (long long)n_waits, s.ns / 1e6, s.count,
               (unsigned long long)lock_book->n_samples, (unsigned long long)lock_book->n_late);
        if (near(s.ns, (double)measured_ns, 0.05)) break;
    }
    CHECK(near(s.ns, (double)measured_ns, 0.05));
    CHECK(lock_book->n_late * 5 <= lock_book->n_samples);
}

TEST(every_wait_is_counted_at_interval_one)
{
    control("contention", "enable", "interval=1");
    contend_for(0.3);
    control("contention", "disable", "");
    struct sums s = sums_of("contention", lock_once, "mutex");
    CHECK(near(s.count, (double)n_waits, 0.01) ||
          s.count >= (double)n_waits * 0.5); /* a free lock at the second try is no wait */
    CHECK(near(s.ns, (double)measured_ns, 0.10));
}

/* ---- every function: one known wait each */
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t sem;
static _Atomic int futex_word;
static void (*to_release)(void);

static void *release_later(void *unused)
{
    (void)unused;
    sleep_us(30000);
    to_release();
    return NULL;
}

static _Atomic int step; /* the helper holds the lock when 1 */
static void *hold_mutex(void *l)
{
    pthread_mutex_lock(l);
    step = 1;
    sleep_us(30000);
    pthread_mutex_unlock(l);
    return NULL;
}
static void *hold_write(void *l)
{
    pthread_rwlock_wrlock(l);
    step = 1;
    sleep_us(30000);
    pthread_rwlock_unlock(l);
    return NULL;
}

static pthread_t held(void *(*holder)(void *), void *object)
{
    pthread_t t;
    step = 0;
    pthread_create(&t, NULL, holder, object);
    while (!step) sched_yield();
    return t;
}

static struct timespec in_ms(clockid_t clock, long ms)
{
    struct timespec t;
    clock_gettime(clock, &t);
    t.tv_nsec += ms * 1000000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

/* The profile says what the test itself measured. On a busy machine a wait may turn out too short to be
 * sampled for certain: then once more. */
#define N_ATTEMPTS 8

static bool agrees(struct sums s, int64_t measured_wait_ns)
{
    return s.count >= 1 && s.ns > 0.9 * (double)measured_wait_ns - 1e6 &&
           s.ns < 1.2 * (double)measured_wait_ns + 1e6;
}

#define WAITS_30_MS(holder, object, call, release)                                                           \
    do {                                                                                                     \
        for (int attempt_ = 1;; attempt_++) {                                                                \
            control("block", "reset", "");                                                                   \
            pthread_t t_ = held(holder, object);                                                             \
            int64_t begin_ns_ = now_ns();                                                                    \
            CHECK_INT(call, 0);                                                                              \
            int64_t waited_ns_ = now_ns() - begin_ns_;                                                       \
            struct sums s_ = sums_of("block", NULL, NULL);                                                   \
            release;                                                                                         \
            pthread_join(t_, NULL);                                                                          \
            if (waited_ns_ > 15000000 && agrees(s_, waited_ns_)) break;                                      \
            if (attempt_ < N_ATTEMPTS) continue;                                                             \
            T_FAIL("%s: %.0f ns in %.0f, waited %lld", #call, s_.ns, s_.count, (long long)waited_ns_);       \
            break;                                                                                           \
        }                                                                                                    \
    } while (0)

TEST(locks_of_all_kinds)
{
    for (int round = 0; round < 2; round++) {
        /* a mark far away, then one close by: both ways of taking the stack */
        control("block", "enable", round ? "interval=1us" : "interval=5ms");
        struct timespec t;
        WAITS_30_MS(hold_mutex, &mutex, pthread_mutex_lock(&mutex), pthread_mutex_unlock(&mutex));
        t = in_ms(CLOCK_REALTIME, 5000);
        WAITS_30_MS(hold_mutex, &mutex, pthread_mutex_timedlock(&mutex, &t), pthread_mutex_unlock(&mutex));
        t = in_ms(CLOCK_MONOTONIC, 5000);
        if (IS_EXACT) /* ThreadSanitizer does not know that this one locks */
            WAITS_30_MS(hold_mutex, &mutex, pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &t),
                        pthread_mutex_unlock(&mutex));
        WAITS_30_MS(hold_write, &rwlock, pthread_rwlock_rdlock(&rwlock), pthread_rwlock_unlock(&rwlock));
        WAITS_30_MS(hold_write, &rwlock, pthread_rwlock_wrlock(&rwlock), pthread_rwlock_unlock(&rwlock));
        t = in_ms(CLOCK_REALTIME, 5000);
        WAITS_30_MS(hold_write, &rwlock, pthread_rwlock_timedrdlock(&rwlock, &t),
                    pthread_rwlock_unlock(&rwlock));
        t = in_ms(CLOCK_REALTIME, 5000);
        WAITS_30_MS(hold_write, &rwlock, pthread_rwlock_timedwrlock(&rwlock, &t),
                    pthread_rwlock_unlock(&rwlock));
        control("block", "disable", "");
    }
}

static void signal_cond(void)
{
    pthread_mutex_lock(&mutex);
    futex_word = 1;
    pthread_cond_broadcast(&cond);
    pthread_mutex_unlock(&mutex);
}
static void post_sem(void)
{
    sem_post(&sem);
}
static void wake_futex(void)
{
    futex_word = 1;
    syscall(SYS_futex, &futex_word, FUTEX_WAKE_PRIVATE, 100, NULL, NULL, 0);
}

static pthread_t released_by(void (*release)(void))
{
    pthread_t t;
    futex_word = 0;
    to_release = release;
    control("block", "reset", "");
    pthread_create(&t, NULL, release_later, NULL);
    return t;
}

/* One of these waits; true when the profile agrees with what was measured around it. */
static bool waited(void (*release)(void), void (*wait)(void), const char *label, int64_t *ret_waited_ns,
                   struct sums *ret_sums)
{
    pthread_t other = released_by(release);
    int64_t begin_ns = now_ns();
    wait();
    *ret_waited_ns = now_ns() - begin_ns;
    *ret_sums = sums_of("block", NULL, label);
    CHECK(sums_of("contention", NULL, label).ns == 0); /* only in block */
    pthread_join(other, NULL);
    return *ret_waited_ns > 15000000 && agrees(*ret_sums, *ret_waited_ns);
}

static void check_wait(const char *what, void (*release)(void), void (*wait)(void), const char *label)
{
    int64_t waited_ns = 0;
    struct sums s = {0};
    for (int attempt = 0; attempt < N_ATTEMPTS; attempt++)
        if (waited(release, wait, label, &waited_ns, &s)) return;
    T_FAIL("%s: %.0f ns in %.0f, waited %lld", what, s.ns, s.count, (long long)waited_ns);
}

static void wait_cond(void)
{
    pthread_mutex_lock(&mutex);
    while (!futex_word) pthread_cond_wait(&cond, &mutex);
    pthread_mutex_unlock(&mutex);
}

static void wait_cond_timed(void)
{
    struct timespec t = in_ms(CLOCK_REALTIME, 5000);
    pthread_mutex_lock(&mutex);
    while (!futex_word) pthread_cond_timedwait(&cond, &mutex, &t);
    pthread_mutex_unlock(&mutex);
}

static void wait_sem(void)
{
    CHECK_INT(sem_wait(&sem), 0);
}

static void wait_sem_timed(void)
{
    struct timespec t = in_ms(CLOCK_REALTIME, 5000);
    CHECK_INT(sem_timedwait(&sem, &t), 0);
}

static void wait_futex(void)
{
    while (!futex_word) syscall(SYS_futex, &futex_word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

TEST(condition_variables_semaphores_futexes)
{
    sem_init(&sem, 0, 0);
    for (int round = 0; round < 2; round++) {
        control("block", "enable", round ? "interval=1us" : "interval=5ms");
        check_wait("pthread_cond_wait", signal_cond, wait_cond, "cond");
        check_wait("pthread_cond_timedwait", signal_cond, wait_cond_timed, "cond");
        check_wait("sem_wait", post_sem, wait_sem, "sem");
        check_wait("sem_timedwait", post_sem, wait_sem_timed, "sem");
        check_wait("syscall(SYS_futex)", wake_futex, wait_futex, "futex");
        control("block", "disable", "");
    }
}

/* ---- what libc answers must come through unchanged */
static void *lock_and_end(void *m)
{
    pthread_mutex_lock(m);
    return NULL;
}

/* The kernel gives them up when their owner ends; an emulator of other processors does not. */
static bool has_robust_mutexes(void)
{
    void *head;
    size_t n_bytes;
    return syscall(SYS_get_robust_list, 0, &head, &n_bytes) == 0;
}

TEST(answers_of_libc_are_unchanged)
{
    static const char *const intervals[] = {"interval=1", "interval=1ms", "interval=10000ms"};
    for (int round = 0; round < 3; round++) {
        control("block", "enable", intervals[round]);
        pthread_mutexattr_t a;
        pthread_mutex_t m;
        pthread_t t;
        pthread_mutexattr_init(&a);
        pthread_mutexattr_settype(&a, PTHREAD_MUTEX_ERRORCHECK);
        pthread_mutex_init(&m, &a);
        CHECK_INT(pthread_mutex_lock(&m), 0);
        CHECK_INT(pthread_mutex_lock(&m), EDEADLK);
        struct timespec soon = in_ms(CLOCK_REALTIME, 20), bad = {.tv_nsec = -1};
        CHECK_INT(pthread_mutex_timedlock(&m, &soon), EDEADLK);
        pthread_mutex_unlock(&m);

        pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE);
        pthread_mutex_init(&m, &a);
        CHECK_INT(pthread_mutex_lock(&m), 0);
        CHECK_INT(pthread_mutex_lock(&m), 0);
        pthread_mutex_unlock(&m);
        pthread_mutex_unlock(&m);

        pthread_mutexattr_settype(&a, PTHREAD_MUTEX_NORMAL);
        if (has_robust_mutexes()) {
            pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
            pthread_mutex_init(&m, &a);
            pthread_create(&t, NULL, lock_and_end, &m);
            pthread_join(t, NULL);
            CHECK_INT(pthread_mutex_lock(&m), EOWNERDEAD);
            pthread_mutex_unlock(&m);
            CHECK_INT(pthread_mutex_lock(&m), ENOTRECOVERABLE);
        }

        pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_STALLED);
        pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT);
        pthread_mutex_init(&m, &a);
        t = held(hold_mutex, &m);
        CHECK_INT(pthread_mutex_lock(&m), 0);
        pthread_mutex_unlock(&m);
        pthread_join(t, NULL);

        pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
        pthread_mutex_lock(&plain);
        soon = in_ms(CLOCK_REALTIME, 20);
        CHECK_INT(pthread_mutex_timedlock(&plain, &soon), ETIMEDOUT);
        CHECK_INT(pthread_mutex_timedlock(&plain, &bad), EINVAL);
        soon = in_ms(CLOCK_MONOTONIC, 20);
        CHECK_INT(pthread_mutex_clocklock(&plain, CLOCK_MONOTONIC, &soon), ETIMEDOUT);
        CHECK_INT(pthread_mutex_clocklock(&plain, CLOCK_PROCESS_CPUTIME_ID, &soon), EINVAL);
        soon = in_ms(CLOCK_REALTIME, 20);
        CHECK_INT(pthread_cond_timedwait(&cond, &plain, &soon), ETIMEDOUT);
        pthread_mutex_unlock(&plain);

        sem_init(&sem, 0, 0);
        soon = in_ms(CLOCK_REALTIME, 20);
        errno = 0;
        CHECK_INT(sem_timedwait(&sem, &soon), -1);
        CHECK_INT(errno, ETIMEDOUT);
        sem_post(&sem);
        errno = 77;
        CHECK_INT(sem_wait(&sem), 0);
        CHECK_INT(errno, 77);
        errno = 0;
        CHECK_INT(syscall(SYS_futex, &futex_word, FUTEX_WAIT_PRIVATE, 12345, NULL, NULL, 0), -1);
        CHECK_INT(errno, EAGAIN);
        CHECK_INT(syscall(SYS_getpid), getpid());
        pthread_rwlock_wrlock(&rwlock);
        CHECK_INT(pthread_rwlock_wrlock(&rwlock), EDEADLK);
        pthread_rwlock_unlock(&rwlock);
        control("block", "disable", "");
    }
}

#if defined(__x86_64__)
/* Calls with a stack of its own: the function's frames lie below `top`, the caller's variables from there on.
 */
static long call_below(char *top, long number, const void *a, long b, long c, const void *d)
{
    long (*function)(long, long, long, long, long, long, long) = lock_exported.syscall, status;
    register const void *r8 __asm__("r8") = d;
    __asm__ volatile("movq %%rsp, %%rbx\n\tmovq %[top], %%rsp\n\tcall *%[function]\n\tmovq %%rbx, %%rsp"
                     : "=a"(status), "+D"(number), "+S"(a), "+d"(b), "+c"(c), "+r"(r8)
                     : [top] "r"(top), [function] "0"(function)
                     : "rbx", "r9", "r10", "r11", "memory", "cc");
    return status;
}

/* syscall(n) passes fewer than seven arguments: where the seventh would stand is a variable of the caller,
 * which another thread may just be writing. Here it cannot be written at all. */
TEST(syscall_leaves_the_callers_variables_alone)
{
    enum { STACK_BYTES = 1 << 18 };
    char *stack = mmap(NULL, STACK_BYTES + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *top = stack + STACK_BYTES;
    REQUIRE(stack != MAP_FAILED && !mprotect(top, 4096, PROT_READ));
    static const char *const settings[] = {NULL, "interval=1", "interval=10000ms"};
    for (int round = 0; round < 3; round++) {
        if (settings[round]) control("block", "enable", settings[round]);
        futex_word = 5;
        CHECK_INT(call_below(top, SYS_getppid, NULL, 0, 0, NULL), getppid());
        CHECK_INT(call_below(top, SYS_futex, &futex_word, FUTEX_WAKE_PRIVATE, 1, NULL), 0);
        CHECK_INT(call_below(top, SYS_futex, &futex_word, FUTEX_WAIT_PRIVATE, 4, NULL), -1);
        CHECK_INT(errno, EAGAIN);
        struct timespec soon = {.tv_nsec = 1000000};
        CHECK_INT(call_below(top, SYS_futex, &futex_word, FUTEX_WAIT_PRIVATE, 5, &soon), -1);
        CHECK_INT(errno, ETIMEDOUT);
        if (settings[round]) control("block", "disable", "");
    }
    errno = 0;
    CHECK_INT(lock_bare_syscall(SYS_close, -1, 0, 0, 0, 0, 0), -1);
    CHECK_INT(errno, EBADF);
    CHECK_INT(lock_bare_syscall(SYS_getppid, 0, 0, 0, 0, 0, 0), getppid());
}
#endif

/* A waiter that is cancelled leaves through our frames; its cleanup handlers run, and its waits of later are
 * counted as ever. */
static _Atomic bool cleaned, go;
static bool waits_at_once; /* else: when it was cancelled already */

static void clean(void *m)
{
    cleaned = true;
    if (m) pthread_mutex_unlock(m);
}

static void begin_to_wait(void)
{
    step = 1;
    while (!waits_at_once && !go) sched_yield();
}

static void *cancelled_in_cond(void *until)
{
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(clean, &mutex);
    begin_to_wait();
    for (;;) {
        if (until)
            pthread_cond_timedwait(&cond, &mutex, until);
        else
            pthread_cond_wait(&cond, &mutex);
    }
    pthread_cleanup_pop(1);
    return NULL;
}

static void *cancelled_in_sem(void *until)
{
    pthread_cleanup_push(clean, NULL);
    begin_to_wait();
    if (until)
        sem_timedwait(&sem, until);
    else
        sem_wait(&sem);
    pthread_cleanup_pop(0);
    return NULL;
}

static bool is_cancelled(void *(*run)(void *), void *argument, bool at_once)
{
    void *result = NULL;
    waits_at_once = at_once;
    cleaned = go = false;
    pthread_t t = held(run, argument);
    if (at_once) sleep_us(5000);
    pthread_cancel(t);
    go = true;
    return !pthread_join(t, &result) && result == PTHREAD_CANCELED && cleaned;
}

TEST(cancellation_passes_through)
{
    struct timespec until = in_ms(CLOCK_REALTIME, 20000);
    static const char *const intervals[] = {"interval=1us", "interval=10000ms"};
    for (int round = 0; round < 2; round++) {
        control("block", "enable", intervals[round]);
        for (int at_once = 0; at_once < 2; at_once++) {
            CHECK(is_cancelled(cancelled_in_cond, NULL, at_once));
            CHECK(is_cancelled(cancelled_in_cond, &until, at_once));
            CHECK_INT(pthread_mutex_trylock(&mutex), 0);
            pthread_mutex_unlock(&mutex);
            int value = !at_once; /* who is cancelled already does not take what is there */
            sem_init(&sem, 0, (unsigned)value);
            CHECK(is_cancelled(cancelled_in_sem, NULL, at_once));
            CHECK(is_cancelled(cancelled_in_sem, &until, at_once));
            int left = -1;
            sem_getvalue(&sem, &left);
            CHECK_INT(left, value);
        }
    }
    control("block", "enable", "interval=1us");
    sem_init(&sem, 0, 0);
    check_wait("pthread_cond_wait", signal_cond, wait_cond, "cond");
    check_wait("sem_wait", post_sem, wait_sem, "sem");
}

TEST(off_is_libcs_own_function)
{
    control("contention", "enable", "");
    CHECK(lock_routes.pthread_mutex_lock == lock_counting.pthread_mutex_lock);
    CHECK(lock_routes.pthread_cond_wait == lock_real.pthread_cond_wait); /* only block counts these */
    control("contention", "disable", "");
    CHECK(lock_routes.pthread_mutex_lock == lock_real.pthread_mutex_lock);
    struct err err = {0};
    struct output o;
    struct kind_options options = {.query = "", .has_seconds = true, .seconds = 0.1};
    CHECK_INT(capture_take(kind_find("mutex", 5), &options, NULL, &o, &err), 0);
    CHECK(lock_routes.pthread_mutex_lock == lock_real.pthread_mutex_lock);
    output_free(&o);
}

TEST_MAIN()
