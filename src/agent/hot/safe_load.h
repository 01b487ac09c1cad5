/* safe_load.h - loads from addresses that may not be mapped.
 *
 * No SIGSEGV handler is borrowed from the host. Instead a page is asked about once per walk by a system call
 * that reads user memory and then refuses to do anything (rt_sigprocmask with an operation that does not
 * exist: EFAULT when the page cannot be read, EINVAL when it can). A stack of thirty frames lies on one to
 * three pages, neighbours extend the range that is known.
 */
#ifndef AGENT_HOT_SAFE_LOAD_H
#define AGENT_HOT_SAFE_LOAD_H

#include <stdbool.h>
#include <stdint.h>

#define SAFE_PAGE                                                                                            \
    4096u /* the smallest page of any machine we run on: asking twice about a larger one is harmless */

struct safe_memory {
    uintptr_t lo, hi; /* [lo, hi) can be read */
    intptr_t shift; /* 0; or the bytes are a copy that stands this much further, and nothing outside of it is
                       touched */
};

/* Can the 8 bytes at the 8-aligned address be read? Keeps errno. */
bool safe_probe(uintptr_t address);

/* Makes the page of address part of the known range; false when it cannot be read. */
bool safe_extend(struct safe_memory *m, uintptr_t address);

__attribute__((no_sanitize("address", "thread"))) static inline bool
safe_load(struct safe_memory *m, uintptr_t address, uintptr_t *ret_value)
{
    if (__builtin_expect(address & (sizeof(uintptr_t) - 1), 0)) return false;
    if (__builtin_expect(address < m->lo || address >= m->hi, 0) && !safe_extend(m, address)) return false;
    *ret_value = *(const volatile uintptr_t *)(address + (uintptr_t)m->shift);
    return true;
}

#endif
