/* gperftools_cpu.c - reads gperftools' binary CPU profile into samples and CPU time. Return addresses are
 * moved back onto the call. */
#include "base/mem.h"
#include "format/cpu_binary.h"
#include "format/format.h"
#include "format/java.h"
#include "format/legacy.h"

struct records { /* all samples in one array, because dropping a frame requires every sample */
    uint64_t *addresses, *counts, *starts;
    size_t n_addresses, cap_addresses, n_counts, cap_counts, n_starts, cap_starts;
};

static int keep_record(void *context, uint64_t count, const uint64_t *addresses, size_t n)
{
    struct records *r = context;
    *VEC_PUSH(r->counts, r->n_counts, r->cap_counts) = count;
    *VEC_PUSH(r->starts, r->n_starts, r->cap_starts) = r->n_addresses;
    if (r->n_addresses + n > r->cap_addresses)
        r->addresses = mem_grow(r->addresses, &r->cap_addresses, r->n_addresses + n, sizeof *r->addresses);
    if (n) memcpy(r->addresses + r->n_addresses, addresses, n * sizeof *addresses);
    r->n_addresses += n;
    return 0;
}

static size_t depth_of(const struct records *r, size_t i)
{
    return (size_t)((i + 1 < r->n_starts ? r->starts[i + 1] : r->n_addresses) - r->starts[i]);
}

/* Guesses, like the old readers, that a second frame shared by nearly all samples was pushed by the signal
 * handler. This removes two frames at most. skip[i] is the number of frames after the leaf that sample i
 * omits. It is off by default, because it removes real frames of a program with a single path. */
static void find_signal_frames(const struct records *r, uint8_t *skip)
{
    size_t margin = r->n_counts / 32;
    for (int round = 0; round < 2; round++) {
        /* Boyer-Moore majority vote: only an address that most samples share can win, so one candidate is
         * enough. */
        uint64_t candidate = 0;
        size_t votes = 0, n = 0;
        for (size_t i = 0; i < r->n_counts; i++) {
            if (depth_of(r, i) < 2u + skip[i]) continue;
            uint64_t second = r->addresses[r->starts[i] + 1 + skip[i]];
            if (!votes) candidate = second;
            votes += second == candidate ? 1 : (size_t)-1;
        }
        for (size_t i = 0; i < r->n_counts; i++)
            n += depth_of(r, i) >= 2u + skip[i] && r->addresses[r->starts[i] + 1 + skip[i]] == candidate;
        if (!n || n < r->n_counts - margin) break;
        for (size_t i = 0; i < r->n_counts; i++)
            if (depth_of(r, i) >= 2u + skip[i] && r->addresses[r->starts[i] + 1 + skip[i]] == candidate)
                skip[i]++;
    }
}

static int add_samples(struct legacy *l, const struct records *r, const uint8_t *skip, bool java,
                       struct err *err)
{
    for (size_t i = 0; i < r->n_counts; i++) {
        size_t n = depth_of(r, i);
        const uint64_t *frames = n ? r->addresses + r->starts[i] : NULL;
        if (r->counts[i] > (uint64_t)(INT64_MAX / l->p->period))
            return err_set(err, ERR_INPUT, "sample %zu: a count of %llu is more than a profile can hold",
                           i + 1, (unsigned long long)r->counts[i]);
        int64_t count = (int64_t)r->counts[i], values[] = {count, count * l->p->period};
        if (n) legacy_frame(l, frames[0]);
        size_t from = 1 + skip[i];
        /* The signal handler may record the interrupted address twice, from the registers and from the
         * stack. Keep it once. */
        if (!java && n > from && frames[0] == frames[from]) from++;
        for (size_t f = from; f < n; f++) legacy_frame(l, java ? frames[f] : frames[f] - 1);
        legacy_sample(l, values);
    }
    return 0;
}

static int read_cpu(const void *data, size_t len, const struct format_options *options, struct profile *into,
                    struct err *err)
{
    struct records records = {0};
    struct cpu_header header;
    struct piece rest;
    int rc = cpu_binary_read(data, len, &(struct cpu_handler){keep_record, &records}, &header, &rest, err);
    if (!rc) {
        profile_add_sample_type(into, "samples", "count");
        profile_add_sample_type(into, "cpu", "nanoseconds");
        into->period_type = into->sample_types[1];
        into->period = (int64_t)header.period_us * 1000;
        uint8_t *skip = mem_zalloc(records.n_counts + 1);
        if (options->drop_signal_frames && !header.java) find_signal_frames(&records, skip);
        struct legacy l = {.p = into};
        rc = add_samples(&l, &records, skip, header.java, err);
        if (!rc && header.java) {
            java_read_names(&l, rest);
            legacy_set_frame_filters(into, LEGACY_OTHER);
        } else if (!rc) {
            legacy_finish(&l, rest, LEGACY_OTHER);
        }
        legacy_free(&l);
        mem_free(skip);
    }
    mem_free(records.addresses);
    mem_free(records.counts);
    mem_free(records.starts);
    return rc;
}

const struct format_reader format_cpu = {"gperftools CPU", read_cpu};
