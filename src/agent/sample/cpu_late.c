/* cpu_late.c - see cpu_late.h. */
#include "agent/sample/cpu_late.h"

#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/host/profsignal.h"
#include "agent/host/random.h"

/* A look takes some 20 us of CPU time, most of it for waking up; reading a clock takes half a microsecond. */
#define LEAST_PAUSE_NS    2000000
#define MOST_PAUSE_NS     5000000
#define CALM_PAUSE_NS     50000000 /* while no thread is late */
#define PAUSE_NS_A_THREAD 100000
#define LATE_NS           8000000 /* a thread is late when it is behind by so much (two ticks), or by two samples */

#define MOST_SLEEP_NS                                                                                        \
    20000000 /* the longest sleep before it checks must_stop: many threads make long pauses */

#define LOOKS_A_CPU 16

static _Atomic bool is_on, must_stop;
static void (*look_at_threads)(void);
static int64_t wanted_pause_ns;
static _Atomic uint32_t n_threads;
static _Atomic bool some_are_late; /* at the last look */

/* CPU time of the thread since a sample was due that has not come; negative when it is not behind. */
static int64_t behind_ns(const struct sampler_thread *s, int64_t period_ns, int64_t cpu_ns)
{
    return cpu_ns - (s->first_due_ns + (int64_t)atomic_load(&s->n_due) * period_ns);
}

void cpu_late_call(struct capture *c)
{
    int64_t late_ns = 2 * c->period_ns < LATE_NS ? 2 * c->period_ns : LATE_NS;
    bool late = false;
    atomic_store(&n_threads, c->n_threads);
    for (uint32_t i = 0; i < c->n_threads; i++) {
        struct sampler_thread *s = &c->counts[i];
        if (!c->threads[i].used || !c->threads[i].has_timer || atomic_load(&s->is_called)) continue;
        int64_t cpu_ns = threads_cpu_ns(s->tid);
        int64_t by_ns = behind_ns(s, c->period_ns, cpu_ns);
        if (by_ns < 0 || threads_cpu_ns(s->tid) <= cpu_ns) continue;
        late |= by_ns > late_ns;
        atomic_store(&s->is_called, true); /* one signal at a time, because they queue */
        if (profsignal_send(s->tid, c->signal_number, sampler_signal_value(SAMPLER_CPU, i)))
            atomic_store(&s->is_called, false);
    }
    atomic_store(&some_are_late, late);
}

/* The looks must not wait until another thread's turn ends. Kernels since 6.12 prefer threads that ask for
 * short turns; older ones prefer a thread that sleeps most of the time by themselves. */
static void ask_for_short_turns(void)
{
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime_ns, deadline_ns, period_ns;
    } attributes = {.size = sizeof attributes, .runtime_ns = 100000};
    (void)syscall(SYS_sched_setattr, 0, &attributes, 0);
}

/* A look sees only threads that run on other CPUs, and the kernel leaves a thread on its CPU when all are
 * busy. So this thread moves, now and then, to a random one of the CPUs that it may use. */
static void move_to_any_cpu(const cpu_set_t *allowed)
{
    int n = CPU_COUNT(allowed), chosen = n > 1 ? (int)(random_number() % (uint64_t)n) : -1;
    for (int cpu = 0; chosen >= 0 && cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, allowed) || chosen-- > 0) continue;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        (void)sched_setaffinity(0, sizeof one, &one);
        return;
    }
}

static void *keep_looking(void *argument)
{
    (void)argument;
    cpu_set_t allowed;
    bool moves = !sched_getaffinity(0, sizeof allowed, &allowed);
    int64_t mean_pause_ns = wanted_pause_ns;
    ask_for_short_turns();
    for (unsigned n_looks = 0; !atomic_load(&must_stop); n_looks++) {
        if (moves && n_looks % LOOKS_A_CPU == 0) move_to_any_cpu(&allowed);
        int64_t least_ns = (int64_t)atomic_load(&n_threads) * PAUSE_NS_A_THREAD;
        mean_pause_ns = atomic_load(&some_are_late)             ? wanted_pause_ns
                        : mean_pause_ns < CALM_PAUSE_NS / 5 * 4 ? mean_pause_ns / 4 * 5
                                                                : CALM_PAUSE_NS;
        int64_t pause_ns = mean_pause_ns < least_ns ? least_ns : mean_pause_ns;
        pause_ns = pause_ns / 2 + (int64_t)(random_number() % (uint64_t)pause_ns);
        for (; pause_ns > 0 && !atomic_load(&must_stop); pause_ns -= MOST_SLEEP_NS)
            nanosleep(&(struct timespec){.tv_nsec = pause_ns < MOST_SLEEP_NS ? pause_ns : MOST_SLEEP_NS},
                      NULL);
        look_at_threads();
    }
    atomic_store(&is_on, false);
    return NULL;
}

void cpu_late_start(void (*look)(void), int64_t period_ns)
{
    look_at_threads = look;
    wanted_pause_ns = period_ns / 2;
    if (wanted_pause_ns < LEAST_PAUSE_NS) wanted_pause_ns = LEAST_PAUSE_NS;
    if (wanted_pause_ns > MOST_PAUSE_NS) wanted_pause_ns = MOST_PAUSE_NS;
    atomic_store(&some_are_late, false);
    atomic_store(&must_stop, false);
    atomic_store(&is_on, true);
    if (threads_start_own(keep_looking, NULL, "procprof-cpu")) atomic_store(&is_on, false);
}

void cpu_late_stop(void)
{
    atomic_store(&must_stop, true);
    while (atomic_load(&is_on)) nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
}

void cpu_late_forked(void)
{
    atomic_store(&is_on, false);
}
