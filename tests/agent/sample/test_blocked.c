/* Threads that block the profiler's signals: none is ever sent to them, to lie in wait for their sigwait;
 * their time is counted as lost. Who blocks them for a while only is sampled before and after. */
#define NEEDS_PLAIN_STACKS
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

#include "agent/host/config.h"
#include "agent/host/profsignal.h"
#include "agent/hot/sampler.h"
#include "agent/sample/capture.h"

#include "../../t.h"
#include "../needs_hooks.h"

#define MOST_SECONDS 30 /* until something that is looked for at intervals has been seen */

static _Atomic bool must_end;
static struct output taken;
static pthread_t taker;

static void *take(void *argument)
{
    struct kind_options options = {.seconds = 50, .rate = 1000, .has_seconds = true, .query = ""};
    struct err err = {0};
    if (capture_take(kind_find("profile", 7), &options, &must_end, &taken, &err)) T_FAIL("%s", err.text);
    return argument;
}

static void begin_capture(const char *settings)
{
    struct err err = {0};
    REQUIRE(!config_load(settings, &err));
    pthread_create(&taker, NULL, take, NULL);
    while (!atomic_load(&sampler_of[SAMPLER_CPU].table))
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void end_capture(void)
{
    atomic_store(&must_end, true);
    pthread_join(taker, NULL);
}

static void burn_ms(int ms)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    for (int64_t end_ns = t.tv_sec * 1000000000 + t.tv_nsec + ms * 1000000LL;
         t.tv_sec * 1000000000 + t.tv_nsec < end_ns;)
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
}

static void block_all(void)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
}

/* As a thread that waits for the signals of a process does: the next one's number, 0: there is none. */
static int next_signal(void)
{
    sigset_t all;
    sigfillset(&all);
    int number = sigtimedwait(&all, NULL, &(struct timespec){0});
    return number > 0 ? number : 0;
}

static uint64_t n_samples_of(pid_t tid)
{
    struct sampler *s = &sampler_of[SAMPLER_CPU];
    for (uint32_t i = 0; i < 1000; i++)
        if (atomic_load(&s->threads[i].tid) == (uint32_t)tid) return atomic_load(&s->threads[i].n_samples);
    return 0;
}

static _Atomic bool is_blocked, has_begun;
static void *wait_for_signals(void *unused)
{
    (void)unused;
    block_all();
    is_blocked = true;
    while (!has_begun) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    for (int i = 0; i < 10; i++) {
        burn_ms(20);
        CHECK_INT(next_signal(), 0);
    }
    return NULL;
}

static void *start_blocked(void *unused)
{
    pthread_t thread;
    block_all(); /* the new thread too */
    pthread_create(&thread, NULL, wait_for_signals, unused);
    pthread_join(thread, NULL);
    return NULL;
}

/* One that was there before, and one that begins meanwhile, blocked from its first moment. */
static void check_always_blocked(const char *settings)
{
    pthread_t before, meanwhile;
    pthread_create(&before, NULL, wait_for_signals, NULL);
    while (!is_blocked) sched_yield();
    begin_capture(settings);
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    has_begun = true;
    pthread_join(before, NULL);
    pthread_create(&meanwhile, NULL, start_blocked, NULL);
    pthread_join(meanwhile, NULL);
    end_capture();
    CHECK(taken.n_lost >= 200); /* of 400 */
    output_free(&taken);
}

TEST(blocked_always)
{
    check_always_blocked("");
}

TEST(blocked_always_with_timers)
{
    check_always_blocked("perf=0");
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void *block_for_a_while(void *unused)
{
    (void)unused;
    double end = seconds() + MOST_SECONDS;
    while (!n_samples_of(gettid()) && seconds() < end) burn_ms(5);
    CHECK(n_samples_of(gettid()) > 0);
    sigset_t before;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    block_all();
    int n_quiet = 0; /* rounds of 20 samples in which none came */
    while (n_quiet < 5 && seconds() < end) {
        burn_ms(20);
        n_quiet++;
        while (next_signal()) n_quiet = 0;
    }
    CHECK_INT(n_quiet, 5);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    uint64_t n = n_samples_of(gettid());
    while (n_samples_of(gettid()) < n + 20 && seconds() < end) burn_ms(5);
    CHECK(n_samples_of(gettid()) >= n + 20);
    return NULL;
}

static void check_blocked_for_a_while(const char *settings)
{
    pthread_t thread;
    begin_capture(settings);
    pthread_create(&thread, NULL, block_for_a_while, NULL);
    pthread_join(thread, NULL);
    end_capture();
    CHECK(taken.n_lost >= 50); /* of the 100 quiet ones */
    output_free(&taken);
}

TEST(blocked_for_a_while)
{
    check_blocked_for_a_while("");
}

TEST(blocked_for_a_while_with_timers)
{
    check_blocked_for_a_while("perf=0");
}

/* ---- a signal that was under way when the thread began to rest */

static struct sampler_thread *entry_of(pid_t tid)
{
    struct sampler *s = &sampler_of[SAMPLER_CPU];
    for (uint32_t i = 0; i < 1000; i++)
        if (atomic_load(&s->threads[i].tid) == (uint32_t)tid) return &s->threads[i];
    return NULL;
}

static bool rests(pid_t tid)
{
    struct sampler_thread *entry = entry_of(tid);
    return entry && atomic_load(&entry->rests);
}

/* Blocks all signals, and comes back when the profiler has seen it. */
static void block_until_it_rests(sigset_t *ret_before)
{
    double end = seconds() + MOST_SECONDS;
    while (!n_samples_of(gettid()) && seconds() < end) burn_ms(5);
    pthread_sigmask(SIG_SETMASK, NULL, ret_before);
    block_all();
    while (!rests(gettid()) && seconds() < end) burn_ms(5);
    CHECK(rests(gettid()));
}

static void *block_with_one_pending(void *unused)
{
    sigset_t before;
    struct err err = {0};
    block_until_it_rests(&before);
    uint32_t index = (uint32_t)(entry_of(gettid()) - sampler_of[SAMPLER_CPU].threads);
    CHECK_INT(
        profsignal_send((uint32_t)gettid(), profsignal_take(&err), sampler_signal_value(SAMPLER_CPU, index)),
        0);
    burn_ms(200);
    uint64_t n = n_samples_of(gettid());
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    CHECK(n_samples_of(gettid()) < n + 50); /* it may be sampled again by now */
    return unused;
}

TEST(blocked_time_is_not_counted_where_it_ends)
{
    pthread_t thread;
    begin_capture("perf=0");
    pthread_create(&thread, NULL, block_with_one_pending, NULL);
    pthread_join(thread, NULL);
    end_capture();
    CHECK(taken.n_lost >= 150); /* of 200 */
    output_free(&taken);
}

/* ---- threads that are refused a timer */

static void *be_refused(void *unused)
{
    sigset_t before;
    struct rlimit limit, none;
    block_until_it_rests(&before);
    CHECK_INT(getrlimit(RLIMIT_SIGPENDING, &limit), 0);
    none = (struct rlimit){0, limit.rlim_max};
    CHECK_INT(setrlimit(RLIMIT_SIGPENDING, &none), 0);
    uint64_t n = n_samples_of(gettid());
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    burn_ms(500);
    CHECK_INT(n_samples_of(gettid()), n);
    CHECK_INT(setrlimit(RLIMIT_SIGPENDING, &limit), 0);
    double end = seconds() + MOST_SECONDS;
    while (n_samples_of(gettid()) < n + 20 && seconds() < end) burn_ms(5);
    CHECK(n_samples_of(gettid()) >= n + 20);
    return unused;
}

TEST(refused_and_tried_again)
{
    pthread_t thread;
    begin_capture("perf=0");
    pthread_create(&thread, NULL, be_refused, NULL);
    pthread_join(thread, NULL);
    end_capture();
    CHECK(taken.n_lost >= 400); /* of 500 */
    bool is_said = false;
    for (unsigned i = 0; i < taken.n_comments; i++)
        is_said |= strstr(taken.comments[i], "got no timer,") != NULL;
    CHECK(is_said);
    output_free(&taken);
}

TEST_MAIN()
