/* graph.h - sums samples up by place: nodes with their own (flat) and inclusive (cum) weight, and edges
 * between callers and callees.
 *
 * A node is a place in the program, at the granularity to which the profile was aggregated. In a call tree, a
 * node is a place reached on one path. Nodes and edges refer to each other by index. Build a graph, trim it,
 * sort it, then read it.
 */
#ifndef REPORT_GRAPH_H
#define REPORT_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "profile/profile.h"

struct node_info { /* what makes two frames the same node; all strings are ids of the profile */
    uint64_t address;
    uint32_t name, system_name, file, object;
    int64_t start_line, line, column;
};

struct node {
    struct node_info info;
    int64_t flat, flat_div, cum, cum_div;
    uint32_t parent;           /* call tree: index + 1 of the caller; 0 for roots */
    uint32_t first_in, n_in;   /* edges: graph->in_edges[first_in ..) */
    uint32_t first_out, n_out; /* edges: graph->out_edges[first_out ..) */
    bool has_weight;           /* among graph->order: not dropped */
};

struct edge {
    uint32_t from, to; /* nodes */
    int64_t weight, weight_div;
    bool residual; /* passes through nodes that were left out */
    bool inlined;  /* every call counted here was inlined */
    bool dropped;
};

struct tag { /* values of samples with certain labels, per node */
    uint32_t node;
    uint32_t group; /* string: the text labels joined, "" for none */
    uint32_t name;  /* string: how a number is shown; for a text tag the same as group */
    bool is_number;
    uint32_t unit; /* string */
    int64_t value;
    int64_t flat, flat_div, cum, cum_div;
    bool dropped;
};

struct graph {
    struct profile *p;
    struct arena memory;
    struct node *nodes;
    size_t n_nodes, cap_nodes;
    uint32_t *order; /* the nodes that are shown, in order */
    size_t n_order;
    struct edge *edges;
    size_t n_edges, cap_edges;
    uint32_t *in_edges, *out_edges; /* edge numbers grouped by node; made by graph_build */
    struct tag *tags;
    size_t n_tags, cap_tags;
    uint32_t *tags_of_node, *first_tag; /* tag numbers grouped by node */
    const char **printable;             /* cached names by node */
};

struct graph_options {
    size_t sample_index;
    bool mean; /* divide by sample value 0 */
    bool call_tree, drop_negative;
    bool object_names;   /* places in different objects are different nodes */
    bool original_names; /* places with different linkage names are different nodes */
    bool edges;          /* false: only the edges needed to recognise inlined nodes */
    bool tags;
    const char *tag_unit; /* unit numeric tags are shown in */
    uint32_t bytes_unit;  /* string: unit of the numeric label "bytes" */
};

/* kept is NULL, or tells for each node of `of` whether the new graph may have it. Trim call trees with
 * graph_trim_tree instead. */
struct graph *graph_build(struct profile *p, const struct graph_options *options, const struct graph *of,
                          const uint8_t *kept);
void graph_free(struct graph *g);

static inline int64_t magnitude(int64_t v)
{
    return v < 0 ? (int64_t)(0 - (uint64_t)v) : v;
}

static inline int64_t node_flat(const struct node *n)
{
    return n->flat_div ? n->flat / n->flat_div : n->flat;
}
static inline int64_t node_cum(const struct node *n)
{
    return n->cum_div ? n->cum / n->cum_div : n->cum;
}
static inline int64_t edge_weight(const struct edge *e)
{
    return e->weight_div ? e->weight / e->weight_div : e->weight;
}
static inline int64_t tag_flat(const struct tag *t)
{
    return t->flat_div ? t->flat / t->flat_div : t->flat;
}
static inline int64_t tag_cum(const struct tag *t)
{
    return t->cum_div ? t->cum / t->cum_div : t->cum;
}

/* "0000000000401000 name file:line", until the graph is freed. */
const char *graph_node_name(struct graph *g, uint32_t node);
void node_info_print(const struct profile *p, const struct node_info *info, const char *name,
                     const char *file, const char *separator, struct buf *out); /* with name and file given */
struct node_info graph_frame_info(struct profile *p, const struct location *l,
                                  const struct line *line); /* line: NULL when it has none */

enum node_order { ORDER_FLAT, ORDER_CUM, ORDER_ENTROPY };
void graph_sort(struct graph *g, enum node_order order);

/* Live edges into or out of a node, heaviest first; free the result with mem_free. */
struct edge **graph_sorted_edges(struct graph *g, uint32_t node, bool outgoing, size_t *ret_n);
struct edge **graph_all_edges_sorted(struct graph *g, size_t *ret_n); /* out of the nodes of `order` */

int graph_trim_edges(struct graph *g, int64_t cutoff); /* returns how many it removed */
void graph_trim_tags(struct graph *g, int64_t cutoff);
void graph_trim_tree(struct graph *g, const uint8_t *kept);
void graph_remove_redundant_edges(struct graph *g);
size_t graph_count_tags(const struct graph *g, uint32_t node);

#endif
