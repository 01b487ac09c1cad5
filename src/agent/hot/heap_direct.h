/* heap_direct.h - malloc and free while heap profiling is on, with the address of the allocator written into
 * the code.
 *
 * The counting functions of heap_hook.c go on to the allocator by an indirect jump, since where it lies is
 * only known when the program runs. That jump costs more than the counting (0.6 ns; a direct one 0.2 ns,
 * measured by bench/agent/malloc.sh). So there is a second version of the two, alone in a page of our code,
 * whose last jump and thread-local offset are filled in before the first call (heap_direct.c beside).
 * Everything else about them is as there: no stack of their own, the rare cases are those of heap_hook.c.
 * Unwinders find them described like all code.
 */
#ifndef AGENT_HOT_HEAP_DIRECT_H
#define AGENT_HOT_HEAP_DIRECT_H

#define HEAP_DIRECT_PAGE_BYTES 4096

#ifndef PROCPROF_ASSEMBLER
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* heap_hook.c: what is rare */
void *heap_sampled_malloc(size_t size);
void heap_forgotten_free(void *p);

#if defined(__x86_64__)
#define HAS_HEAP_DIRECT 1

void *heap_direct_malloc(size_t size);
void heap_direct_free(void *p);

/* The page, and the numbers in it: the offset of heap_thread.poisson.left from the thread pointer; how far to
 * jump, seen from behind the number. Four bytes each, not aligned. */
extern uint8_t heap_direct_page[HEAP_DIRECT_PAGE_BYTES];
extern uint8_t heap_direct_counter[4], heap_direct_to_malloc[4], heap_direct_to_free[4];
#else
#define HAS_HEAP_DIRECT 0
#endif

#pragma GCC visibility pop

#endif
#endif
