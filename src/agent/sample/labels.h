/* labels.h - what a thread works on: key=value pairs that the host sets for a thread and that every CPU and
 * wall-clock sample of it carries.
 *
 * A set of labels is interned once and is a small number from then on. The handler only reads the number of
 * its own thread; the wall clock's thread finds the number of a sleeping thread by its tid. Sets are never
 * removed: a process may use at most LABELS_MAX_SETS different ones, then labels_set fails.
 */
#ifndef AGENT_SAMPLE_LABELS_H
#define AGENT_SAMPLE_LABELS_H

#include <stdint.h>

#define LABELS_MAX_SETS    16384
#define LABELS_MAX_PER_SET 8

struct labels_pair {
    const char *key, *value;
};

/* Sets a label of the calling thread; value NULL removes it. 0, or -1 when there are too many. */
int labels_set(const char *key, const char *value);

/* The set of any thread of the process; 0: none. Takes no lock. */
uint32_t labels_of(uint32_t tid);

/* Fills in the pairs of a set and returns how many there are. The strings stay valid for ever. */
unsigned labels_get(uint32_t set, struct labels_pair pairs[LABELS_MAX_PER_SET]);

void labels_forked(void); /* call it after sampler_own_tid is set back */

#endif
