/* epoch.c - the writer's side of hot/epoch.h. */
#include "agent/hot/epoch.h"

#include <string.h>
#include <time.h>

static bool phase_is_empty(struct epoch *e, unsigned phase)
{
    for (unsigned i = 0; i < EPOCH_STRIPES; i++)
        if (atomic_load(&e->stripes[i].n_readers[phase])) return false;
    return true;
}

bool epoch_drain(struct epoch *e, unsigned limit_ms)
{
    unsigned waited_us = 0, first = atomic_load(&e->phase) & 1;
    for (unsigned turn = 0; turn < 2; turn++) {
        /* Each phase is waited for once, whichever way another writer turns meanwhile: to go by what our own
         * turn returns would look at one phase twice and at the other never. */
        atomic_fetch_add(&e->phase, 1);
        for (unsigned step_us = 20; !phase_is_empty(e, first ^ turn);
             step_us = step_us < 1000 ? step_us * 2 : 1000) {
            if (waited_us / 1000 >= limit_ms) return false;
            nanosleep(&(struct timespec){.tv_nsec = step_us * 1000L}, NULL);
            waited_us += step_us;
        }
    }
    return true;
}

void epoch_reset(struct epoch *e)
{
    memset(e->stripes, 0, sizeof e->stripes);
}
