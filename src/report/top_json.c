/* top_json.c - see top_json.h. */
#include "report/top_json.h"

#include "base/idmap.h"
#include "base/mem.h"
#include "profile/filter.h"
#include "report/graph.h"

static struct graph *function_graph(struct profile *p, size_t sample_index)
{
    profile_aggregate(p, (struct aggregate){.inlines = true, .function = true, .filename = true});
    struct graph_options how = {.sample_index = sample_index};
    struct graph *g = graph_build(p, &how, NULL, NULL);
    graph_sort(g, ORDER_FLAT);
    return g;
}

/* The same function has another string id in each profile, so functions are matched by a hash of their text.
 */
static uint64_t place_key(const struct profile *p, const struct node_info *n)
{
    struct str name = profile_str(p, n->name), file = profile_str(p, n->file);
    return (uint64_t)hash_bytes(name.s, name.len) << 32 | hash_bytes(file.s, file.len);
}

struct cost {
    int64_t flat, cum;
};

static struct cost node_cost(const struct node *n)
{
    return (struct cost){node_flat(n), node_cum(n)};
}

static void write_row(struct buf *out, const struct profile *p, const struct node_info *n, struct cost now,
                      const struct cost *before, bool is_first)
{
    struct str name = profile_str(p, n->name), file = profile_str(p, n->file);
    buf_str(out, is_first ? "{\"name\":" : ",{\"name\":");
    if (name.len)
        buf_json(out, name.s, name.len);
    else
        buf_printf(out, "\"0x%llx\"", (unsigned long long)n->address);
    buf_str(out, ",\"file\":");
    buf_json(out, file.s, file.len);
    buf_printf(out, ",\"line\":%lld,\"flat\":%lld,\"cum\":%lld", (long long)n->start_line,
               (long long)now.flat, (long long)now.cum);
    if (before)
        buf_printf(out, ",\"base_flat\":%lld,\"base_cum\":%lld", (long long)before->flat,
                   (long long)before->cum);
    buf_char(out, '}');
}

static void index_by_place(const struct graph *g, struct idmap *ret_map)
{
    for (size_t i = 0; i < g->n_nodes; i++) {
        bool is_new;
        uint32_t *slot = idmap_slot(ret_map, place_key(g->p, &g->nodes[i].info), &is_new);
        if (is_new) *slot = (uint32_t)i;
    }
}

/* Marks in is_written the nodes of the base that got a row. */
static size_t write_rows(const struct graph *g, const struct graph *base, size_t max_rows, bool *is_written,
                         struct buf *out)
{
    struct idmap of_base = {0};
    if (base) index_by_place(base, &of_base);
    size_t n = 0;
    for (; n < g->n_order && n < max_rows; n++) {
        const struct node *node = &g->nodes[g->order[n]];
        struct cost before = {0};
        uint32_t b;
        if (base && idmap_find(&of_base, place_key(g->p, &node->info), &b)) {
            before = node_cost(&base->nodes[b]);
            is_written[b] = true;
        }
        write_row(out, g->p, &node->info, node_cost(node), base ? &before : NULL, n == 0);
    }
    idmap_free(&of_base);
    return n;
}

static void write_rows_of_base_alone(const struct graph *base, size_t n, size_t max_rows,
                                     const bool *is_written, struct buf *out)
{
    for (size_t i = 0; i < base->n_order && n < max_rows; i++) {
        const struct node *node = &base->nodes[base->order[i]];
        if (is_written[base->order[i]]) continue;
        struct cost before = node_cost(node);
        write_row(out, base->p, &node->info, (struct cost){0}, &before, n++ == 0);
    }
}

void top_json_write(struct profile *p, size_t sample_index, struct profile *base, size_t base_sample_index,
                    size_t max_rows, struct buf *out)
{
    struct str type = profile_str(p, p->sample_types[sample_index].type),
               unit = profile_str(p, p->sample_types[sample_index].unit);
    buf_str(out, "{\"unit\":");
    buf_json(out, unit.s, unit.len);
    buf_str(out, ",\"sample\":");
    buf_json(out, type.s, type.len);
    buf_printf(out, ",\"total\":%lld", (long long)profile_total(p, sample_index));
    if (base) buf_printf(out, ",\"base_total\":%lld", (long long)profile_total(base, base_sample_index));
    buf_str(out, ",\"rows\":[");
    struct graph *g = function_graph(p, sample_index),
                 *base_graph = base ? function_graph(base, base_sample_index) : NULL;
    bool *is_written = mem_zalloc((base ? base_graph->n_nodes : 0) + 1);
    size_t n = write_rows(g, base_graph, max_rows, is_written, out);
    if (base) write_rows_of_base_alone(base_graph, n, max_rows, is_written, out);
    buf_str(out, "]}");
    mem_free(is_written);
    graph_free(g);
    if (base) graph_free(base_graph);
}
