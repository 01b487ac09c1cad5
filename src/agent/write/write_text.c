/* write_text.c - ?debug=1: a profile as text for people, with names, largest values first. */
#include <string.h>

#include "agent/host/mappings.h"
#include "agent/names/agent_symbols.h"
#include "agent/write/output.h"

#define MAX_SHOWN 20000

static unsigned sort_type(const struct output *o)
{
    for (unsigned i = 0; o->default_type && i < o->n_types; i++)
        if (!strcmp(o->types[i].type, o->default_type)) return i;
    return o->n_types - 1;
}

/* One step of a heap sort that puts the largest values first. */
static void sift(const struct output *o, uint32_t *order, unsigned at, unsigned n, unsigned type)
{
    for (unsigned child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && output_values(o, output_sample_at(o, order[child + 1]))[type] <
                                 output_values(o, output_sample_at(o, order[child]))[type])
            child++;
        if (output_values(o, output_sample_at(o, order[at]))[type] <=
            output_values(o, output_sample_at(o, order[child]))[type])
            return;
        uint32_t swap = order[at];
        order[at] = order[child];
        order[child] = swap;
    }
}

static void sort_samples(const struct output *o, uint32_t *order, unsigned n, unsigned type)
{
    for (unsigned i = n / 2; i-- > 0;) sift(o, order, i, n, type);
    for (unsigned i = n; i-- > 1;) {
        uint32_t swap = order[0];
        order[0] = order[i];
        order[i] = swap;
        sift(o, order, 0, i, type);
    }
}

static void write_sample(const struct output *o, const struct output_sample *s, const struct symbols *symbols,
                         const struct mappings *m, struct pages_buf *b)
{
    for (unsigned i = 0; i < o->n_types; i++)
        pages_buf_format(b, "%s%lld", i ? " " : "", (long long)output_values(o, s)[i]);
    const struct output_label *labels = output_labels(o, s);
    for (unsigned i = 0; i < s->n_labels; i++) {
        const char *text = output_label_text(o, &labels[i]);
        pages_buf_format(b, " %s=", labels[i].key);
        if (text)
            pages_buf_text(b, text);
        else
            pages_buf_format(b, "%lld", (long long)labels[i].num);
    }
    pages_buf_text(b, "\n");
    for (unsigned i = 0; i < s->n_pcs; i++) {
        const struct symbols_entry *e = symbols_find(symbols, output_address(s, output_pcs(o, s), i));
        const char *name = symbols_name(symbols, e);
        pages_buf_format(b, "#\t%#lx\t", (unsigned long)output_pcs(o, s)[i]);
        if (name) {
            pages_buf_text(b, name);
            pages_buf_format(b, "+%#lx", (unsigned long)(output_pcs(o, s)[i] - e->start));
        }
        if (e && e->mapping >= 0) {
            pages_buf_text(b, "\t");
            pages_buf_text(b, mappings_at(m, (unsigned)e->mapping)->path);
        }
        pages_buf_text(b, "\n");
    }
    pages_buf_text(b, "\n");
}

int output_write_text(const struct output *o, struct pages_buf *b, struct err *err)
{
    struct mappings m;
    struct symbols symbols = {0};
    unsigned n = output_n_samples(o);
    (void)mappings_read(&m);
    uint32_t *order = pages_map(n * sizeof *order);
    int status = order ? 0 : ERR_LIMIT;
    if (!status) {
        for (unsigned i = 0; i < n; i++) order[i] = i;
        sort_samples(o, order, n, sort_type(o));
        for (unsigned i = 0; i < n && i < MAX_SHOWN; i++) {
            const struct output_sample *s = output_sample_at(o, order[i]);
            for (unsigned k = 0; k < s->n_pcs; k++)
                symbols_add(&symbols, output_address(s, output_pcs(o, s), k));
        }
        if (symbols_resolve(&symbols, &m)) status = ERR_LIMIT;
    }
    if (!status) {
        pages_buf_format(b, "%s profile: %u stacks", o->name, n);
        if (o->duration_ns) pages_buf_format(b, " in %lld ms", (long long)o->duration_ns / 1000000);
        if (o->n_lost) pages_buf_format(b, ", %llu samples lost", (unsigned long long)o->n_lost);
        pages_buf_text(b, "\n# values:");
        for (unsigned i = 0; i < o->n_types; i++)
            pages_buf_format(b, " %s/%s", o->types[i].type, o->types[i].unit);
        pages_buf_text(b, "\n");
        for (unsigned i = 0; i < o->n_comments; i++) pages_buf_format(b, "# %s\n", o->comments[i]);
        pages_buf_text(b, "\n");
        for (unsigned i = 0; i < n && i < MAX_SHOWN; i++)
            write_sample(o, output_sample_at(o, order[i]), &symbols, &m, b);
        if (n > MAX_SHOWN) pages_buf_format(b, "# and %u smaller ones\n", n - MAX_SHOWN);
    }
    pages_unmap(order, n * sizeof *order);
    symbols_free(&symbols);
    mappings_free(&m);
    return status || b->failed ? err_set(err, ERR_LIMIT, "%s: the profile does not fit in memory", o->name)
                               : 0;
}
