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
        /* Each phase is waited for once, whichever way another writer turns meanwhile: to go by what our own
         * turn returns would look at one phase twice and at the other never. */
        atomic_fetch_add(&e->phase, 1);
        for (unsigned step_us = 20; !phase_is_empty(e, first ^ turn);
             step_us = step_us < 1000 ? step_us * 2 : 1000)
            if (!deadline_lets_sleep_us(deadline_ns, step_us)) return false;
    }
    return true;
}

void epoch_reset(struct epoch *e)
{
    memset(e->stripes, 0, sizeof e->stripes);
}
