/* sampler.c - see sampler.h. */
#include "agent/hot/sampler.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>

#include "agent/hot/raw_syscall.h"
#include "agent/hot/unwind.h"

#define COUNT_STACK_BYTES (UNWIND_STACK_BYTES + 128)

struct sampler sampler_of[SAMPLER_COUNT];
struct epoch sampler_epoch;
_Atomic uint32_t sampler_event_thread[SAMPLER_MAX_EVENT_FD];
_Thread_local uint32_t sampler_label_set, sampler_own_tid;

/* Threads of the host may have small stacks. So the addresses go to memory of the capture, and the stack
 * is not walked when too little of it is left. The kernel's own frame (1 to 3 KiB) and some 300 bytes up
 * to here are used in any case. */
static void count(struct sampler *s, struct stack_table *table, struct sampler_thread *thread, uint32_t index,
                  int64_t n, enum sampler_state state, void *ucontext)
{
    const ucontext_t *uc = ucontext;
    if (!safe_room(&uc->uc_stack, (uintptr_t)__builtin_frame_address(0), COUNT_STACK_BYTES)) {
        atomic_fetch_add_explicit(&thread->n_samples, (uint64_t)n, memory_order_relaxed);
        atomic_fetch_add_explicit(&s->n_no_stack, (uint64_t)n, memory_order_relaxed);
        return;
    }
    /* The place is found by the index and not by `thread - s->threads`: if this thread got no CPU for
     * long, s->threads may belong to the next capture by now. */
    uintptr_t *pcs = s->pcs + (size_t)index * UNWIND_MAX_FRAMES;
    bool complete;
    unsigned n_pcs = unwind_context(ucontext, pcs, s->max_frames, &complete);
    if (!complete) atomic_fetch_add_explicit(&s->n_incomplete, 1, memory_order_relaxed);
    uint32_t id = stack_table_find(table, pcs, n_pcs, sampler_tag(thread->tid, sampler_label_set, state));
    atomic_fetch_add_explicit(&thread->n_samples, (uint64_t)n, memory_order_relaxed);
    atomic_store_explicit(&thread->last_stack, id, memory_order_relaxed);
    if (id == STACK_NONE) {
        atomic_fetch_add_explicit(&s->n_lost, (uint64_t)n, memory_order_relaxed);
        return;
    }
    stack_table_add(table, id, SAMPLER_COUNTER_SAMPLES, n);
    stack_table_add(table, id, SAMPLER_COUNTER_VALUE,
                    n * atomic_load_explicit(&s->weight, memory_order_relaxed));
}

/* A signal may arrive late: from a capture that has ended, or for a thread that has just left this one.
 * The entry of that index may then belong to another thread, whose clock has nothing to do with this one.
 * So the entry is used only when it names the thread that runs this handler. */
static bool is_ours(const struct sampler_thread *thread)
{
    if (!sampler_own_tid) sampler_own_tid = (uint32_t)raw_syscall4(SYS_gettid, 0, 0, 0, 0);
    return sampler_own_tid == atomic_load_explicit(&thread->tid, memory_order_relaxed);
}

/* How many samples of this thread are due since the last call, by its own CPU clock. Counting signals
 * would be wrong: those of events do not queue, and timers wait for the kernel's tick. An event's timer
 * may run a little ahead of the clock, so an eighth of a period is allowed. */
static int64_t samples_due(struct sampler_thread *thread, int64_t period_ns)
{
    if (atomic_load(&thread->rests)) return 0;
    struct timespec t = {0, 0};
    raw_syscall4(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, (long)&t, 0, 0);
    int64_t since_first_ns = t.tv_sec * 1000000000 + t.tv_nsec - thread->first_due_ns + period_ns / 8;
    uint64_t n = since_first_ns < 0 ? 0 : 1 + (uint64_t)(since_first_ns / period_ns);
    uint64_t before = atomic_load_explicit(&thread->n_due, memory_order_relaxed);
    if (n <= before) return 0;
    atomic_store_explicit(&thread->n_due, n, memory_order_relaxed);
    return (int64_t)(n - before);
}

static void handle_event(int fd, bool is_first, void *ucontext)
{
    struct sampler *s = &sampler_of[SAMPLER_CPU];
    if (fd < 0 || fd >= SAMPLER_MAX_EVENT_FD) return;
    unsigned ticket = epoch_enter(&sampler_epoch);
    uint32_t index = atomic_load(&sampler_event_thread[fd]);
    struct stack_table *table = atomic_load(&s->table);
    if (index && index <= s->n_threads && table && is_ours(&s->threads[index - 1])) {
        struct sampler_thread *thread = &s->threads[index - 1];
        int64_t period_ns = atomic_load_explicit(&s->weight, memory_order_relaxed);
        int64_t n = samples_due(thread, period_ns);
        if (n > 0) count(s, table, thread, index - 1, n, SAMPLER_RUNNING, ucontext);
        if (is_first) {
            raw_syscall4(SYS_ioctl, fd, PERF_EVENT_IOC_PERIOD, (long)&period_ns, 0);
            raw_syscall4(SYS_ioctl, fd, PERF_EVENT_IOC_ENABLE, 0, 0);
        }
    }
    epoch_leave(&sampler_epoch, ticket);
}

void sampler_handle(int signal_number, siginfo_t *info, void *ucontext)
{
    (void)signal_number;
    if (info->si_code == POLL_IN ||
        info->si_code ==
            POLL_HUP) { /* POLL_HUP: the event has stopped itself after its first, shorter period */
        handle_event(info->si_fd, info->si_code == POLL_HUP, ucontext);
        return;
    }
    uintptr_t value = (uintptr_t)info->si_value.sival_ptr;
    unsigned which = (unsigned)(value >> 32) ^ SAMPLER_MARK;
    if (which >= SAMPLER_COUNT || (info->si_code != SI_TIMER && info->si_code != SI_QUEUE)) return;
    struct sampler *s = &sampler_of[which];
    unsigned ticket = epoch_enter(&sampler_epoch);
    struct stack_table *table = atomic_load(&s->table);
    uint32_t index = (uint32_t)value & ~SAMPLER_ASLEEP;
    enum sampler_state state = (uint32_t)value & SAMPLER_ASLEEP ? SAMPLER_SLEEPING : SAMPLER_RUNNING;
    if (table && index < s->n_threads && is_ours(&s->threads[index])) {
        struct sampler_thread *thread = &s->threads[index];
        int64_t n = 1;
        if (which == SAMPLER_CPU) {
            if (info->si_code == SI_QUEUE) atomic_store(&thread->is_called, false);
            n = samples_due(thread, atomic_load_explicit(&s->weight, memory_order_relaxed));
        }
        if (n > 0) count(s, table, thread, index, n, state, ucontext);
    }
    epoch_leave(&sampler_epoch, ticket);
}
