/* heap_direct_setup.c - see heap_direct.h. The page is writable or executable, never both; while it is
 * writable nobody can be in it, since no slot and no route leads there yet. */
#include "agent/hooks/heap_direct_setup.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "agent/host/config.h"
#include "agent/hot/heap_direct.h"
#include "agent/hot/heap_hook.h"

#if HAS_HEAP_DIRECT

static bool fits(intptr_t distance)
{
    return distance == (int32_t)distance;
}

static void write_number(uint8_t at[4], intptr_t number)
{
    int32_t four_bytes = (int32_t)number;
    memcpy(at, &four_bytes, sizeof four_bytes);
}

bool heap_direct_bind(const void *real_malloc, const void *real_free)
{
    intptr_t counter = (intptr_t)&heap_thread.poisson.left - (intptr_t)__builtin_thread_pointer(),
             to_malloc = (intptr_t)real_malloc - (intptr_t)(heap_direct_to_malloc + 4),
             to_free = (intptr_t)real_free - (intptr_t)(heap_direct_to_free + 4);
    if (!fits(counter) || !fits(to_malloc) || !fits(to_free) ||
        sysconf(_SC_PAGESIZE) != HEAP_DIRECT_PAGE_BYTES)
        return false;
    /* A filter may end the process over a call that it does not expect. */
    if (!config_flag("direct", true) || prctl(PR_GET_SECCOMP) != 0) return false;
    if (mprotect(heap_direct_page, HEAP_DIRECT_PAGE_BYTES, PROT_READ | PROT_WRITE)) return false;
    write_number(heap_direct_counter, counter);
    write_number(heap_direct_to_malloc, to_malloc);
    write_number(heap_direct_to_free, to_free);
    return mprotect(heap_direct_page, HEAP_DIRECT_PAGE_BYTES, PROT_READ | PROT_EXEC) == 0;
}

#else

bool heap_direct_bind(const void *real_malloc, const void *real_free)
{
    (void)real_malloc, (void)real_free;
    return false;
}

#endif
