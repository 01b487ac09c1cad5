/* output.h - a profile as the profilers hand it to the writers.
 *
 * A profiler describes its sample types once and adds samples. The writers (write_*.c) turn that into
 * profile.proto, the legacy formats of the pprof family, or text. All of this runs in the thread of one
 * capture, on memory from pages.h; an output is not shared between threads.
 */
#ifndef AGENT_WRITE_OUTPUT_H
#define AGENT_WRITE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/host/pages.h"
#include "base/err.h"

#define OUTPUT_MAX_TYPES    4
#define OUTPUT_MAX_COMMENTS 8

struct output_type {
    const char *type, *unit; /* "cpu", "nanoseconds"; literals */
};

struct output_label {
    const char *key; /* literal */
    const char *str; /* copied; NULL: a number */
    int64_t num;
    const char *unit; /* of the number; literal; may be NULL */
};

/* The legacy format for clients that do not read profile.proto. */
enum output_legacy {
    OUTPUT_LEGACY_CPU,        /* binary; values[0] is the count. period is in nanoseconds */
    OUTPUT_LEGACY_HEAP,       /* text; types alloc_objects, alloc_space, inuse_objects, inuse_space */
    OUTPUT_LEGACY_GROWTH,     /* the same records under "@ growth"; types objects, space */
    OUTPUT_LEGACY_CONTENTION, /* text; types contentions, delay (nanoseconds) */
    OUTPUT_LEGACY_COUNT,      /* "NAME profile: total N" text; values[0] is the count */
};

struct output_sample { /* as stored: pcs, values and labels follow in `data`, at these offsets */
    uint64_t pcs, values, labels;
    uint32_t n_pcs, n_labels;
    bool leaf_is_return; /* also pcs[0] is a return address (heap, contention); false: the interrupted
                            instruction (cpu) */
};

/* The address of a location: the instruction itself for the leaf, an address inside the call for callers. */
static inline uintptr_t output_address(const struct output_sample *s, const uintptr_t *pcs, unsigned i)
{
    return i == 0 && !s->leaf_is_return ? pcs[i] : pcs[i] - 1;
}

struct output {
    /* Filled in by the profiler */
    const char *name; /* of the kind: "heap" */
    enum output_legacy legacy;
    struct output_type types[OUTPUT_MAX_TYPES];
    unsigned n_types;
    const char *default_type; /* NULL: the last */
    struct output_type period_type;
    int64_t period;
    int64_t time_ns, duration_ns; /* wall clock */
    /* Samples known to be missing. profile.proto shows them as a sample on the frame "[lost]". */
    uint64_t n_lost;
    bool has_raw; /* raw below is the whole answer, in any format requested (a dump of jemalloc) */

    /* Filled in by the functions below */
    struct pages_buf samples; /* struct output_sample[] */
    struct pages_buf data;
    struct pages_buf raw;
    char comments[OUTPUT_MAX_COMMENTS][200];
    unsigned n_comments;
};

/* Adds one sample; everything is copied. pcs has the leaf first; values has n_types elements. At most 16
 * labels are kept. */
void output_add(struct output *o, const uintptr_t *pcs, unsigned n_pcs, bool leaf_is_return,
                const int64_t *values, const struct output_label *labels, unsigned n_labels);
void output_comment(struct output *o, const char *format, ...) __attribute__((format(printf, 2, 3)));
void output_free(struct output *o);

static inline unsigned output_n_samples(const struct output *o)
{
    return (unsigned)(o->samples.size / sizeof(struct output_sample));
}
static inline const struct output_sample *output_sample_at(const struct output *o, unsigned i)
{
    return (const struct output_sample *)(const void *)o->samples.data + i;
}
static inline const uintptr_t *output_pcs(const struct output *o, const struct output_sample *s)
{
    return (const uintptr_t *)(const void *)(o->data.data + s->pcs);
}
static inline const int64_t *output_values(const struct output *o, const struct output_sample *s)
{
    return (const int64_t *)(const void *)(o->data.data + s->values);
}
static inline const struct output_label *output_labels(const struct output *o, const struct output_sample *s)
{
    return (const struct output_label *)(const void *)(o->data.data + s->labels);
}
/* The text of a stored label, whose str is an offset into data; NULL for a number. */
const char *output_label_text(const struct output *o, const struct output_label *l);

/* Subtracts begin from end, sample by sample (same stack and labels), and removes samples that become zero.
 * This is ?seconds=N of the profilers that count all the time. */
int output_subtract(struct output *end, const struct output *begin, struct err *err);

/* Drops all labels and adds up the samples with the same stack, as the legacy formats need it. */
int output_merge_stacks(struct output *o, struct err *err);

/* The writers append the whole profile to b. */
/* profile.proto with names, gzip */
int output_write_proto(const struct output *o, struct pages_buf *b, struct err *err);
/* The format o->legacy; stacks must be merged. */
int output_write_legacy(const struct output *o, struct pages_buf *b, struct err *err);
/* ?debug=1: text for people. */
int output_write_text(const struct output *o, struct pages_buf *b, struct err *err);

#endif
