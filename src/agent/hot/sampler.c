/* sampler.c - see sampler.h. */
#include "agent/hot/sampler.h"

#include "agent/hot/unwind.h"

struct sampler sampler_of[SAMPLER_COUNT];
struct epoch sampler_epoch;
_Thread_local uint32_t sampler_label_set;

static void count(struct sampler *s, struct stack_table *table, struct sampler_thread *thread, int64_t n,
                  enum sampler_state state, void *ucontext)
{
    uintptr_t pcs[UNWIND_MAX_FRAMES];
    bool complete;
    unsigned n_pcs = unwind_context(ucontext, pcs, s->max_frames, &complete);
    if (!complete) atomic_fetch_add_explicit(&s->n_incomplete, 1, memory_order_relaxed);
    uint32_t id = stack_table_find(table, pcs, n_pcs, sampler_tag(thread->tid, sampler_label_set, state));
    atomic_fetch_add_explicit(&thread->n_samples, (uint64_t)n, memory_order_relaxed);
    if (id == STACK_NONE) {
        atomic_fetch_add_explicit(&s->n_lost, (uint64_t)n, memory_order_relaxed);
        return;
    }
    stack_table_add(table, id, SAMPLER_COUNTER_SAMPLES, n);
    stack_table_add(table, id, SAMPLER_COUNTER_VALUE,
                    n * atomic_load_explicit(&s->weight, memory_order_relaxed));
}

void sampler_handle(int signal_number, siginfo_t *info, void *ucontext)
{
    (void)signal_number;
    uintptr_t value = (uintptr_t)info->si_value.sival_ptr;
    unsigned which = (unsigned)(value >> 32) ^ SAMPLER_MARK;
    if (which >= SAMPLER_COUNT || (info->si_code != SI_TIMER && info->si_code != SI_QUEUE)) return;
    struct sampler *s = &sampler_of[which];
    /* A timer fires on the tick of the kernel: periods that went by since the last one are its overruns. */
    int64_t n = info->si_code == SI_TIMER && info->si_overrun > 0 ? 1 + (int64_t)info->si_overrun : 1;
    unsigned ticket = epoch_enter(&sampler_epoch);
    struct stack_table *table = atomic_load(&s->table);
    uint32_t thread = (uint32_t)value & ~SAMPLER_ASLEEP;
    enum sampler_state state = (uint32_t)value & SAMPLER_ASLEEP ? SAMPLER_SLEEPING : SAMPLER_RUNNING;
    if (table && thread < s->n_threads) count(s, table, &s->threads[thread], n, state, ucontext);
    epoch_leave(&sampler_epoch, ticket);
}
