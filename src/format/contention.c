/* contention.c - reads a text profile of lock contention into counts and delays, with the sampling undone. */
#include "format/contention_text.h"
#include "format/format.h"
#include "format/legacy.h"

static void set_types(struct profile *p)
{
    profile_add_sample_type(p, "contentions", "count");
    profile_add_sample_type(p, "delay", "nanoseconds");
    p->period_type = p->sample_types[0];
}

static int add_record(void *context, const struct contention_header *h, int64_t cycles, int64_t count,
                      const uint64_t *addresses, size_t n)
{
    struct legacy *l = context;
    if (!l->p->n_sample_types) set_types(l->p);
    if (count < 0) count = 1; /* a line of the oldest format is one event */
    if (h->sampling_period > 0) {
        if (h->cycles_per_second > 0)
            cycles = text_clamp_i64((double)cycles * (double)h->sampling_period /
                                    ((double)h->cycles_per_second / 1e9));
        if (__builtin_mul_overflow(count, h->sampling_period, &count)) count = INT64_MAX;
    }
    for (size_t i = 0; i < n; i++) legacy_frame(l, addresses[i] - 1);
    legacy_sample(l, (int64_t[]){count, cycles});
    return 0;
}

static int read_contention(const void *data, size_t len, const struct format_options *options,
                           struct profile *into, struct err *err)
{
    (void)options;
    struct legacy l = {.p = into};
    struct contention_header header;
    struct piece maps;
    int rc = contention_text_read((struct piece){data, len},
                                  &(struct contention_handler){.record = add_record, .context = &l}, &header,
                                  &maps, err);
    if (!rc) {
        if (!into->n_sample_types) set_types(into);
        into->period = header.sampling_period;
        into->duration_ns = header.duration_ms * 1000000;
        legacy_finish(&l, maps, LEGACY_CONTENTION);
    }
    legacy_free(&l);
    return rc;
}

const struct format_reader format_contention = {"contention text", read_contention};
