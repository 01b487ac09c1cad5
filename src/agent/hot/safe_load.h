/* safe_load.h - loads from addresses that may not be mapped.
 *
 * No SIGSEGV handler is borrowed from the host. Instead a page is asked about once per walk by a system call
 * that reads user memory and then refuses to do anything (rt_sigprocmask with an operation that does not
 * exist: EFAULT when the page cannot be read, EINVAL when it can). A stack of thirty frames lies on one to
 * three pages, neighbours extend the range that is known.
 *
 * Between the question and the load another thread may unmap the page. So only the stack the walking thread
 * runs on is read like this, which nobody unmaps under it: the range begins where the thread's own registers
 * say, grows page by page without a hole, and ends with the thread's control block where glibc keeps that at
 * the top of the stack. What a wrong rule makes up elsewhere is refused. Other memory is read by safe_copy.
 */
#ifndef AGENT_HOT_SAFE_LOAD_H
#define AGENT_HOT_SAFE_LOAD_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SAFE_PAGE                                                                                            \
    4096u /* the smallest page of any machine we run on: asking twice about a larger one is harmless */

struct safe_memory {  /* all zero: the first load says where the stack is */
    uintptr_t lo, hi; /* [lo, hi) can be read */
    intptr_t shift; /* 0; or the bytes are a copy that stands this much further, and nothing outside of it is
                       touched */
};

/* Can the 8 bytes at the 8-aligned address be read? Keeps errno. */
bool safe_probe(uintptr_t address);

/* Makes the page of address and those on the way to it part of the known range; false when one cannot be
 * read. */
bool safe_extend(struct safe_memory *m, uintptr_t address);

/* Can the n_bytes of stack below `here` be used? On the stack for signals (NULL: there is none) by its
 * bounds; else each page of it is asked about but the one we stand on, so most often none. */
bool safe_room(const stack_t *for_signals, uintptr_t here, size_t n_bytes);

/* Copies bytes that may vanish at any time, through the kernel; returns how many could be read from the
 * beginning. Half a microsecond. Only where no sandbox might object (untabled_find, hot/untabled_code.h). */
size_t safe_copy(uintptr_t from, void *into, size_t n_bytes);

__attribute__((no_sanitize("address", "thread"))) static inline bool
safe_load(struct safe_memory *m, uintptr_t address, uintptr_t *ret_value)
{
    if (__builtin_expect(address & (sizeof(uintptr_t) - 1), 0)) return false;
    if (__builtin_expect(address < m->lo || address >= m->hi, 0) && !safe_extend(m, address)) return false;
    *ret_value = *(const volatile uintptr_t *)(address + (uintptr_t)m->shift);
    return true;
}

#endif
