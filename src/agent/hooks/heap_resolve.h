/* heap_resolve.h - finds the allocation functions behind ours, and switches between them and the counting
 * versions. */
#ifndef AGENT_HOOKS_HEAP_RESOLVE_H
#define AGENT_HOOKS_HEAP_RESOLVE_H

#include <stdbool.h>

/* Looks up the real functions, once. Safe at any time, also inside the first malloc of the process. */
void heap_resolve(void);

/* Do the host's allocations come through our functions? Tried when the library was loaded. False when the
 * program has an allocator of its own that is found before ours (linked in statically): then there is
 * nothing to count here. */
bool heap_sees_calls(void);

/* File name of the object whose malloc the program calls: ours, or one that is found before it. */
const char *heap_first_file(void);

/* File name of the object whose malloc is behind ours; "" before it is known. */
const char *heap_allocator_file(void);

/* Starts or stops counting allocations. While `watch_frees`, frees are still watched. */
void heap_switch(bool count, bool watch_frees);
void heap_switch_forked(
    void); /* the routes off, in the child of a fork: slots stay, what they call counts nothing */

#endif
