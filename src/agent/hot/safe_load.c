/* safe_load.c - see safe_load.h. */
#include "agent/hot/safe_load.h"

#include <errno.h>
#include <sys/syscall.h>

#include "agent/hot/raw_syscall.h"

bool safe_probe(uintptr_t address)
{
    /* The kernel copies the new mask in before it looks at the operation, so nothing is ever changed. */
    return raw_syscall4(SYS_rt_sigprocmask, -1, (long)address, 0, 8) != -EFAULT;
}

bool safe_extend(struct safe_memory *m, uintptr_t address)
{
    uintptr_t page = address & ~(uintptr_t)(SAFE_PAGE - 1);
    if (m->shift || page < SAFE_PAGE || page > UINTPTR_MAX / 2) return false;
    if (!safe_probe(address)) return false;
    if (page == m->hi) {
        m->hi = page + SAFE_PAGE;
    } else if (page + SAFE_PAGE == m->lo) {
        m->lo = page;
    } else {
        m->lo = page;
        m->hi = page + SAFE_PAGE;
    }
    return true;
}
