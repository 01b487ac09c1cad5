/* random.c - see random.h. Any thread may call it at any time. The only shared state is one atomic counter,
 * whose value goes through a mixing function (splitmix64), so there is no lock and no half-written state. */
#include "agent/host/random.h"

#include <stdatomic.h>
#include <sys/random.h>
#include <time.h>

uint64_t random_number(void)
{
    static _Atomic uint64_t state;
    if (!atomic_load_explicit(&state, memory_order_relaxed)) {
        uint64_t seed = 0, none = 0;
        if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != sizeof seed)
            seed = (uint64_t)time(NULL) << 20 ^ (uintptr_t)&seed;
        atomic_compare_exchange_strong(&state, &none, seed | 1);
    }
    uint64_t z = atomic_fetch_add(&state, 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}
