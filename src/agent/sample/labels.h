/* labels.h - "what is this thread working on": key=value pairs of the host, kept per thread, found again in
 * every CPU and wall-clock sample.
 *
 * A set of labels is interned once and is a small number from then on; the handler only reads that number of
 * its thread, and who looks at a sleeping thread finds it by tid.
 * Sets are never removed: at most LABELS_MAX_SETS different ones in the life of the process, then "too many".
 */
#ifndef AGENT_SAMPLE_LABELS_H
#define AGENT_SAMPLE_LABELS_H

#include <stdint.h>

#define LABELS_MAX_SETS    16384
#define LABELS_MAX_PER_SET 8

struct labels_pair {
    const char *key, *value;
};

/* Sets (value NULL: removes) a label of the calling thread. 0, or -1 when there are too many. */
int labels_set(const char *key, const char *value);

/* The set of any thread of the process, 0: none. Takes no lock. */
uint32_t labels_of(uint32_t tid);

/* The pairs of a set; how many. Valid for ever. */
unsigned labels_get(uint32_t set, struct labels_pair pairs[LABELS_MAX_PER_SET]);

void labels_forked(void); /* after sampler_own_tid is set back */

#endif
