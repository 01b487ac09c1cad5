/* write_legacy.c - the formats older than profile.proto, for curl, jeprof and google-pprof. They contain
 * addresses only; the client asks /pprof/symbol for names or finds them in the binary. */
#include <string.h>

#include "agent/host/mappings.h"
#include "agent/write/output.h"
#include "base/text.h"

static void put_word(struct pages_buf *b, uintptr_t word)
{
    pages_buf_bytes(b, &word, sizeof word);
}

static void put_hex(struct pages_buf *b, uintptr_t value)
{
    char text[20];
    unsigned at = sizeof text;
    do text[--at] = TEXT_HEX_DIGITS[value & 15];
    while (value >>= 4);
    text[--at] = 'x';
    text[--at] = '0';
    text[--at] = ' ';
    pages_buf_bytes(b, text + at, sizeof text - at);
}

/* Writes a leaf that is a return address as the address one byte before. The Perl tools look the leaf up
 * unchanged and would otherwise name the line after the call. Go's pprof subtracts one from every address and
 * still finds the call. */
static void put_stack(struct pages_buf *b, const struct output *o, const struct output_sample *s)
{
    pages_buf_text(b, " @");
    for (unsigned i = 0; i < s->n_pcs; i++) put_hex(b, output_pcs(o, s)[i] - (i == 0 && s->leaf_is_return));
    pages_buf_text(b, "\n");
}

/* gperftools' format, in machine words: 0 3 0 period 0; then count, depth, pcs for each stack; then 0 1 0 and
 * the content of /proc/self/maps. */
static void write_cpu(const struct output *o, struct pages_buf *b)
{
    put_word(b, 0);
    put_word(b, 3);
    put_word(b, 0);
    put_word(b, (uintptr_t)(o->period / 1000));
    put_word(b, 0);
    for (unsigned i = 0; i < output_n_samples(o); i++) {
        const struct output_sample *s = output_sample_at(o, i);
        if (!s->n_pcs || output_values(o, s)[0] <= 0) continue;
        put_word(b, (uintptr_t)output_values(o, s)[0]);
        put_word(b, s->n_pcs);
        for (unsigned k = 0; k < s->n_pcs; k++) put_word(b, output_pcs(o, s)[k]);
    }
    put_word(b, 0);
    put_word(b, 1);
    put_word(b, 0);
}

static int type_index(const struct output *o, const char *name)
{
    for (unsigned i = 0; i < o->n_types; i++)
        if (!strcmp(o->types[i].type, name)) return (int)i;
    return -1;
}

/* Writes "n: bytes [n: bytes]", in use and then allocated. The values are scaled already, and "heapprofile"
 * makes readers leave them alone. "heap_v2/1" would not: readers would still divide by 1 - exp(-size). */
static void write_heap(const struct output *o, struct pages_buf *b)
{
    bool growth = o->legacy == OUTPUT_LEGACY_GROWTH;
    int in_n = type_index(o, growth ? "objects" : "inuse_objects"),
        in_b = type_index(o, growth ? "space" : "inuse_space");
    int all_n = type_index(o, "alloc_objects"), all_b = type_index(o, "alloc_space");
    if (all_n < 0 || all_b < 0) all_n = in_n, all_b = in_b;
    if (in_n < 0 || in_b < 0) in_n = all_n, in_b = all_b;
    if (in_n < 0) return;
    int64_t total[4] = {0};
    for (unsigned i = 0; i < output_n_samples(o); i++) {
        const int64_t *v = output_values(o, output_sample_at(o, i));
        total[0] += v[in_n], total[1] += v[in_b], total[2] += v[all_n], total[3] += v[all_b];
    }
    pages_buf_format(b, "heap profile: %6lld: %8lld [%6lld: %8lld] @ %s\n", (long long)total[0],
                     (long long)total[1], (long long)total[2], (long long)total[3],
                     growth ? "growth" : "heapprofile");
    for (unsigned i = 0; i < output_n_samples(o); i++) {
        const struct output_sample *s = output_sample_at(o, i);
        const int64_t *v = output_values(o, s);
        /* Go's reader refuses 0 objects with some bytes, which rounding and differences can produce. */
        int64_t n_in = v[in_n] ? v[in_n] : v[in_b] ? 1 : 0, n_all = v[all_n] ? v[all_n] : v[all_b] ? 1 : 0;
        pages_buf_format(b, "%6lld: %8lld [%6lld: %8lld]", (long long)n_in, (long long)v[in_b],
                         (long long)n_all, (long long)v[all_b]);
        put_stack(b, o, s);
    }
}

static void write_contention(const struct output *o, struct pages_buf *b)
{
    int n = type_index(o, "contentions"), delay = type_index(o, "delay");
    if (n < 0 || delay < 0) return;
    pages_buf_format(b,
                     "--- contentionz 1 ---\ncycles/second = 1000000000\nsampling period = 1\nms since reset "
                     "= %lld\ndiscarded samples = %llu\n",
                     (long long)(o->duration_ns / 1000000), (unsigned long long)o->n_lost);
    for (unsigned i = 0; i < output_n_samples(o); i++) {
        const struct output_sample *s = output_sample_at(o, i);
        const int64_t *v = output_values(o, s);
        if (v[n] <= 0 && v[delay] <= 0) continue;
        pages_buf_format(b, "%lld %lld", (long long)v[delay], (long long)v[n]);
        put_stack(b, o, s);
    }
}

static void write_count(const struct output *o, struct pages_buf *b)
{
    int64_t total = 0;
    for (unsigned i = 0; i < output_n_samples(o); i++) total += output_values(o, output_sample_at(o, i))[0];
    pages_buf_format(b, "%s profile: total %lld\n", o->name, (long long)total);
    for (unsigned i = 0; i < output_n_samples(o); i++) {
        const struct output_sample *s = output_sample_at(o, i);
        pages_buf_format(b, "%lld", (long long)output_values(o, s)[0]);
        put_stack(b, o, s);
    }
}

int output_write_legacy(const struct output *o, struct pages_buf *b, struct err *err)
{
    const char *marker = "";
    switch (o->legacy) {
    case OUTPUT_LEGACY_CPU:
        write_cpu(o, b);
        break;
    case OUTPUT_LEGACY_HEAP:
    case OUTPUT_LEGACY_GROWTH:
        write_heap(o, b);
        marker = "\nMAPPED_LIBRARIES:\n";
        break;
    case OUTPUT_LEGACY_CONTENTION:
        write_contention(o, b);
        marker = "\n--- Memory map: ---\n";
        break;
    case OUTPUT_LEGACY_COUNT:
        write_count(o, b);
        marker = "\n--- Memory map: ---\n";
        break;
    }
    pages_buf_text(b, marker);
    struct mappings m;
    if (!mappings_read(&m)) pages_buf_bytes(b, m.text.data, m.text.size);
    mappings_free(&m);
    return b->failed ? err_set(err, ERR_LIMIT, "%s: the profile does not fit in memory", o->name) : 0;
}
