/* wall.c - the wall-clock profiler: where every thread is, running or not; and "threads": where they all are
 * now.
 *
 * At each tick the library's thread looks at a few threads, in turn, so that each look stands for the same
 * share of time. A sleeping thread is not woken: the kernel reports where it sleeps (pc and sp of its system
 * call), and its stack is copied and walked from outside. Only a thread that runs, or whose frames need a
 * register that is not on its stack, is sent the signal. A thread that blocks the signal is shown with what
 * is known. So a call of the host returns EINTR because of the library only where nothing else can show the
 * stack.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "agent/host/config.h"
#include "agent/host/own_memory.h"
#include "agent/host/pages.h"
#include "agent/host/profsignal.h"
#include "agent/host/random.h"
#include "agent/hot/unwind.h"
#include "agent/sample/capture.h"
#include "agent/sample/labels.h"
#include "agent/unwind/tables.h"

#define DEFAULT_HZ       50
#define MAX_HZ           1000
#define THREADS_PER_TICK 16
#define STACK_COPY       ((size_t)64 << 10)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct capture current_capture;
static bool running;  /* ticks look at the threads */
static bool is_taken; /* one of the two kinds uses `current_capture`, until its output is made */
static _Atomic bool stop_ticking;
static uint32_t next_thread; /* index of the thread whose turn it is */
static char *stack_copy;

enum tally {
    SIGNALLED,
    PASSIVE,
    BLIND,
    MISSED,
    LOST,
    NO_STACK,
    N_TALLIES
}; /* how stacks were read, and those that were not */
_Static_assert(N_TALLIES <= CAPTURE_MAX_TALLIES, "a mark holds them");
static uint64_t tallies[N_TALLIES]; /* the last two are counted by the sampler: read_tallies */

static void meet(uint32_t tid, void *context)
{
    struct capture *c = context;
    int64_t index = capture_thread_find(c, tid);
    if (index < 0) index = capture_thread_add(c, tid);
    if (index < 0)
        tallies[MISSED]++;
    else
        c->threads[index].seen = true;
}

static void scan(void)
{
    for (uint32_t i = 0; i < current_capture.n_threads; i++) current_capture.threads[i].seen = false;
    if (threads_each(meet, &current_capture)) return;
    for (uint32_t i = 0; i < current_capture.n_threads; i++)
        if (current_capture.threads[i].used && !current_capture.threads[i].seen)
            capture_thread_remove(&current_capture, i);
}

static void count(uint32_t index, const uintptr_t *pcs, unsigned n_pcs, enum sampler_state state,
                  int64_t weight_ns)
{
    struct sampler *s = &sampler_of[SAMPLER_WALL];
    uint32_t tid = current_capture.counts[index].tid;
    uint32_t id =
        stack_table_find(current_capture.table, pcs, n_pcs, sampler_tag(tid, labels_of(tid), state));
    atomic_fetch_add(&current_capture.counts[index].n_samples, 1);
    if (id == STACK_NONE) atomic_fetch_add(&s->n_lost, 1);
    stack_table_add(current_capture.table, id, SAMPLER_COUNTER_SAMPLES, 1);
    stack_table_add(current_capture.table, id, SAMPLER_COUNTER_VALUE, weight_ns);
}

/* Walks the stack of a sleeping thread from a copy. The thread may wake while the stack is copied, and the
 * copy would then mix two stacks. So the kernel is asked before and after, and the copy counts only if the
 * thread sleeps at the same place. 0 when it woke, or when a frame needs a register that only the thread
 * has. */
static unsigned walk_sleeper(uint32_t tid, uintptr_t *pcs, bool *ret_complete)
{
    uintptr_t sp, pc, sp_after, pc_after;
    if (!threads_sleeping_at(tid, &sp, &pc)) return 0;
    size_t n_bytes = 0, want = STACK_COPY;
    sp &= ~(uintptr_t)7;
    for (; want >= 4096 && !(n_bytes = own_memory_read(sp, stack_copy, want)); want /= 2) continue;
    if (!n_bytes || !threads_sleeping_at(tid, &sp_after, &pc_after) || (sp_after & ~(uintptr_t)7) != sp ||
        pc_after != pc)
        return 0;
    struct unwind_source source = {.memory = {.lo = sp,
                                              .hi = sp + (n_bytes & ~(size_t)7),
                                              .shift = (intptr_t)((uintptr_t)stack_copy - sp)},
                                   .address_mask = ~(uintptr_t)0,
                                   .asks_loader = true};
#if defined(__aarch64__)
    source.address_mask = ((uintptr_t)1 << 48) - 1;
#endif
    struct unwind_registers r = {.pc = pc, .sp = sp, .pc_is_exact = true, .fp_is_unknown = true};
    unsigned ticket = epoch_enter(&unwind_epoch);
    source.tables = atomic_load(&unwind_published);
    unsigned n = unwind_walk(&source, &r, pcs, sampler_of[SAMPLER_WALL].max_frames, ret_complete);
    epoch_leave(&unwind_epoch, ticket);
    return n;
}

static void look_at(uint32_t index, int64_t weight_ns)
{
    uintptr_t pcs[UNWIND_MAX_FRAMES];
    uint32_t tid = current_capture.counts[index].tid;
    char state = threads_state(tid);
    if (!state || state == 'Z' || state == 'X') return;
    bool asleep = state != 'R', complete = false;
    enum sampler_state how = state == 'D' ? SAMPLER_WAITING : SAMPLER_SLEEPING;
    unsigned n = asleep ? walk_sleeper(tid, pcs, &complete) : 0;
    if (complete) {
        tallies[PASSIVE]++;
        count(index, pcs, n, how, weight_ns);
        return;
    }
    struct threads_status status;
    threads_status(tid, current_capture.status_text, &status);
    if (threads_blocks(status.blocked, current_capture.signal_number) ||
        (asleep && config_flag("wall_signals", true) == false)) {
        tallies[BLIND]++;
        if (n)
            count(index, pcs, n, how, weight_ns);
        else
            atomic_fetch_add(&sampler_of[SAMPLER_WALL].n_lost, 1);
        return;
    }
    atomic_store(&sampler_of[SAMPLER_WALL].weight, weight_ns);
    tallies[SIGNALLED]++;
    if (profsignal_send(tid, current_capture.signal_number,
                        sampler_signal_value(SAMPLER_WALL, index | (asleep ? SAMPLER_ASLEEP : 0))))
        tallies[MISSED]++;
}

/* Looks at up to `at_most` threads in turn; each stands for its share of the tick. */
static void look_at_some(unsigned at_most, int64_t tick_ns)
{
    scan();
    uint32_t n_alive = 0;
    for (uint32_t i = 0; i < current_capture.n_threads; i++) n_alive += current_capture.threads[i].used;
    uint32_t n = n_alive < at_most ? n_alive : at_most;
    int64_t weight_ns = n ? tick_ns * n_alive / n : 0;
    for (uint32_t looked = 0, steps = 0; looked < n && steps < current_capture.n_threads;
         steps++, next_thread++) {
        uint32_t index = next_thread % current_capture.n_threads;
        if (!current_capture.threads[index].used) continue;
        look_at(index, weight_ns);
        looked++;
    }
}

/* Ticks once in each period, at a random moment of it: a host that does something every 100 ms must not
 * always be seen doing it. */
static void *tick_all(void *argument)
{
    (void)argument;
    struct timespec begin;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int64_t period = 0; !atomic_load(&stop_ticking); period++) {
        int64_t at_ns = begin.tv_nsec + period * current_capture.period_ns +
                        (int64_t)(random_number() % (uint64_t)current_capture.period_ns);
        struct timespec at = {begin.tv_sec + at_ns / 1000000000, at_ns % 1000000000};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
        pthread_mutex_lock(&lock);
        if (running) look_at_some(THREADS_PER_TICK, current_capture.period_ns);
        pthread_mutex_unlock(&lock);
    }
    atomic_store(&stop_ticking, false);
    return NULL;
}

static unsigned hz_of(const struct kind_options *options)
{
    unsigned hz = options->rate ? options->rate : DEFAULT_HZ;
    return hz > MAX_HZ ? MAX_HZ : hz;
}

static int begin(const struct kind_options *options, struct err *err)
{
    pthread_mutex_lock(&lock);
    if (!stack_copy) stack_copy = pages_map(STACK_COPY);
    int status = is_taken      ? err_set(err, ERR_BUSY, "the threads are being looked at already")
                 : !stack_copy ? err_set(err, ERR_LIMIT, "no memory for a copy of a stack")
                               : capture_begin(&current_capture, SAMPLER_WALL, err);
    if (!status) {
        is_taken = true;
        current_capture.period_ns = 1000000000 / hz_of(options);
        memset(tallies, 0, sizeof tallies);
        running = true;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

/* The output is made: from here on the other kind may begin. */
static void give_back(void)
{
    pthread_mutex_lock(&lock);
    capture_free(&current_capture);
    is_taken = false;
    pthread_mutex_unlock(&lock);
}

static int wall_start(const struct kind_options *options, struct err *err)
{
    int status = begin(options, err);
    if (status) return status;
    atomic_store(&stop_ticking, false);
    if (threads_start_own(tick_all, NULL, "procprof-wall")) {
        pthread_mutex_lock(&lock);
        running = false;
        capture_end(&current_capture);
        pthread_mutex_unlock(&lock);
        give_back();
        return err_set(err, ERR_LIMIT, "no thread could be started");
    }
    return 0;
}

static void end(void)
{
    pthread_mutex_lock(&lock);
    running = false;
    capture_end(&current_capture);
    pthread_mutex_unlock(&lock);
}

static void wall_stop(void)
{
    atomic_store(&stop_ticking, true);
    while (atomic_load(&stop_ticking)) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    end();
}

/* Called with the lock held. */
static void read_tallies(uint64_t *ret_tallies)
{
    memcpy(ret_tallies, tallies, sizeof tallies);
    ret_tallies[LOST] = atomic_load(&sampler_of[SAMPLER_WALL].n_lost);
    ret_tallies[NO_STACK] = atomic_load(&sampler_of[SAMPLER_WALL].n_no_stack);
}

static struct capture_mark *wall_mark(void)
{
    pthread_mutex_lock(&lock);
    struct capture_mark *mark = capture_mark(&current_capture);
    if (mark) read_tallies(mark->tallies);
    pthread_mutex_unlock(&lock);
    return mark;
}

static bool wall_fits(const struct kind_options *options)
{
    return current_capture.period_ns <= 1000000000 / hz_of(options);
}

static void write_stacks(const struct capture_mark *since, struct output *o)
{
    uint64_t n[N_TALLIES];
    pthread_mutex_lock(&lock);
    o->period = current_capture.period_ns;
    capture_output(&current_capture, since, true, o);
    read_tallies(n);
    pthread_mutex_unlock(&lock);
    capture_tallies_since(n, N_TALLIES, since);
    o->n_lost = n[LOST] + n[NO_STACK];
    output_comment(
        o, "procprof: %llu stacks read from outside, %llu by signal, %llu of threads that block it",
        (unsigned long long)n[PASSIVE], (unsigned long long)n[SIGNALLED], (unsigned long long)n[BLIND]);
    if (n[MISSED])
        output_comment(o, "lost: %llu threads ended before they could be looked at",
                       (unsigned long long)n[MISSED]);
    if (n[NO_STACK])
        output_comment(o, "lost: %llu samples of threads that were near the end of their stack",
                       (unsigned long long)n[NO_STACK]);
}

static int wall_snapshot(const struct kind_options *options, struct output *o, struct err *err)
{
    (void)err;
    o->legacy = OUTPUT_LEGACY_CPU;
    o->types[0] = (struct output_type){"samples", "count"};
    o->types[1] = (struct output_type){"wall", "nanoseconds"};
    o->n_types = 2;
    o->period_type = o->types[1];
    write_stacks(options->since, o);
    return 0;
}

/* Looks at all threads, once. */
static int threads_snapshot(const struct kind_options *options, struct output *o, struct err *err)
{
    int status = begin(options, err);
    if (status) return status;
    pthread_mutex_lock(&lock);
    look_at_some(CAPTURE_MAX_THREADS, 1);
    pthread_mutex_unlock(&lock);
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL); /* for the threads that were sent a signal */
    end();
    o->legacy = OUTPUT_LEGACY_COUNT;
    o->types[0] = (struct output_type){"threads", "count"};
    o->types[1] = (struct output_type){"seen", "count"};
    o->n_types = 2;
    write_stacks(NULL, o);
    o->n_types = 1; /* the second value is the weight, which means nothing here */
    o->period_type = o->types[0];
    o->period = 1;
    give_back();
    return 0;
}

static void wall_forked(void)
{
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    running = is_taken = false;
    current_capture = (struct capture){0};
    atomic_store(&sampler_of[SAMPLER_WALL].table, NULL);
}

static const struct kind wall_kind = {
    .name = "wall",
    .title = "Wall-clock time of all threads, running or waiting",
    .is_capture = true,
    .default_seconds = 10,
    .start = wall_start,
    .stop = wall_stop,
    .snapshot = wall_snapshot,
    .free_capture = give_back,
    .fits = wall_fits,
    .mark = wall_mark,
    .forked = wall_forked,
};
KIND_REGISTER(wall_kind);

static const struct kind threads_kind = {
    .name = "threads",
    .title = "Where every thread is now",
    .snapshot = threads_snapshot,
};
KIND_REGISTER(threads_kind);
