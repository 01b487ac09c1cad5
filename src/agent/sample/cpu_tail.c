/* cpu_tail.c - see cpu_tail.h. */
#include "agent/sample/cpu_tail.h"

#include "agent/hot/safe_load.h"
#include "agent/hot/unwind.h"

#define MOST_NS    50000000 /* a dozen ticks; a thread that is further behind blocks the signal */
#define MAX_FRAMES 32

#define STACK_BYTES (UNWIND_STACK_BYTES + 512) /* for walking the stack and finding it in the table */

/* The stack of the thread's function and its callers. The thread itself calls this. */
static uint32_t stack_at_end(struct stack_table *table, uint32_t tid, const struct threads_end *end)
{
    uintptr_t pcs[MAX_FRAMES];
    if (!safe_room(NULL, (uintptr_t)__builtin_frame_address(0), sizeof pcs + STACK_BYTES)) return STACK_NONE;
    unsigned n = unwind_here(pcs, MAX_FRAMES, 0), caller = 0;
    while (caller < n && pcs[caller] != end->caller_pc) caller++;
    if (caller == 0 || caller == n) return STACK_NONE;
    pcs[caller - 1] = (uintptr_t)end->function;
    return stack_table_find(table, pcs + caller - 1, n - caller + 1,
                            sampler_tag(tid, sampler_label_set, SAMPLER_RUNNING));
}

static bool add(struct capture *c, uint32_t stack, uint64_t n)
{
    if (stack == STACK_NONE) return false;
    stack_table_add(c->table, stack, SAMPLER_COUNTER_SAMPLES, (int64_t)n);
    stack_table_add(c->table, stack, SAMPLER_COUNTER_VALUE, (int64_t)n * c->period_ns);
    return true;
}

bool cpu_tail_count(struct capture *c, uint32_t index, uint64_t n, const struct threads_end *end)
{
    struct sampler_thread *s = &c->counts[index];
    if (n > 1 && n > (uint64_t)(MOST_NS / c->period_ns)) return false;
    uint32_t id = atomic_load(&s->last_stack);
    if (id == STACK_NONE && end) id = stack_at_end(c->table, s->tid, end);
    if (!add(c, id, n)) return false;
    atomic_fetch_add(&s->n_samples, n);
    atomic_fetch_add(&s->n_due, n); /* a signal that is still pending then counts them no more */
    return true;
}

bool cpu_tail_count_unmet(struct capture *c, uint32_t tid, uint64_t n, const struct threads_end *end)
{
    return add(c, stack_at_end(c->table, tid, end), n);
}
