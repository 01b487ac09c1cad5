/* random.h - random numbers for phases and jitter; not for secrets. Any thread, not in a signal handler. */
#ifndef AGENT_HOST_RANDOM_H
#define AGENT_HOST_RANDOM_H

#include <stdint.h>

uint64_t random_number(void);

#endif
