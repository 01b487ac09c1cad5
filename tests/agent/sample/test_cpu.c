/* The CPU profiler against the threads' own clocks: threads that use known amounts of CPU time, four at 100
 * Hz and eight at 1 kHz, by perf events where they are allowed and by CPU timers; short threads; whole
 * stacks. Built with -O2 -fomit-frame-pointer. */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>

#include "agent/agent.h"
#include "agent/host/threads.h"
#include "agent/hot/sampler.h"
#include "agent/sample/capture.h"

#include "../../t.h"
#include "../needs_hooks.h"

#define MAX_THREADS 8

static _Thread_local volatile uint64_t sink;
static _Atomic bool cancel;
static _Atomic int n_done;
static sem_t may_end;

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

/* Work of the kind servers do: callbacks through libc, formatting, numbers, recursion with large and small
 * frames. */
static int compare_words(const void *a, const void *b)
{
    return (*(const uint32_t *)a > *(const uint32_t *)b) - (*(const uint32_t *)a < *(const uint32_t *)b);
}

__attribute__((noinline)) static void sort_words(unsigned seed)
{
    uint32_t words[512];
    for (unsigned i = 0; i < 512; i++) words[i] = seed = seed * 1664525 + 1013904223;
    qsort(words, 512, sizeof *words, compare_words);
    sink += words[17];
}

__attribute__((noinline)) static void format_numbers(unsigned seed)
{
    char text[256];
    for (unsigned i = 0; i < 40; i++) {
        snprintf(text, sizeof text, "%u %.6f %s", seed + i, (double)seed / 7, "row");
        sink += (uint64_t)strtod(strchr(text, ' '), NULL);
    }
}

__attribute__((noinline)) static uint64_t descend(unsigned depth, unsigned seed)
{
    volatile char frame[96];
    frame[seed % sizeof frame] = (char)seed;
    if (depth == 0) {
        sort_words(seed);
        format_numbers(seed);
        return seed;
    }
    return descend(depth - 1, seed + 1) + (uint64_t)frame[seed % sizeof frame];
}

__attribute__((noinline)) static void burn(double seconds)
{
    double end = cpu_seconds() + seconds;
    for (unsigned seed = 1; cpu_seconds() < end; seed++) sink += descend(seed % 30, seed);
}

struct worker {
    double goal_s, spent_s;
    _Atomic uint32_t tid;
    pthread_t thread;
};

/* Until the capture has met this thread, and then long enough for its timer to be there. */
static void wait_for_sampling(void)
{
    struct sampler *s = &sampler_of[SAMPLER_CPU];
    uint32_t tid = (uint32_t)syscall(SYS_gettid);
    while (!atomic_load(&s->table)) pause_ms(1);
    for (bool is_met = false; !is_met; pause_ms(1))
        for (unsigned i = 0; i < 64 && !is_met; i++) is_met = s->threads[i].tid == tid;
    pause_ms(20);
}

static void *work(void *argument)
{
    struct worker *w = argument;
    w->tid = (uint32_t)syscall(SYS_gettid);
    wait_for_sampling();
    double begin = cpu_seconds();
    burn(w->goal_s);
    w->spent_s = cpu_seconds() - begin;
    atomic_fetch_add(&n_done, 1);
    sem_wait(&may_end); /* alive to the end of the capture, without using CPU time */
    return NULL;
}

/* A capture until *cancel. */
static struct output result;
static double rate_hz;

static void *take(void *argument)
{
    struct kind_options options = {
        .seconds = 290, .has_seconds = true, .rate = (unsigned)rate_hz, .query = ""};
    struct err err = {0};
    (void)argument;
    threads_own_begin();
    int status = capture_take(kind_find("profile", 7), &options, &cancel, &result, &err);
    threads_own_end();
    if (status) T_FAIL("%s", err.text);
    return NULL;
}

static double samples_of(uint32_t tid)
{
    double n = 0;
    for (unsigned i = 0; i < output_n_samples(&result); i++) {
        const struct output_sample *s = output_sample_at(&result, i);
        const struct output_label *l = output_labels(&result, s);
        for (unsigned k = 0; k < s->n_labels; k++)
            if (!strcmp(l[k].key, "tid") && l[k].num == (int64_t)tid)
                n += (double)output_values(&result, s)[0];
    }
    return n;
}

static bool has_comment(const char *text)
{
    for (unsigned i = 0; i < result.n_comments; i++)
        if (strstr(result.comments[i], text)) return true;
    return false;
}

static void start(const char *settings)
{
    struct err err = {0};
    if (agent_start(settings, &err)) T_FAIL("%s", err.text);
}

/* True when every thread was counted right. */
static bool measure(double least_ratio, double hz, unsigned n_threads, double least_s, double step_s)
{
    struct worker workers[MAX_THREADS];
    pthread_t taker;
    bool good = true;
    rate_hz = hz;
    cancel = false;
    n_done = 0;
    for (unsigned i = 0; i < n_threads; i++) {
        workers[i] = (struct worker){.goal_s = least_s + step_s * i};
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
    pthread_create(&taker, NULL, take, NULL);
    while (n_done < (int)n_threads) pause_ms(5);
    pause_ms(50);
    cancel = true;
    pthread_join(taker, NULL);
    for (unsigned i = 0; i < n_threads; i++) sem_post(&may_end);
    for (unsigned i = 0; i < n_threads; i++) {
        pthread_join(workers[i].thread, NULL);
        double ratio = samples_of(workers[i].tid) / hz / workers[i].spent_s;
        if (ratio >= least_ratio && ratio <= 1.02) continue;
        good = false;
        printf("# %.0f Hz, thread %u: %.3f s of CPU time, samples / expected %.4f\n", hz, i,
               workers[i].spent_s, ratio);
    }
    uint64_t n_samples = 0, n_cut = atomic_load(&sampler_of[SAMPLER_CPU].n_incomplete);
    for (unsigned i = 0; i < output_n_samples(&result); i++)
        n_samples += (uint64_t)output_values(&result, output_sample_at(&result, i))[0];
    printf("# %llu samples, %llu stacks did not reach their end\n", (unsigned long long)n_samples,
           (unsigned long long)n_cut);
    CHECK(n_samples > 100);
    CHECK(!IS_EXACT || (double)n_cut <= 0.005 * (double)n_samples);
    return good || !IS_EXACT;
}

static void within(double least_ratio, double hz, unsigned n_threads, double least_s, double step_s)
{
    for (unsigned attempt = 0; attempt < 3; attempt++) {
        if (measure(least_ratio, hz, n_threads, least_s, step_s)) return;
        output_free(&result);
    }
    T_FAIL("a thread was counted wrong");
}

TEST(every_thread_within_two_percent_at_100_hz)
{
    start("listen=off");
    within(0.98, 100, 4, 0.56, 0.02);
}

TEST(every_thread_within_two_percent_at_1_khz)
{
    start("listen=off");
    within(0.98, 1000, 8, 0.2, 0.02);
}

/* What a thread does after the last tick that met it, on a busy machine some 20 ms, counts all the same. */
TEST(by_cpu_timers_at_100_hz)
{
    start("listen=off,perf=0");
    within(0.98, 100, 4, 0.56, 0.02);
    CHECK(has_comment("CPU timers"));
}

TEST(by_cpu_timers_at_1_khz)
{
    start("listen=off,perf=0");
    within(0.98, 1000, 8, 0.2, 0.02);
    CHECK(has_comment("CPU timers"));
}

/* ---- two captures at once */

static _Atomic bool cancel_second;
static struct output second_result;

static void *take_second(void *argument)
{
    (void)argument;
    struct kind_options options = {.seconds = 290, .has_seconds = true, .rate = 500, .query = ""};
    struct err err = {0};
    threads_own_begin();
    int status = capture_take(kind_find("profile", 7), &options, &cancel_second, &second_result, &err);
    threads_own_end();
    if (status) T_FAIL("%s", err.text);
    return NULL;
}

static double total_s(const struct output *o)
{
    double ns = 0;
    for (unsigned i = 0; i < output_n_samples(o); i++)
        ns += (double)output_values(o, output_sample_at(o, i))[1];
    return ns * 1e-9;
}

/* The second one begins later and ends sooner: each has what was done in its time, and the rate is that of
 * the first. */
TEST(captures_that_overlap_each_count_their_own_time)
{
    start("listen=off");
    double all_s = 0, part_s = 0;
    for (unsigned attempt = 0; attempt < 3; attempt++) {
        pthread_t first, second;
        rate_hz = 1000;
        cancel = cancel_second = false;
        pthread_create(&first, NULL, take, NULL);
        wait_for_sampling();
        burn(0.3);
        pause_ms(20);
        pthread_create(&second, NULL, take_second, NULL);
        pause_ms(100); /* it only has to mark where the counters stand */
        burn(0.4);
        pause_ms(20);
        cancel_second = true;
        pthread_join(second, NULL);
        burn(0.3);
        pause_ms(20);
        cancel = true;
        pthread_join(first, NULL);
        all_s = total_s(&result), part_s = total_s(&second_result);
        printf("# %.3f s of 1.0, %.3f s of 0.4, by %lld and %lld ns\n", all_s, part_s,
               (long long)result.period, (long long)second_result.period);
        CHECK_INT(second_result.period, result.period);
        output_free(&result);
        output_free(&second_result);
        /* this thread's other doings are counted too */
        if (!IS_EXACT || (all_s > 0.97 && all_s < 1.04 && part_s > 0.38 && part_s < 0.43)) return;
    }
    T_FAIL("an overlapping capture counted another's time");
}

/* ---- threads that live shorter than a period */

static double short_goal_s, short_total_s;
static pthread_mutex_t short_lock = PTHREAD_MUTEX_INITIALIZER;

static void *live_shortly(void *argument)
{
    (void)argument;
    double begin = cpu_seconds();
    burn(short_goal_s);
    pthread_mutex_lock(&short_lock);
    short_total_s += cpu_seconds() - begin;
    pthread_mutex_unlock(&short_lock);
    return NULL;
}

static _Atomic bool stop_scanning;

static void *scan_all_the_time(void *argument)
{
    const struct kind *k = argument;
    threads_own_begin();
    while (!stop_scanning) k->tick();
    threads_own_end();
    return NULL;
}

static void *sleep_to_the_end(void *argument)
{
    sem_wait(&may_end);
    return argument;
}

/* n_sleepers: others, which make a scan take long. */
static void count_short_threads(const char *settings, unsigned n_sleepers)
{
    start(settings);
    pthread_t scanner, sleepers[100];
    stop_scanning = n_sleepers == 0;
    for (unsigned i = 0; i < n_sleepers; i++) pthread_create(&sleepers[i], NULL, sleep_to_the_end, NULL);
    double ratio = 0;
    for (unsigned attempt = 0; attempt < 3; attempt++) {
        pthread_t taker, one;
        rate_hz = 100;
        cancel = false;
        short_goal_s = 0.003; /* a third of a period */
        short_total_s = 0;
        pthread_create(&taker, NULL, take, NULL);
        wait_for_sampling();
        if (n_sleepers) pthread_create(&scanner, NULL, scan_all_the_time, (void *)kind_find("profile", 7));
        while (short_total_s < 1.2) {
            pthread_create(&one, NULL, live_shortly, NULL);
            pthread_join(one, NULL);
        }
        if (n_sleepers) {
            stop_scanning = true;
            pthread_join(scanner, NULL);
            stop_scanning = false;
        }
        cancel = true;
        pthread_join(taker, NULL);
        double n = 0;
        for (unsigned i = 0; i < output_n_samples(&result); i++)
            n += (double)output_values(&result, output_sample_at(&result, i))[0];
        if (n_sleepers) n += (double)result.n_lost; /* counted, or said to be lost: none in silence */
        ratio = n / 100 / short_total_s;
        printf("# %.0f samples for %.2f s in threads of 3 ms, %llu lost: %.3f\n", n, short_total_s,
               (unsigned long long)result.n_lost, ratio);
        output_free(&result);
        /* some 120 samples: chance alone makes 8 % */
        if (IS_EXACT && (ratio <= 0.8 || ratio >= 1.2)) continue;
        for (unsigned i = 0; i < n_sleepers; i++) sem_post(&may_end);
        for (unsigned i = 0; i < n_sleepers; i++) pthread_join(sleepers[i], NULL);
        return;
    }
    T_FAIL("short threads were counted wrong");
}

TEST(threads_shorter_than_a_period_are_counted_as_often_as_they_deserve)
{
    count_short_threads("listen=off", 0);
}

/* Few of them live to see a tick of the kernel. */
TEST(short_threads_by_cpu_timers)
{
    count_short_threads("listen=off,perf=0", 0);
}

/* They do not wait while the profiler is busy with the others, and are known all the same. */
TEST(short_threads_that_begin_during_a_scan)
{
    count_short_threads("listen=off", 100);
}

/* ---- threads begin and end while the profiler holds its lock */

static _Atomic bool has_begun, is_stopped;

static void *begin_and_end(void *argument)
{
    has_begun = true;
    return argument;
}

static void *take_and_say(void *argument)
{
    take(argument);
    is_stopped = true;
    return NULL;
}

/* A handler that does not come out: the end of a capture waits two seconds for it, with the lock taken. */
TEST(a_thread_does_not_wait_for_the_end_of_a_capture)
{
    start("listen=off");
    pthread_t taker, one;
    rate_hz = 100;
    cancel = is_stopped = has_begun = false;
    atomic_fetch_add(&threads_watched, 1); /* as another listener does */
    pthread_create(&taker, NULL, take_and_say, NULL);
    wait_for_sampling();
    unsigned ticket = epoch_enter(&sampler_epoch);
    cancel = true;
    while (atomic_load(&sampler_of[SAMPLER_CPU].table)) pause_ms(1);
    pthread_create(&one, NULL, begin_and_end, NULL);
    pthread_join(one, NULL);
    CHECK(has_begun && !is_stopped);
    epoch_leave(&sampler_epoch, ticket);
    pthread_join(taker, NULL);
    atomic_fetch_sub(&threads_watched, 1);
}

/* ---- what cannot be sampled is said */

static void *work_deaf(void *argument)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    return work(argument);
}

TEST(samples_of_a_thread_that_blocks_signals_are_reported_as_lost)
{
    start("listen=off");
    struct worker w = {.goal_s = 0.5};
    pthread_t taker;
    rate_hz = 100;
    pthread_create(&w.thread, NULL, work_deaf, &w);
    pthread_create(&taker, NULL, take, NULL);
    while (!n_done) pause_ms(5);
    cancel = true;
    pthread_join(taker, NULL);
    sem_post(&may_end);
    pthread_join(w.thread, NULL);
    CHECK(!IS_EXACT || (result.n_lost >= 45 && result.n_lost <= 55));
    CHECK(has_comment("lost:"));
}

/* The same when it ends before the capture does. */
TEST(and_so_are_those_of_one_that_has_ended)
{
    start("listen=off");
    struct worker w = {.goal_s = 0.5};
    pthread_t taker;
    rate_hz = 100;
    pthread_create(&w.thread, NULL, work_deaf, &w);
    pthread_create(&taker, NULL, take, NULL);
    while (!n_done) pause_ms(5);
    pause_ms(300); /* its clock is read five times a second */
    sem_post(&may_end);
    pthread_join(w.thread, NULL);
    pause_ms(100);
    cancel = true;
    pthread_join(taker, NULL);
    CHECK(!IS_EXACT || (result.n_lost >= 45 && result.n_lost <= 55));
}

/* ---- a signal that waited until the next capture */

static void *work_deaf_then_listen(void *argument)
{
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    work(argument);
    wait_for_sampling(); /* of the next capture */
    pthread_sigmask(SIG_SETMASK, &none, NULL);
    atomic_fetch_add(&n_done, 1);
    sem_wait(&may_end);
    return NULL;
}

static sem_t may_wake;

static void *sleep_until_woken(void *argument)
{
    struct worker *w = argument;
    w->tid = (uint32_t)syscall(SYS_gettid);
    sem_wait(&may_wake);
    return NULL;
}

/* Threads have other numbers in another capture: what was sent to one must not count for who has its number
 * now, with all the CPU time that it has ever used. */
TEST(a_late_signal_of_the_last_capture_counts_for_nobody)
{
    start("listen=off,perf=0");
    struct worker early = {0}, deaf = {.goal_s = 0.5}, idle = {0};
    pthread_t taker;
    rate_hz = 100;
    pthread_create(&early.thread, NULL, sleep_until_woken, &early);
    while (!early.tid) pause_ms(1);
    pthread_create(&deaf.thread, NULL, work_deaf_then_listen, &deaf);
    pthread_create(&taker, NULL, take, NULL);
    while (n_done < 1) pause_ms(5);
    cancel = true;
    pthread_join(taker, NULL);
    output_free(&result);
    sem_post(&may_end);
    sem_post(&may_wake);
    pthread_join(early.thread, NULL);
    pthread_create(&idle.thread, NULL, sleep_until_woken, &idle);
    cancel = false;
    pthread_create(&taker, NULL, take, NULL);
    while (n_done < 2) pause_ms(5);
    cancel = true;
    pthread_join(taker, NULL);
    sem_post(&may_end);
    sem_post(&may_wake);
    pthread_join(deaf.thread, NULL);
    pthread_join(idle.thread, NULL);
    CHECK(!IS_EXACT || samples_of(idle.tid) <= 1);
}

/* Seconds of CPU time may take minutes on a busy machine. */
__attribute__((constructor)) static void be_patient(void)
{
    setenv("T_SECONDS", "280", 0);
}

TEST_MAIN()
