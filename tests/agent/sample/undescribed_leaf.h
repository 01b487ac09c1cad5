/* undescribed_leaf.h - for tests on x86-64: a function that no unwind table describes, so that the sampler
 * would ask the loader about it. */
#ifndef TESTS_AGENT_SAMPLE_UNDESCRIBED_LEAF_H
#define TESTS_AGENT_SAMPLE_UNDESCRIBED_LEAF_H

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

/* The code counts down from n_rounds and returns. Returns NULL if no executable page can be mapped. */
static void *make_undescribed_leaf(uint32_t n_rounds)
{
    unsigned char code[] = {0xb8, 0,    0, 0, 0, /* mov $n_rounds,%eax */
                            0xff, 0xc8,          /* dec %eax */
                            0x75, 0xfc,          /* jne back */
                            0xc3};               /* ret */
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return NULL;
    memcpy(code + 1, &n_rounds, sizeof n_rounds);
    memcpy(page, code, sizeof code);
    return page;
}

#endif
