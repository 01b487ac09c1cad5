/* cpu.c - the CPU profiler: one timer for each thread, on the clock of the CPU time of that very thread. A
 * perf event where those may be used (cpu_event.h): it fires when it is due. Else a timer of the kernel,
 * which looks at it at its tick (4 ms), helped by cpu_late.h and cpu_tail.h: samples are right in number but
 * late.
 *
 * The first period is cut at random, so that threads which live shorter than a period are counted
 * as often as they deserve. How many periods a signal stands for is read from the thread's clock. What should
 * have come and did not (a thread that blocks every signal, one that ended before the tick, a table that was
 * full) is known from the thread's own CPU clock and is written into the profile as lost.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/capture.h"
#include "agent/config.h"
#include "agent/cpu_late.h"
#include "agent/cpu_tail.h"
#include "agent/profsignal.h"
#include "agent/random.h"
#include "agent/tables.h"

#define DEFAULT_HZ 100
#define MAX_HZ     10000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* over `now`: the capture, its threads */
static struct capture now;
static bool running;
static bool uses_events;
static unsigned n_scans; /* of the capture; every tenth also reads the threads' clocks, in case they end */
#define CLOCKS_EVERY 10
static int event_signal;

/* What every capture tells besides its samples; read by read_tallies. */
enum tally {
    LOST_BLOCKED,  /* samples of threads that block the signal */
    LOST_ENDED,    /* samples of threads that ended before they came */
    LOST_THREADS,  /* threads that got no timer */
    LOST_NO_ROOM,  /* samples for which the table had no room */
    LOST_NO_STACK, /* samples of threads with too little stack left */
    TAILS,         /* samples counted where their thread was last seen (cpu_tail.h) */
    CUT_STACKS,    /* that did not reach an outermost frame */
    N_TALLIES
};
_Static_assert(N_TALLIES <= CAPTURE_MAX_TALLIES, "a mark holds them");
static uint64_t tallies[N_TALLIES]; /* LOST_BLOCKED: of threads still there, when the capture has ended or
                                       they are met again */

static bool arm(struct capture *c, uint32_t index)
{
    struct capture_thread *t = &c->threads[index];
    uint32_t tid = c->counts[index].tid;
    int64_t first_ns = 1 + (int64_t)(random_number() % (uint64_t)c->period_ns);
    t->begin_cpu_ns = threads_cpu_ns(tid);
    c->counts[index].first_due_ns = t->begin_cpu_ns + first_ns;
    atomic_store(&c->counts[index].n_due, 0);
    atomic_store(&c->counts[index].is_called, false);
    if (uses_events && !threads_blocks(t->blocked, event_signal) &&
        cpu_event_open(&t->event, tid, index, first_ns, event_signal))
        return true;
    t->rests = threads_blocks(t->blocked, c->signal_number);
    if (t->rests) return true;
    struct sigevent event;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = c->signal_number;
    event.sigev_value.sival_ptr = sampler_signal_value(SAMPLER_CPU, index);
    event._sigev_un._tid = (pid_t)tid;
    /* libc's timer_create may allocate; the kernel's does what we want. */
    if (syscall(SYS_timer_create, threads_clock(tid), &event, &t->timer)) return false;
    t->has_timer = true;
    struct itimerspec spec = {.it_interval = {c->period_ns / 1000000000, c->period_ns % 1000000000},
                              .it_value = {first_ns / 1000000000, first_ns % 1000000000}};
    return syscall(SYS_timer_settime, t->timer, 0, &spec, NULL) == 0;
}

static void disarm(struct capture_thread *t)
{
    if (t->has_timer) syscall(SYS_timer_delete, t->timer);
    t->has_timer = false;
    cpu_event_silence(&t->event);
    cpu_event_close(&t->event);
}

static uint64_t missing(uint32_t index, int64_t end_cpu_ns, int64_t at_most);

/* In a handler, ours too, a thread blocks all signals for a moment, and on a busy machine it may be met there
 * often. One that runs on, is not sampled and then still blocks them means it. */
#define RUNS_ON_NS 2000000
static bool is_sure_to_block(struct capture_thread *t, uint64_t n_samples, int64_t cpu_ns)
{
    if (t->seemed_cpu_ns && t->seemed_n_samples == n_samples) return cpu_ns - t->seemed_cpu_ns >= RUNS_ON_NS;
    t->seemed_cpu_ns = cpu_ns;
    t->seemed_n_samples = n_samples;
    return false;
}

/* A signal that a thread blocks would lie in wait for the day it calls sigwait: it gets none, and its time is
 * lost. It may block the signal, or let it through again, at any time. */
static void look_at_mask(uint32_t index, int64_t cpu_ns)
{
    struct capture_thread *t = &now.threads[index];
    struct threads_status status;
    if (!threads_status(now.counts[index].tid, &status)) return;
    t->blocked = status.blocked;
    bool takes_event = uses_events && !threads_blocks(t->blocked, event_signal),
         takes_timer = !threads_blocks(t->blocked, now.signal_number);
    bool seems_to_block = (t->has_timer && !takes_timer) || (t->event.fd >= 0 && !takes_event);
    uint64_t n_samples = atomic_load(&now.counts[index].n_samples);
    if (t->rests && (takes_event || takes_timer)) {
        tallies[LOST_BLOCKED] += missing(index, cpu_ns, 0);
        t->n_before = n_samples;
        arm(&now, index);
    } else if (seems_to_block && is_sure_to_block(t, n_samples, cpu_ns)) {
        disarm(t);
        t->rests = true;
    }
    if (!seems_to_block || t->rests) t->seemed_cpu_ns = 0;
}

/* Each look takes some 20 us: only at those that used their CPU since, and not at all of very many each time.
 */
#define MASKS_AT_ONCE 64
static bool is_masks_turn(uint32_t index)
{
    uint32_t n_turns = 1 + now.n_threads / MASKS_AT_ONCE;
    return n_scans / CLOCKS_EVERY % n_turns == index % n_turns;
}

static void meet(uint32_t tid, void *context)
{
    struct capture *c = context;
    int64_t index = capture_thread_find(c, tid);
    if (index >= 0) {
        c->threads[index].seen = true;
        return;
    }
    index = capture_thread_add(c, tid);
    if (index < 0) {
        tallies[LOST_THREADS]++;
        return;
    }
    if (!arm(c, (uint32_t)index) && errno != ESRCH && errno != EINVAL) tallies[LOST_THREADS]++;
}

static uint64_t lost_of(uint32_t index, int64_t end_cpu_ns, int64_t at_most, const struct threads_end *end);

/* What may still be under way when a thread is looked at: the kernel's tick, 4 ms at the usual 250 Hz, twice.
 */
static int64_t slack(void)
{
    return 2 + 8000000 / now.period_ns;
}

static void scan(void)
{
    bool reads_clocks = n_scans++ % CLOCKS_EVERY == 0;
    for (uint32_t i = 0; i < now.n_threads; i++) now.threads[i].seen = false;
    if (threads_each(meet, &now)) return;
    for (uint32_t i = 0; i < now.n_threads; i++) {
        struct capture_thread *t = &now.threads[i];
        if (!t->used) continue;
        if (t->seen) {
            bool looks_again = t->rests || t->seemed_cpu_ns;
            if (!reads_clocks && !looks_again) continue;
            int64_t cpu_ns = threads_cpu_ns(now.counts[i].tid);
            if (cpu_ns > t->last_cpu_ns && (looks_again || is_masks_turn(i))) look_at_mask(i, cpu_ns);
            t->last_cpu_ns = cpu_ns;
            continue;
        }
        tallies[LOST_ENDED] += lost_of(i, t->last_cpu_ns, slack(), NULL);
        disarm(t);
        capture_thread_remove(&now, i);
    }
}

static void thread_started(uint32_t tid)
{
    sigset_t others, before;
    profsignal_others(&others); /* ours are as the host wants them, for the look at its mask */
    pthread_sigmask(SIG_BLOCK, &others,
                    &before); /* a handler of the host that forks here would copy the lock */
    pthread_mutex_lock(&lock);
    if (running) {
        meet(tid, &now);
        int64_t index = capture_thread_find(&now, tid); /* a scan may have met it before libc set its mask */
        if (index >= 0 && now.threads[index].rests) look_at_mask((uint32_t)index, threads_cpu_ns(tid));
    }
    pthread_mutex_unlock(&lock);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* How many samples of a thread were due by its clock, less those that came; none up to `at_most`, for what
 * may still be under way. */
static uint64_t missing(uint32_t index, int64_t end_cpu_ns, int64_t at_most)
{
    const struct capture_thread *t = &now.threads[index];
    if ((!t->has_timer && t->event.fd < 0 && !t->rests) || end_cpu_ns <= 0 || t->begin_cpu_ns < 0) return 0;
    int64_t since_first_ns = end_cpu_ns - now.counts[index].first_due_ns;
    int64_t due = since_first_ns < 0 ? 0 : 1 + since_first_ns / now.period_ns;
    int64_t came = (int64_t)(atomic_load(&now.counts[index].n_samples) - t->n_before);
    return due - came > at_most ? (uint64_t)(due - came) : 0;
}

/* The same of a thread that is not sampled any more, when its tail has been counted. */
static uint64_t lost_of(uint32_t index, int64_t end_cpu_ns, int64_t at_most, const struct threads_end *end)
{
    uint64_t n = missing(index, end_cpu_ns, 0);
    if (n && now.threads[index].has_timer && cpu_tail_count(&now, index, n, end)) {
        tallies[TAILS] += n;
        return 0;
    }
    return n > (uint64_t)at_most ? n : 0;
}

static void thread_ended(uint32_t tid, const struct threads_end *end)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_mutex_lock(&lock);
    int64_t index = running ? capture_thread_find(&now, tid) : -1;
    if (index >= 0) {
        tallies[LOST_ENDED] += lost_of((uint32_t)index, threads_cpu_ns(tid), 0, end);
        disarm(&now.threads[index]);
        capture_thread_remove(&now, (uint32_t)index);
    }
    pthread_mutex_unlock(&lock);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void call_late_threads(void)
{
    pthread_mutex_lock(&lock);
    if (running) cpu_late_call(&now);
    pthread_mutex_unlock(&lock);
}

static unsigned hz_of(const struct kind_options *options)
{
    unsigned hz = options->rate ? options->rate : (unsigned)config_number("hz", DEFAULT_HZ);
    return hz < 1 ? 1 : hz > MAX_HZ ? MAX_HZ : hz;
}

static int cpu_start(const struct kind_options *options, struct err *err)
{
    pthread_mutex_lock(&lock);
    int status = running ? err_set(err, ERR_BUSY, "a CPU profile is being taken")
                         : capture_begin(&now, SAMPLER_CPU, options, err);
    if (!status) {
        now.period_ns = 1000000000 / hz_of(options);
        memset(tallies, 0, sizeof tallies);
        n_scans = 0;
        uses_events = cpu_event_allowed(&event_signal);
        atomic_store(&sampler_of[SAMPLER_CPU].weight, now.period_ns);
        running = true;
        threads_on_start(thread_started);
        threads_on_end(thread_ended);
        atomic_fetch_add(&threads_watched, 1);
        scan();
        if (!uses_events) cpu_late_start(call_late_threads, now.period_ns);
    }
    pthread_mutex_unlock(&lock);
    return status;
}

static void cpu_tick(void)
{
    pthread_mutex_lock(&lock);
    if (running) scan();
    pthread_mutex_unlock(&lock);
}

/* Of the threads that are there. */
static uint64_t missing_now(void)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < now.n_threads; i++)
        if (now.threads[i].used) n += missing(i, threads_cpu_ns(now.counts[i].tid), slack());
    return n;
}

static void cpu_stop(void)
{
    cpu_late_stop(); /* without the lock: it may be waiting for it */
    pthread_mutex_lock(&lock);
    if (running) {
        scan();
        for (uint32_t i = 0; i < now.n_threads; i++) {
            struct capture_thread *t = &now.threads[i];
            if (!t->used) continue;
            t->last_cpu_ns = threads_cpu_ns(now.counts[i].tid);
            cpu_event_silence(&t->event);
        }
        atomic_fetch_sub(&threads_watched, 1);
        running = false;
        capture_end(&now); /* and no handler is under way */
        for (uint32_t i = 0; i < now.n_threads; i++) {
            if (!now.threads[i].used) continue;
            tallies[LOST_BLOCKED] += lost_of(i, now.threads[i].last_cpu_ns, slack(), NULL);
            disarm(&now.threads[i]);
        }
    }
    pthread_mutex_unlock(&lock);
}

/* Under the lock. */
static void read_tallies(uint64_t *ret_tallies)
{
    memcpy(ret_tallies, tallies, sizeof tallies);
    if (running) ret_tallies[LOST_BLOCKED] += missing_now();
    ret_tallies[LOST_NO_ROOM] = atomic_load(&sampler_of[SAMPLER_CPU].n_lost);
    ret_tallies[LOST_NO_STACK] = atomic_load(&sampler_of[SAMPLER_CPU].n_no_stack);
    ret_tallies[CUT_STACKS] = atomic_load(&sampler_of[SAMPLER_CPU].n_incomplete);
}

static struct capture_mark *cpu_mark(void)
{
    pthread_mutex_lock(&lock);
    struct capture_mark *mark = capture_mark(&now);
    if (mark) read_tallies(mark->tallies);
    pthread_mutex_unlock(&lock);
    return mark;
}

/* More samples than somebody wants do no harm. Who says nothing takes what is not far from the usual. */
static bool cpu_fits(const struct kind_options *options)
{
    unsigned least_hz = options->rate ? hz_of(options) : hz_of(options) / 2;
    return now.period_ns <= 1000000000 / (least_hz ? least_hz : 1);
}

static int cpu_snapshot(const struct kind_options *options, struct output *o, struct err *err)
{
    const struct capture_mark *since = options->since;
    uint64_t n[N_TALLIES];
    (void)err;
    o->legacy = OUTPUT_LEGACY_CPU;
    o->types[0] = (struct output_type){"samples", "count"};
    o->types[1] = (struct output_type){"cpu", "nanoseconds"};
    o->n_types = 2;
    o->period_type = o->types[1];
    pthread_mutex_lock(&lock);
    o->period = now.period_ns;
    capture_output(&now, since, false, o);
    read_tallies(n);
    pthread_mutex_unlock(&lock);
    for (unsigned i = 0; since && i < N_TALLIES; i++)
        n[i] -= since->tallies[i] < n[i] ? since->tallies[i] : n[i];
    o->n_lost = n[LOST_BLOCKED] + n[LOST_ENDED] + n[LOST_NO_ROOM] + n[LOST_NO_STACK];
    output_comment(o, "procprof cpu: a sample each %lld us of CPU time of each thread, by %s",
                   (long long)o->period / 1000, uses_events ? "perf events" : "CPU timers");
    if (n[LOST_ENDED])
        output_comment(o, "lost: %llu samples of threads that ended before they came",
                       (unsigned long long)n[LOST_ENDED]);
    if (n[LOST_BLOCKED])
        output_comment(o,
                       "lost: %llu samples that were due did not come (threads that block signal %d, or the "
                       "kernel's tick)",
                       (unsigned long long)n[LOST_BLOCKED], uses_events ? event_signal : now.signal_number);
    if (n[LOST_THREADS])
        output_comment(o, "lost: %llu threads got no timer", (unsigned long long)n[LOST_THREADS]);
    if (n[LOST_NO_ROOM])
        output_comment(o, "lost: %llu samples for which the table had no room",
                       (unsigned long long)n[LOST_NO_ROOM]);
    if (n[LOST_NO_STACK])
        output_comment(o, "lost: %llu samples of threads that were near the end of their stack",
                       (unsigned long long)n[LOST_NO_STACK]);
    if (n[TAILS])
        output_comment(o,
                       "%llu samples are counted where their thread was last seen (or in the function it was "
                       "started with): it ended or slept before the kernel's tick",
                       (unsigned long long)n[TAILS]);
    output_comment(o, "stacks that did not reach an outermost frame: %llu",
                   (unsigned long long)n[CUT_STACKS]);
    return 0;
}

static void cpu_free(void)
{
    pthread_mutex_lock(&lock);
    capture_free(&now);
    pthread_mutex_unlock(&lock);
}

static void cpu_forked(void)
{
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    /* Timers are not inherited, descriptors of events are; the memory of the parent's capture is left alone.
     */
    for (uint32_t i = 0; running && i < now.n_threads; i++) {
        if (!now.threads[i].used || now.threads[i].event.fd < 0) continue;
        atomic_store(&sampler_event_thread[now.threads[i].event.fd], 0);
        cpu_event_close(&now.threads[i].event);
    }
    running = false;
    now = (struct capture){0};
    atomic_store(&sampler_of[SAMPLER_CPU].table, NULL);
    atomic_store(&threads_watched, 0);
    cpu_late_forked();
}

static const struct kind cpu_kind = {
    .name = "profile",
    .title = "CPU time: where the threads of this process spend it",
    .is_capture = true,
    .default_seconds = 30,
    .start = cpu_start,
    .tick = cpu_tick,
    .stop = cpu_stop,
    .snapshot = cpu_snapshot,
    .free_capture = cpu_free,
    .fits = cpu_fits,
    .mark = cpu_mark,
    .forked = cpu_forked,
};
KIND_REGISTER(cpu_kind);
