/* own_memory.h - reads this process's memory through the kernel, so that a page which the host unmaps
 * meanwhile is an error and not a crash. */
#ifndef AGENT_HOST_OWN_MEMORY_H
#define AGENT_HOST_OWN_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Copies up to n_bytes from address. Returns how many bytes were copied; 0 when none could be. */
size_t own_memory_read(uintptr_t address, void *into, size_t n_bytes);

#endif
