/* heap_direct_setup.h - fills in the page of hot/heap_direct.h. */
#ifndef AGENT_HOOKS_HEAP_DIRECT_SETUP_H
#define AGENT_HOOKS_HEAP_DIRECT_SETUP_H

#include <stdbool.h>

/* Before the first call of heap_direct_malloc and heap_direct_free, once. False, and nothing has changed,
 * where that cannot be: the allocator lies more than 2 GiB away (the library is linked into the program), the
 * system forbids to write code, a system call filter might mind, setting "direct=0", another processor. */
bool heap_direct_bind(const void *real_malloc, const void *real_free);

#endif
