/* own_memory.h - reads this process's memory as a stranger would: a page that has just been unmapped is an
 * error, not a crash. */
#ifndef AGENT_HOST_OWN_MEMORY_H
#define AGENT_HOST_OWN_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many of the n bytes at address could be copied; 0 when none. */
size_t own_memory_read(uintptr_t address, void *into, size_t n_bytes);

#endif
