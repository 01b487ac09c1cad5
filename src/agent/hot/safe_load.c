/* safe_load.c - see safe_load.h. */
#include "agent/hot/safe_load.h"

#include <errno.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "agent/hot/raw_syscall.h"

#define MAX_GAP_BYTES (8u << 20) /* the largest frame we believe in */

bool safe_probe(uintptr_t address)
{
    /* The kernel reads the new mask before it looks at the operation, so nothing ever changes. */
    return raw_syscall4(SYS_rt_sigprocmask, -1, (long)address, 0, 8) != -EFAULT;
}

bool safe_extend(struct safe_memory *m, uintptr_t address)
{
    uintptr_t page = address & ~(uintptr_t)(SAFE_PAGE - 1),
              control_block = (uintptr_t)__builtin_thread_pointer();
    if (m->shift || page < SAFE_PAGE || page > UINTPTR_MAX / 2) return false;
    if (!m->hi) {
        if (!safe_probe(address)) return false;
        m->lo = page;
        m->hi = page + SAFE_PAGE;
        return true;
    }
    if (page < m->lo ? m->lo - page > MAX_GAP_BYTES : page - m->hi > MAX_GAP_BYTES) return false;
    if (m->lo <= control_block && page > control_block) return false;
    for (; m->hi <= page; m->hi += SAFE_PAGE)
        if (!safe_probe(m->hi)) return false;
    for (; m->lo > page; m->lo -= SAFE_PAGE)
        if (!safe_probe(m->lo - SAFE_PAGE)) return false;
    return true;
}

bool safe_room(const stack_t *for_signals, uintptr_t here, size_t n_bytes)
{
    if (for_signals) {
        uintptr_t left = here - (uintptr_t)for_signals->ss_sp;
        if (left < for_signals->ss_size) return left >= n_bytes;
    }
    for (uintptr_t page = here & ~(uintptr_t)(SAFE_PAGE - 1); here - page < n_bytes; page -= SAFE_PAGE)
        if (!safe_probe(page - SAFE_PAGE)) return false;
    return true;
}

size_t safe_copy(uintptr_t from, void *into, size_t n_bytes)
{
    struct iovec local = {into, n_bytes}, remote = {(void *)from, n_bytes};
    long pid = raw_syscall4(SYS_getpid, 0, 0, 0, 0);
    long n = raw_syscall6(SYS_process_vm_readv, pid, (long)&local, 1, (long)&remote, 1, 0);
    return n > 0 ? (size_t)n : 0;
}
