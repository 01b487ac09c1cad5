/* safe_load.h - loads from addresses that may not be mapped.
 *
 * The host's SIGSEGV handler is left alone. Instead, each page is probed once per walk by a system call that
 * reads user memory and then refuses to do anything: rt_sigprocmask with an operation that does not exist
 * returns EFAULT when the page cannot be read and EINVAL when it can. A stack of thirty frames lies on one to
 * three pages, and neighbouring pages extend the known range.
 *
 * Another thread may unmap a page between the probe and the load. So only the stack that the walking thread
 * runs on is read this way, because no thread unmaps a stack that is in use. The range begins where the
 * thread's own registers point, grows page by page without a hole, and ends at the thread's control block,
 * which glibc keeps at the top of the stack. Addresses elsewhere, which a wrong rule may produce, are
 * refused. Other memory is read by safe_copy.
 */
#ifndef AGENT_HOT_SAFE_LOAD_H
#define AGENT_HOT_SAFE_LOAD_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SAFE_PAGE                                                                                            \
    4096u /* the smallest page of any supported machine; probing a larger one twice is harmless */

struct safe_memory {  /* all zero: the first load sets the range */
    uintptr_t lo, hi; /* [lo, hi) can be read */
    intptr_t shift;   /* 0; or the bytes are a copy that lies this much further on, and nothing outside it is
                         touched */
};

/* Can the 8 bytes at the 8-aligned address be read? Keeps errno. */
bool safe_probe(uintptr_t address);

/* Extends the known range to the page of address, over all pages between; false when one cannot be read. */
bool safe_extend(struct safe_memory *m, uintptr_t address);

/* Are there n_bytes of stack below `here`? On the signal stack (NULL: there is none) its bounds decide.
 * Elsewhere each page below the current one is probed, so most often none. */
bool safe_room(const stack_t *for_signals, uintptr_t here, size_t n_bytes);

/* Copies bytes that may be unmapped at any time, through the kernel, and returns how many could be read
 * from the beginning. Takes half a microsecond. Only where no sandbox might object (untabled_find,
 * hot/untabled_code.h). */
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
