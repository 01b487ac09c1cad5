/* epoch.c - the writer's side of hot/epoch.h. */
#include "agent/hot/epoch.h"

#include <string.h>

#include "agent/host/deadline.h"

static bool phase_is_empty(struct epoch *e, unsigned phase)
{
    for (unsigned i = 0; i < EPOCH_STRIPES; i++)
        if (atomic_load(&e->stripes[i].n_readers[phase])) return false;
    return true;
}

bool epoch_drain(struct epoch *e, unsigned limit_ms)
{
    int64_t deadline_ns = deadline_after_ms(limit_ms);
    unsigned first = atomic_load(&e->phase) & 1;
    for (unsigned turn = 0; turn < 2; turn++) {
        /* Several writers may be here at once: a CPU and a wall-clock capture can end together. They share
         * e->phase. If each writer waited for the phase that its own fetch_add returned, a second writer's
         * add could make it check one phase twice and the other one never, and it would free memory that a
         * reader still uses. So each writer waits for both phases in a fixed order, first and first ^ 1,
         * whatever the others add meanwhile. */
        atomic_fetch_add(&e->phase, 1);
        for (unsigned step_us = 20; !phase_is_empty(e, first ^ turn);
             step_us = step_us < 1000 ? step_us * 2 : 1000)
            if (!deadline_sleep_us(deadline_ns, step_us)) return false;
    }
    return true;
}

void epoch_reset(struct epoch *e)
{
    memset(e->stripes, 0, sizeof e->stripes);
}
