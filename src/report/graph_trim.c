/* graph_trim.c - orders a graph and removes nodes and edges that are too small to matter; see graph.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "report/graph.h"
#include "report/graph_int.h"

/* Returns all attributes as one text, which decides between nodes that are equal in all other respects. */
static void print_info(const struct profile *p, const struct node_info *i, struct buf *out)
{
    buf_printf(out, "{%s %s %llu %s %lld %lld %lld %s}", profile_text(p, i->name),
               profile_text(p, i->system_name), (unsigned long long)i->address, profile_text(p, i->file),
               (long long)i->start_line, (long long)i->line, (long long)i->column,
               profile_text(p, i->object));
}

static int compare_info(const struct profile *p, const struct node_info *a, const struct node_info *b)
{
    struct buf x = {0}, y = {0};
    print_info(p, a, &x);
    print_info(p, b, &y);
    int c = strcmp(buf_cstr(&x), buf_cstr(&y));
    buf_free(&x);
    buf_free(&y);
    return c;
}

struct sorting {
    struct graph *g;
    const int64_t *score;  /* by node */
    const int64_t *second; /* by node: after the name */
};

static int compare_names(struct graph *g, uint32_t a, uint32_t b)
{
    const struct node_info *x = &g->nodes[a].info, *y = &g->nodes[b].info;
    if (x->address && y->address && x->address != y->address) return x->address < y->address ? -1 : 1;
    return strcmp(graph_node_name(g, a), graph_node_name(g, b));
}

static int compare_nodes(const void *pa, const void *pb, void *context)
{
    const struct sorting *s = context;
    uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
    int64_t x = magnitude(s->score[a]), y = magnitude(s->score[b]);
    if (x != y) return x > y ? -1 : 1;
    int c = compare_names(s->g, a, b);
    if (c) return c;
    x = magnitude(s->second[a]);
    y = magnitude(s->second[b]);
    if (x != y) return x > y ? -1 : 1;
    c = compare_info(s->g->p, &s->g->nodes[a].info, &s->g->nodes[b].info);
    return c ? c : (a > b) - (a < b);
}

static double edge_entropy(const struct graph *g, const uint32_t *edges, uint32_t n, int64_t self)
{
    double score = 0;
    int64_t total = self;
    for (uint32_t i = 0; i < n; i++) {
        const struct edge *e = &g->edges[edges[i]];
        if (!e->dropped && e->weight > 0) total += e->weight;
    }
    if (!total) return 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct edge *e = &g->edges[edges[i]];
        if (e->dropped) continue;
        double part = (double)magnitude(e->weight) / (double)total;
        score += -part * log2(part);
    }
    if (self > 0) {
        double part = (double)self / (double)total;
        score += -part * log2(part);
    }
    return score;
}

static uint32_t count_live(const struct graph *g, const uint32_t *edges, uint32_t n)
{
    uint32_t live = 0;
    for (uint32_t i = 0; i < n; i++) live += !g->edges[edges[i]].dropped;
    return live;
}

/* Rates how much a node tells in a picture: entry and leaf nodes, and nodes where paths join or split, get
 * more than nodes with one caller and one callee. */
static int64_t entropy_score(const struct graph *g, const struct node *n)
{
    const uint32_t *in = g->in_edges + n->first_in, *out = g->out_edges + n->first_out;
    double score = count_live(g, in, n->n_in) ? edge_entropy(g, in, n->n_in, 0) : 1;
    score += count_live(g, out, n->n_out) ? edge_entropy(g, out, n->n_out, n->flat) : 1;
    double weighted = score * (double)n->cum;
    /* Zero-weight edges make it a NaN; the peer's order is then that of the machine's float-to-integer
     * conversion. */
    int64_t whole = isnan(weighted) ? INT64_MIN : (int64_t)weighted;
    return (int64_t)((uint64_t)whole + (uint64_t)n->flat);
}

void graph_sort(struct graph *g, enum node_order order)
{
    int64_t *score = mem_array(g->n_nodes, sizeof *score), *second = mem_array(g->n_nodes, sizeof *second);
    for (size_t k = 0; k < g->n_order; k++) {
        uint32_t i = g->order[k];
        const struct node *n = &g->nodes[i];
        score[i] = order == ORDER_FLAT ? n->flat : order == ORDER_CUM ? n->cum : entropy_score(g, n);
        second[i] = order == ORDER_FLAT ? n->cum : n->flat;
    }
    struct sorting s = {g, score, second};
    qsort_r(g->order, g->n_order, sizeof *g->order, compare_nodes, &s);
    mem_free(score);
    mem_free(second);
}

static int compare_edges(const void *pa, const void *pb, void *context)
{
    struct graph *g = context;
    const struct edge *a = *(struct edge *const *)pa, *b = *(struct edge *const *)pb;
    int64_t x = magnitude(a->weight), y = magnitude(b->weight);
    if (x != y) return x > y ? -1 : 1;
    int c = strcmp(graph_node_name(g, a->from), graph_node_name(g, b->from));
    if (!c) c = strcmp(graph_node_name(g, a->to), graph_node_name(g, b->to));
    return c ? c : (a > b) - (a < b);
}

struct edge **graph_sorted_edges(struct graph *g, uint32_t node, bool outgoing, size_t *ret_n)
{
    const struct node *n = &g->nodes[node];
    const uint32_t *list = outgoing ? g->out_edges + n->first_out : g->in_edges + n->first_in;
    uint32_t n_list = outgoing ? n->n_out : n->n_in;
    struct edge **edges = mem_array(n_list, sizeof *edges);
    size_t count = 0;
    for (uint32_t i = 0; i < n_list; i++)
        if (!g->edges[list[i]].dropped) edges[count++] = &g->edges[list[i]];
    qsort_r(edges, count, sizeof *edges, compare_edges, g);
    *ret_n = count;
    return edges;
}

struct edge **graph_all_edges_sorted(struct graph *g, size_t *ret_n)
{
    struct edge **edges = mem_array(g->n_edges, sizeof *edges);
    size_t count = 0;
    for (size_t i = 0; i < g->n_edges; i++)
        if (!g->edges[i].dropped && g->nodes[g->edges[i].from].has_weight) edges[count++] = &g->edges[i];
    qsort_r(edges, count, sizeof *edges, compare_edges, g);
    *ret_n = count;
    return edges;
}

int graph_trim_edges(struct graph *g, int64_t cutoff)
{
    int n_dropped = 0;
    for (size_t i = 0; i < g->n_edges; i++) {
        struct edge *e = &g->edges[i];
        if (e->dropped || !g->nodes[e->to].has_weight || magnitude(e->weight) >= cutoff) continue;
        e->dropped = true;
        n_dropped++;
    }
    return n_dropped;
}

void graph_trim_tags(struct graph *g, int64_t cutoff)
{
    for (size_t i = 0; i < g->n_tags; i++) {
        struct tag *t = &g->tags[i];
        if (g->nodes[t->node].has_weight && magnitude(t->flat) < cutoff && magnitude(t->cum) < cutoff)
            t->dropped = true;
    }
}

size_t graph_count_tags(const struct graph *g, uint32_t node)
{
    size_t n = 0;
    if (!g->first_tag) return 0;
    for (uint32_t i = g->first_tag[node]; i < g->first_tag[node + 1]; i++) {
        const struct tag *t = &g->tags[g->tags_of_node[i]];
        n += !t->dropped && t->flat != 0;
    }
    return n;
}

/* In a tree every node has at most one caller, so the callees of a removed node move to its caller. */
void graph_trim_tree(struct graph *g, const uint8_t *kept)
{
    uint32_t *edge_of = mem_array(g->n_nodes, sizeof *edge_of); /* the edge into a node */
    for (size_t i = 0; i < g->n_nodes; i++) edge_of[i] = UINT32_MAX;
    for (size_t e = 0; e < g->n_edges; e++)
        if (!g->edges[e].dropped) edge_of[g->edges[e].to] = (uint32_t)e;
    size_t n_order = 0;
    /* Callers have lower numbers than their callees, so walking upwards sees every caller settled. */
    for (size_t i = 0; i < g->n_nodes; i++) {
        struct node *n = &g->nodes[i];
        if (!n->has_weight || kept[i]) continue;
        struct edge *in = edge_of[i] == UINT32_MAX ? NULL : &g->edges[edge_of[i]];
        for (uint32_t k = 0; k < n->n_out; k++) {
            struct edge *out = &g->edges[g->out_edges[n->first_out + k]];
            if (out->dropped) continue;
            if (!in || in->dropped) {
                out->dropped = true;
                continue;
            }
            out->from = in->from;
            out->residual = true;
            out->inlined &= in->inlined;
        }
        if (in) in->dropped = true;
        n->has_weight = false;
    }
    for (size_t k = 0; k < g->n_order; k++)
        if (g->nodes[g->order[k]].has_weight) g->order[n_order++] = g->order[k];
    g->n_order = n_order;
    mem_free(edge_of);
    graph_index_edges(g);
    graph_remove_redundant_edges(g);
}

/* Is e->to still reached from e->from without e? Walks callers breadth-first. */
static bool is_redundant(const struct graph *g, const struct edge *e, uint8_t *seen, uint32_t *queue)
{
    size_t head = 0, tail = 0;
    bool found = false;
    seen[e->to] = 1;
    queue[tail++] = e->to;
    while (head < tail && !found) {
        const struct node *n = &g->nodes[queue[head++]];
        for (uint32_t i = 0; i < n->n_in && !found; i++) {
            const struct edge *in = &g->edges[g->in_edges[n->first_in + i]];
            if (in->dropped || in == e || seen[in->from]) continue;
            if (in->from == e->from) {
                found = true;
                break;
            }
            seen[in->from] = 1;
            queue[tail++] = in->from;
        }
    }
    for (size_t i = 0; i < tail; i++) seen[queue[i]] = 0;
    return found;
}

void graph_remove_redundant_edges(struct graph *g)
{
    uint8_t *seen = mem_zalloc(g->n_nodes);
    uint32_t *queue = mem_array(g->n_nodes, sizeof *queue);
    for (size_t k = g->n_order; k > 0; k--) {
        size_t n;
        struct edge **in = graph_sorted_edges(g, g->order[k - 1], false, &n);
        /* Starts with the lightest edge and stops at the first that is not residual, so an edge heavier
         * than a real one stays. */
        for (size_t j = n; j > 0 && in[j - 1]->residual; j--)
            if (is_redundant(g, in[j - 1], seen, queue)) in[j - 1]->dropped = true;
        mem_free(in);
    }
    mem_free(seen);
    mem_free(queue);
}
