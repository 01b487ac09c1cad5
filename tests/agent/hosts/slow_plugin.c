/* A library that holds the loader up while its slots are being filled in (all of them at once, then
 * read-only): the address of slow() is chosen by a function, which waits for the host. */
#include <stdlib.h>
#include <sys/syscall.h>

#include "agent/hot/raw_syscall.h"

static void chosen(void) {}

/* Nothing of libc can be called yet. The descriptors are the host's: plugin_host.c. */
__attribute__((used)) static void (*choose(void))(void)
{
    char byte = 0;
    raw_syscall4(SYS_write, 100, (long)&byte, 1, 0);
    raw_syscall4(SYS_read, 101, (long)&byte, 1, 0);
    return chosen;
}

void slow(void) __attribute__((ifunc("choose"), visibility("default")));
void plugin(void);

void plugin(void)
{
    void *p = malloc(1);
    slow();
    free(p);
    p = aligned_alloc(16, 16);
    p = realloc(p, 20);
    free(calloc(1, 2));
    free(p);
}
