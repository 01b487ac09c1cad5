/* cpu_capture.c - the CPU profiler: each thread has one timer, on the clock of its own CPU time.
 *
 * Where perf events may be used (cpu_event.h), the timer is one and fires when it is due. Elsewhere it is a
 * timer of the kernel, which the kernel checks at its tick (4 ms), so samples are right in number but late;
 * cpu_late.h and cpu_tail.h make up for that.
 *
 * The first period is a random part of a whole one, so that threads which live shorter than a period are
 * counted as often as they deserve. The handler reads from the thread's clock how many periods a signal
 * stands for. A sample may fail to come: a thread blocks every signal, ends before the tick, or the table is
 * full. The thread's own CPU clock shows how many are missing, and they are written into the profile as lost.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/host/config.h"
#include "agent/host/profsignal.h"
#include "agent/host/random.h"
#include "agent/hot/raw_clock.h"
#include "agent/hot/safe_load.h"
#include "agent/sample/capture.h"
#include "agent/sample/cpu_late.h"
#include "agent/sample/cpu_tail.h"
#include "agent/unwind/tables.h"

#define DEFAULT_HZ 100
#define MAX_HZ     10000

/* Guards `current_capture` and the threads in it. Threads of the library wait for this lock; threads of
 * the host never do. A thread that begins while the lock is taken, or with little stack, goes on and is
 * left to the next scan. A thread that ends takes no lock; it works inside sampler_epoch, as handlers do. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct capture *current_capture; /* NULL: there is none, or its output has been made */
/* `current_capture` while it runs, else NULL. A thread that ends, or the child of a fork, reads it without
 * the lock, and cpu_stop may end the capture meanwhile. The thread loads it once, inside sampler_epoch,
 * and capture_end waits for that epoch, so the capture stays as it was until the thread is done, even if
 * it gets no CPU for long. */
static _Atomic(struct capture *) running;
static bool uses_events;

static pthread_mutex_t scanning = PTHREAD_MUTEX_INITIALIZER; /* taken before `lock`; guards the next three */
static unsigned
    n_scans; /* scans of this capture; every tenth also reads the threads' clocks, in case they end */
#define CLOCKS_EVERY 10
static int64_t last_list_ns;    /* when the threads were last listed */
static struct pages_buf listed; /* uint32_t tids[] */
#define LISTED_AT_ONCE 64       /* threads met at once with the lock held; one takes some 100 us */

static _Atomic unsigned capture_number;
static _Thread_local unsigned unmet_in; /* the capture in which this thread began and was left to the scan */
static int event_signal;

/* What each capture counts besides its samples; read by read_tallies. */
enum tally {
    LOST_BLOCKED,  /* samples of threads that block the signal, or were refused a timer */
    LOST_ENDED,    /* samples of threads that ended before they came */
    LOST_THREADS,  /* threads that got no timer when they should have */
    LOST_NO_ROOM,  /* samples for which the table had no room */
    LOST_NO_STACK, /* samples of threads with too little stack left */
    TAILS,         /* samples counted where their thread was last seen (cpu_tail.h) */
    CUT_STACKS,    /* stacks that did not reach an outermost frame */
    N_TALLIES
};
_Static_assert(N_TALLIES <= CAPTURE_MAX_TALLIES, "a mark holds them");
/* LOST_BLOCKED counts here only threads that are armed again after they blocked the signal, and all
 * threads when the capture ends; read_tallies adds what is missing now. */
static _Atomic uint64_t tallies[N_TALLIES];

static void disarm(struct capture_thread *t)
{
    if (t->has_timer) syscall(SYS_timer_delete, t->timer);
    t->has_timer = false;
    cpu_event_silence(&t->event);
    cpu_event_close(&t->event);
}

static bool start_timer(struct capture *c, uint32_t index, int64_t first_ns)
{
    struct capture_thread *t = &c->threads[index];
    uint32_t tid = c->counts[index].tid;
    struct sigevent event;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = c->signal_number;
    event.sigev_value.sival_ptr = sampler_signal_value(SAMPLER_CPU, index);
    event._sigev_un._tid = (pid_t)tid;
    /* libc's timer_create may allocate memory; the system call does not. */
    if (syscall(SYS_timer_create, threads_clock(tid), &event, &t->timer)) return false;
    t->has_timer = true;
    struct itimerspec spec = {.it_interval = {c->period_ns / 1000000000, c->period_ns % 1000000000},
                              .it_value = {first_ns / 1000000000, first_ns % 1000000000}};
    if (!syscall(SYS_timer_settime, t->timer, 0, &spec, NULL)) return true;
    int error = errno;
    disarm(t);
    errno = error;
    return false;
}

/* Arms a thread that rests. False when the kernel refuses; the thread then goes on resting. */
static bool arm(struct capture *c, uint32_t index)
{
    struct capture_thread *t = &c->threads[index];
    struct sampler_thread *s = &c->counts[index];
    int64_t first_ns = 1 + (int64_t)(random_number() % (uint64_t)c->period_ns);
    t->begin_cpu_ns = threads_cpu_ns(s->tid);
    s->first_due_ns = t->begin_cpu_ns + first_ns;
    atomic_store(&s->n_due, 0);
    atomic_store(&s->is_called, false);
    atomic_store(&s->rests, false);
    if (uses_events && !threads_blocks(t->blocked, event_signal) &&
        cpu_event_open(&t->event, s->tid, index, first_ns, event_signal))
        return true;
    bool takes_timer = !threads_blocks(t->blocked, c->signal_number);
    if (takes_timer && start_timer(c, index, first_ns)) return true;
    atomic_store(&s->rests, true);
    return !takes_timer;
}

/* The kernel refuses a timer when the process wants more than RLIMIT_SIGPENDING allows. Such a thread is
 * tried again when it is next looked at; its time until then is lost. */
static void arm_or_rest(uint32_t index)
{
    struct capture_thread *t = &current_capture->threads[index];
    bool was_refused = t->is_refused;
    t->is_refused = !arm(current_capture, index) && errno != ESRCH &&
                    errno != EINVAL; /* with these two errors the thread is gone */
    if (t->is_refused && !was_refused) tallies[LOST_THREADS]++;
}

/* Adds a thread that is not in the capture yet. One that has used no more CPU time than born_within_ns
 * began unseen during the capture, so its samples are due from its birth. */
static void meet(uint32_t tid, int64_t born_within_ns)
{
    int64_t index = capture_thread_add(current_capture, tid);
    if (index < 0) {
        tallies[LOST_THREADS]++;
        return;
    }
    arm_or_rest((uint32_t)index);
    struct capture_thread *t = &current_capture->threads[index];
    if (t->begin_cpu_ns > 0 && t->begin_cpu_ns <= born_within_ns) {
        current_capture->counts[index].first_due_ns -= t->begin_cpu_ns;
        t->begin_cpu_ns = 0;
    }
    atomic_store(&t->is_free, true);
}

/* How many samples are due when the clock shows cpu_ns. */
static int64_t due(const struct capture *c, int64_t cpu_ns, int64_t first_due_ns)
{
    return cpu_ns < first_due_ns ? 0 : 1 + (cpu_ns - first_due_ns) / c->period_ns;
}

/* How many samples of a thread are due by its clock and have not come. Up to `at_most` of them may still
 * be under way and count as none. */
static uint64_t missing(const struct capture *c, uint32_t index, int64_t end_cpu_ns, int64_t at_most)
{
    const struct capture_thread *t = &c->threads[index];
    bool rests = atomic_load(&c->counts[index].rests);
    if ((!t->has_timer && t->event.fd < 0 && !rests) || end_cpu_ns <= 0 || t->begin_cpu_ns < 0) return 0;
    int64_t came = (int64_t)(atomic_load(&c->counts[index].n_samples) - t->n_before);
    int64_t n = due(c, end_cpu_ns, c->counts[index].first_due_ns) - came;
    return n > at_most ? (uint64_t)n : 0;
}

/* The same for a thread that is not sampled any more, after its tail has been counted (cpu_tail.h). */
static uint64_t lost_of(struct capture *c, uint32_t index, int64_t end_cpu_ns, int64_t at_most,
                        const struct threads_end *end)
{
    uint64_t n = missing(c, index, end_cpu_ns, 0);
    if (n && c->threads[index].has_timer && cpu_tail_count(c, index, n, end)) {
        tallies[TAILS] += n;
        return 0;
    }
    return n > (uint64_t)at_most ? n : 0;
}

/* How many samples may still be under way when a thread is looked at: those of two ticks of the kernel, 4
 * ms each at the usual 250 Hz. */
static int64_t slack(void)
{
    return 2 + 8000000 / current_capture->period_ns;
}

/* While a thread is in a signal handler, ours included, it may block all signals for a moment, and on a
 * busy machine a scan may often find it there. A thread blocks the signal for good when it has run on, was
 * not sampled, and still blocks it. */
#define RUNS_ON_NS 2000000
static bool is_sure_to_block(struct capture_thread *t, uint64_t n_samples, int64_t cpu_ns)
{
    if (t->seemed_cpu_ns && t->seemed_n_samples == n_samples) return cpu_ns - t->seemed_cpu_ns >= RUNS_ON_NS;
    t->seemed_cpu_ns = cpu_ns;
    t->seemed_n_samples = n_samples;
    return false;
}

/* A signal sent to a thread that blocks it would stay pending until the thread calls sigwait one day. So
 * the thread gets none, and its time is lost. It may block the signal, or unblock it, at any time. */
static void follow_mask(uint32_t index, int64_t cpu_ns)
{
    struct capture_thread *t = &current_capture->threads[index];
    struct sampler_thread *s = &current_capture->counts[index];
    struct threads_status status;
    if (!threads_status(current_capture->counts[index].tid, current_capture->status_text, &status)) return;
    t->blocked = status.blocked;
    bool takes_event = uses_events && !threads_blocks(t->blocked, event_signal),
         takes_timer = !threads_blocks(t->blocked, current_capture->signal_number);
    bool seems_to_block = (t->has_timer && !takes_timer) || (t->event.fd >= 0 && !takes_event);
    uint64_t n_samples = atomic_load(&s->n_samples);
    if (atomic_load(&s->rests) && (takes_event || takes_timer)) {
        tallies[LOST_BLOCKED] += missing(current_capture, index, cpu_ns, 0);
        t->n_before = n_samples;
        arm_or_rest(index);
    } else if (seems_to_block && is_sure_to_block(t, n_samples, cpu_ns)) {
        atomic_store(&s->rests, true);
        disarm(t);
    }
    if (!seems_to_block || atomic_load(&s->rests)) t->seemed_cpu_ns = 0;
}

static void look_at_mask(uint32_t index, int64_t cpu_ns)
{
    struct capture_thread *t = &current_capture->threads[index];
    if (!atomic_exchange(&t->is_free, false)) return; /* the thread ends and works on its entry itself */
    follow_mask(index, cpu_ns);
    atomic_store(&t->is_free, true);
}

/* A look at a mask takes some 20 us. So only threads that used CPU time since are looked at, and when
 * there are very many, only some of them each time. */
#define MASKS_AT_ONCE 64
static bool is_masks_turn(uint32_t index)
{
    uint32_t n_turns = 1 + current_capture->n_threads / MASKS_AT_ONCE;
    return n_scans / CLOCKS_EVERY % n_turns == index % n_turns;
}

/* Lost samples of a thread that is gone or will not be sampled any more, unless it has counted them
 * itself. */
static uint64_t lost_at_end(uint32_t index)
{
    struct capture_thread *t = &current_capture->threads[index];
    int64_t end_cpu_ns = atomic_load(&t->end_cpu_ns);
    if (atomic_load(&t->has_ended)) return 0;
    return lost_of(current_capture, index, end_cpu_ns ? end_cpu_ns : t->last_cpu_ns, slack(), NULL);
}

/* The thread is gone. */
static void retire(uint32_t index)
{
    tallies[LOST_ENDED] += lost_at_end(index);
    disarm(&current_capture->threads[index]);
    capture_thread_remove(current_capture, index);
}

/* ---- scans: find threads that began or ended without a report */

static void note_tid(uint32_t tid, void *list)
{
    pages_buf_bytes(list, &tid, sizeof tid);
}

static bool lock_running(void)
{
    pthread_mutex_lock(&lock);
    if (running) return true;
    pthread_mutex_unlock(&lock);
    return false;
}

static void mark_unseen(void)
{
    if (!lock_running()) return;
    for (uint32_t i = 0; i < current_capture->n_threads; i++)
        current_capture->threads[i].seen = false; /* an entry added after this is seen */
    pthread_mutex_unlock(&lock);
}

/* A thread that was not in the last list began after it, so it has used no more CPU time than has passed
 * since. */
static void meet_listed(int64_t since_last_ns)
{
    const uint32_t *tids = (const uint32_t *)(const void *)listed.data;
    for (size_t i = 0, n = listed.size / sizeof *tids; i < n && lock_running();) {
        for (size_t end = i + LISTED_AT_ONCE; i < n && i < end; i++) {
            int64_t index = capture_thread_find(current_capture, tids[i]);
            if (index >= 0)
                current_capture->threads[index].seen = true;
            else
                meet(tids[i], since_last_ns);
        }
        pthread_mutex_unlock(&lock);
    }
}

static void look_through(bool reads_clocks)
{
    if (!lock_running()) return;
    for (uint32_t i = 0; i < current_capture->n_threads; i++) {
        struct capture_thread *t = &current_capture->threads[i];
        bool has_ended = t->used && atomic_load(&t->has_ended);
        /* A refused thread is not looked at in each scan: there may be thousands of them. */
        bool looks_again =
            (atomic_load(&current_capture->counts[i].rests) && !t->is_refused) || t->seemed_cpu_ns;
        if (!t->used || (t->seen && !has_ended && !looks_again && !reads_clocks)) continue;
        uint32_t tid = current_capture->counts[i].tid;
        int64_t cpu_ns = threads_cpu_ns(tid);
        bool is_another = cpu_ns >= 0 && cpu_ns < t->last_cpu_ns; /* its tid belongs to a new thread */
        /* A list may miss a thread when others end meanwhile, so a missing thread counts as gone only when
         * its clock is gone too. A thread of the library is in no list. */
        if (is_another || (!t->seen && (cpu_ns < 0 || threads_is_own(tid)))) {
            retire(i);
            if (is_another) meet(tid, INT64_MAX);
        } else if (has_ended) {
            disarm(
                t); /* the entry stays until the thread is gone; otherwise the next scan would add it again */
        } else if (cpu_ns > t->last_cpu_ns) {
            if (looks_again || is_masks_turn(i)) look_at_mask(i, cpu_ns);
            t->last_cpu_ns = cpu_ns;
        }
    }
    pthread_mutex_unlock(&lock);
}

/* Called with `scanning` held and not `lock`, because listing thousands of threads takes long. */
static void scan(void)
{
    int64_t list_ns = clock_now_ns(), since_last_ns = n_scans ? list_ns - last_list_ns : 0;
    mark_unseen();
    listed.size = 0;
    if (threads_each(note_tid, &listed) || listed.failed) return;
    meet_listed(since_last_ns);
    look_through(n_scans % CLOCKS_EVERY == 0);
    last_list_ns = list_ns;
    n_scans++;
}

/* ---- threads that report their own begin and end */

/* Meeting a new thread takes some 900 bytes of its stack; the rest is for a signal that arrives meanwhile. */
#define MEET_STACK_BYTES 4096

static void thread_started(uint32_t tid)
{
    sigset_t others, before;
    profsignal_others(&others); /* without our own signals: the look at the thread's mask must see them as the
                                   host set them */
    pthread_sigmask(
        SIG_BLOCK, &others,
        &before); /* a handler of the host that forks here would copy a taken lock into the child */
    if (!safe_room(NULL, (uintptr_t)__builtin_frame_address(0), MEET_STACK_BYTES) ||
        pthread_mutex_trylock(&lock)) {
        unmet_in = atomic_load(&capture_number);
    } else {
        if (running) {
            int64_t index = capture_thread_find(current_capture, tid);
            if (index >= 0)
                retire((uint32_t)index); /* the entry of an earlier thread with this tid, which ended without
                                            a report */
            meet(tid, 0);
        }
        pthread_mutex_unlock(&lock);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Counts a thread that ends before any scan has found it: as many samples as a thread of that length
 * deserves. */
static void count_unmet(struct capture *c, uint32_t tid, int64_t cpu_ns, const struct threads_end *end)
{
    uint64_t n = (uint64_t)due(c, cpu_ns, 1 + (int64_t)(random_number() % (uint64_t)c->period_ns));
    if (n) tallies[cpu_tail_count_unmet(c, tid, n, end) ? TAILS : LOST_ENDED] += n;
}

/* Runs in a thread of the host that ends. It takes no lock, because the host's threads never wait for the
 * library. Two others may use the same entry: a scan, which looks at the thread's mask and timer, and
 * cpu_stop, which frees the capture. The exchange of `is_free` lets only one of the thread and the scan
 * work on the entry, and sampler_epoch keeps the capture until the thread has left. The entry itself, with
 * its timer or event, is left to the next scan. */
static void thread_ended(uint32_t tid, const struct threads_end *end)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    unsigned ticket = epoch_enter(&sampler_epoch);
    struct capture *c = atomic_load(&running);
    if (c) {
        int64_t cpu_ns = threads_cpu_ns(tid), index = capture_thread_find(c, tid);
        if (index >= 0) {
            struct capture_thread *t = &c->threads[index];
            atomic_store(&t->end_cpu_ns, cpu_ns);
            if (atomic_exchange(&t->is_free, false)) {
                tallies[LOST_ENDED] += lost_of(c, (uint32_t)index, cpu_ns, 0, end);
                atomic_store(&t->has_ended, true);
            }
        } else if (unmet_in == atomic_load(&capture_number)) {
            count_unmet(c, tid, cpu_ns, end);
        }
    }
    epoch_leave(&sampler_epoch, ticket);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void call_late_threads(void)
{
    pthread_mutex_lock(&lock);
    if (running) cpu_late_call(current_capture);
    pthread_mutex_unlock(&lock);
}

static unsigned hz_of(const struct kind_options *options)
{
    unsigned hz = options->rate ? options->rate : (unsigned)config_number("hz", DEFAULT_HZ);
    return hz < 1 ? 1 : hz > MAX_HZ ? MAX_HZ : hz;
}

/* Called with the lock held. A capture that is kept (capture.h) is left as it is: some 140 MB of address
 * space, of which only touched pages cost memory. */
static void forget_capture(void)
{
    if (current_capture && capture_free(current_capture))
        pages_unmap(current_capture, sizeof *current_capture);
    current_capture = NULL;
}

static int begin_capture(struct err *err)
{
    if (running) return err_set(err, ERR_BUSY, "a CPU profile is being taken");
    forget_capture();
    current_capture = pages_map(sizeof *current_capture);
    if (!current_capture) return err_set(err, ERR_LIMIT, "no memory for a capture");
    int status = capture_begin(current_capture, SAMPLER_CPU, err);
    if (status) forget_capture();
    return status;
}

static int cpu_start(const struct kind_options *options, struct err *err)
{
    pthread_mutex_lock(&scanning);
    pthread_mutex_lock(&lock);
    int status = begin_capture(err);
    if (!status) {
        current_capture->period_ns = 1000000000 / hz_of(options);
        for (unsigned i = 0; i < N_TALLIES; i++) tallies[i] = 0;
        n_scans = 0;
        uses_events = cpu_event_allowed(&event_signal);
        atomic_store(&sampler_of[SAMPLER_CPU].weight, current_capture->period_ns);
        atomic_fetch_add(&capture_number, 1);
        atomic_store(&running, current_capture);
        threads_on_start(thread_started);
        threads_on_end(thread_ended);
        atomic_fetch_add(&threads_watched, 1);
    }
    pthread_mutex_unlock(&lock);
    if (!status) {
        scan();
        if (!uses_events) cpu_late_start(call_late_threads, current_capture->period_ns);
    }
    pthread_mutex_unlock(&scanning);
    return status;
}

static void cpu_tick(void)
{
    if (pthread_mutex_trylock(&scanning)) return; /* another reader of the capture is scanning */
    if (running) scan();
    pthread_mutex_unlock(&scanning);
}

/* Missing samples of the threads that still exist. */
static uint64_t missing_now(void)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < current_capture->n_threads; i++)
        if (current_capture->threads[i].used && !atomic_load(&current_capture->threads[i].has_ended))
            n += missing(current_capture, i, threads_cpu_ns(current_capture->counts[i].tid), slack());
    return n;
}

static void cpu_stop(void)
{
    cpu_late_stop(); /* called without the lock, which that thread may be waiting for */
    pthread_mutex_lock(&scanning);
    scan();
    if (lock_running()) {
        for (uint32_t i = 0; i < current_capture->n_threads; i++) {
            struct capture_thread *t = &current_capture->threads[i];
            if (!t->used) continue;
            t->last_cpu_ns = threads_cpu_ns(current_capture->counts[i].tid);
            cpu_event_silence(&t->event);
        }
        atomic_fetch_sub(&threads_watched, 1);
        atomic_store(&running, NULL);
        capture_end(current_capture); /* after this no handler is under way */
        for (uint32_t i = 0; i < current_capture->n_threads; i++) {
            struct capture_thread *t = &current_capture->threads[i];
            if (!t->used) continue;
            tallies[LOST_BLOCKED] += lost_at_end(i);
            disarm(t);
        }
        pthread_mutex_unlock(&lock);
    }
    pthread_mutex_unlock(&scanning);
}

/* Called with the lock held. */
static void read_tallies(uint64_t *ret_tallies)
{
    for (unsigned i = 0; i < N_TALLIES; i++) ret_tallies[i] = tallies[i];
    if (running) ret_tallies[LOST_BLOCKED] += missing_now();
    ret_tallies[LOST_NO_ROOM] = atomic_load(&sampler_of[SAMPLER_CPU].n_lost);
    ret_tallies[LOST_NO_STACK] = atomic_load(&sampler_of[SAMPLER_CPU].n_no_stack);
    ret_tallies[CUT_STACKS] = atomic_load(&sampler_of[SAMPLER_CPU].n_incomplete);
}

static struct capture_mark *cpu_mark(void)
{
    pthread_mutex_lock(&lock);
    struct capture_mark *mark = capture_mark(current_capture);
    if (mark) read_tallies(mark->tallies);
    pthread_mutex_unlock(&lock);
    return mark;
}

/* A reader may get more samples than it wants, but not fewer. A reader that names no rate accepts half of
 * the default. */
static bool cpu_fits(const struct kind_options *options)
{
    unsigned least_hz = options->rate ? hz_of(options) : hz_of(options) / 2;
    return current_capture->period_ns <= 1000000000 / (least_hz ? least_hz : 1);
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
    o->period = current_capture->period_ns;
    capture_output(current_capture, since, false, o);
    read_tallies(n);
    pthread_mutex_unlock(&lock);
    capture_tallies_since(n, N_TALLIES, since);
    o->n_lost = n[LOST_BLOCKED] + n[LOST_ENDED] + n[LOST_NO_ROOM] + n[LOST_NO_STACK];
    output_comment(o, "procprof cpu: a sample each %lld us of CPU time of each thread, by %s",
                   (long long)o->period / 1000, uses_events ? "perf events" : "CPU timers");
    if (n[LOST_ENDED])
        output_comment(o, "lost: %llu samples of threads that ended before they came",
                       (unsigned long long)n[LOST_ENDED]);
    if (n[LOST_BLOCKED])
        output_comment(
            o,
            "lost: %llu samples that were due did not come (threads that block signal %d or got no "
            "timer, or the kernel's tick)",
            (unsigned long long)n[LOST_BLOCKED], uses_events ? event_signal : current_capture->signal_number);
    if (n[LOST_THREADS])
        output_comment(o, "lost: %llu threads got no timer, for a while or at all",
                       (unsigned long long)n[LOST_THREADS]);
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
    pthread_mutex_lock(&scanning);
    pthread_mutex_lock(&lock);
    forget_capture();
    pthread_mutex_unlock(&lock);
    pages_buf_free(&listed);
    pthread_mutex_unlock(&scanning);
}

static void cpu_forked(void)
{
    lock = scanning = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    listed = (struct pages_buf){0};
    /* The child inherits the descriptors of events, but not the timers. The memory of the parent's capture
     * is left alone. */
    for (uint32_t i = 0; running && i < current_capture->n_threads; i++) {
        if (!current_capture->threads[i].used || current_capture->threads[i].event.fd < 0) continue;
        atomic_store(&sampler_event_thread[current_capture->threads[i].event.fd], 0);
        cpu_event_close(&current_capture->threads[i].event);
    }
    atomic_store(&running, NULL);
    current_capture = NULL;
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
