/* jeprof_dot.c - see jeprof_dot.h. */
#include "report/jeprof_dot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/idmap.h"
#include "base/mem.h"

struct edge {
    uint32_t from, to; /* node numbers, 1.. */
    double count;
};

struct graph {
    const struct jeprof_stacks *stacks;
    const struct jeprof_dot_options *options;
    struct jeprof_totals totals;
    uint32_t *nodes; /* names, largest first; node number is index + 1 */
    size_t n_nodes;
    uint32_t *number; /* by name: node number, 0 none */
    struct edge *edges;
    size_t n_edges, cap_edges;
    double node_limit, edge_limit;
};

static void choose_nodes(struct graph *g)
{
    size_t n;
    g->nodes = jeprof_sort_names(g->stacks, &g->totals, JEPROF_BY_ABSOLUTE_CUM, &n);
    if (g->options->nodecount >= 0 && n > (size_t)g->options->nodecount) n = (size_t)g->options->nodecount;
    while (n && fabs(g->totals.cum[g->nodes[n - 1]]) <= g->node_limit) n--;
    g->n_nodes = n;
    g->number = mem_zalloc(g->totals.n_names * sizeof *g->number);
    for (size_t i = 0; i < n; i++) g->number[g->nodes[i]] = (uint32_t)i + 1;
}

static int compare_edges(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    if (x->count != y->count) return x->count > y->count ? -1 : 1;
    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    return x->to < y->to ? -1 : x->to > y->to;
}

static void sum_edges(struct graph *g)
{
    const struct jeprof_stacks *s = g->stacks;
    struct idmap index = {0};
    for (size_t i = 0; i < s->n_stacks; i++) {
        size_t from = s->starts[i], to = i + 1 < s->n_stacks ? s->starts[i + 1] : s->n_frames;
        for (size_t f = from + 1; f < to; f++) {
            uint32_t caller = g->number[s->frames[f]], callee = g->number[s->frames[f - 1]];
            if (!caller || !callee) continue;
            bool is_new;
            uint32_t *at = idmap_slot(&index, (uint64_t)caller << 32 | callee, &is_new);
            if (is_new) {
                *at = (uint32_t)g->n_edges;
                *VEC_PUSH(g->edges, g->n_edges, g->cap_edges) = (struct edge){caller, callee, 0};
            }
            g->edges[*at].count += s->counts[i];
        }
    }
    idmap_free(&index);
    if (g->n_edges) qsort(g->edges, g->n_edges, sizeof *g->edges, compare_edges);
}

static void put_quoted(struct buf *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') buf_char(out, '\\');
        buf_char(out, *text);
    }
}

/* A name over several lines: each run of blanks and each "::" breaks it. */
static void put_name(struct buf *out, const char *name)
{
    while (*name) {
        if (*name == ' ' || *name == '\t') {
            while (*name == ' ' || *name == '\t') name++;
            buf_str(out, "\\n");
        } else if (name[0] == ':' && name[1] == ':') {
            name += 2;
            buf_str(out, "\\n");
        } else {
            if (*name == '"' || *name == '\\') buf_char(out, '\\');
            buf_char(out, *name++);
        }
    }
}

static void put_header(const struct graph *g, struct buf *out)
{
    const struct jeprof_dot_options *o = g->options;
    const char *program = o->program ? o->program : "(unknown)", *unit = jeprof_unit_name(o->unit);
    buf_str(out, "digraph \"");
    put_quoted(out, program);
    buf_str(out, "; ");
    jeprof_number(out, o->overall_total, o->unit);
    buf_printf(out, " %s\" {\n", unit);
    if (o->page_size) buf_str(out, "size=\"8,11\"\n");
    buf_str(out, "node [width=0.375,height=0.25];\nLegend [shape=box,fontsize=24,shape=plaintext,label=\"");
    put_quoted(out, program);
    buf_printf(out, "\\lTotal %s: ", unit);
    jeprof_number(out, o->overall_total, o->unit);
    buf_str(out, "\\lFocusing on: ");
    jeprof_number(out, g->totals.total, o->unit);
    buf_str(out, "\\lDropped nodes with <= ");
    jeprof_number(out, g->node_limit, o->unit);
    buf_printf(out, " abs(%s)\\lDropped edges with <= ", unit);
    jeprof_number(out, g->edge_limit, o->unit);
    buf_printf(out, " %s\\l\"];\n", unit);
}

static void put_nodes(const struct graph *g, struct buf *out)
{
    const struct jeprof_dot_options *o = g->options;
    double total = g->totals.total;
    for (size_t i = 0; i < g->n_nodes; i++) {
        double flat = g->totals.flat[g->nodes[i]], cum = g->totals.cum[g->nodes[i]];
        double font = total > 0 ? 8 + 50.0 * sqrt(fabs(flat / total)) : 8;
        buf_printf(out, "N%zu [label=\"", i + 1);
        put_name(out, strtab_get(&g->stacks->names, g->nodes[i]).s);
        buf_str(out, "\\n");
        jeprof_number(out, flat, o->unit);
        buf_str(out, " (");
        jeprof_percent(out, flat, total);
        buf_char(out, ')');
        if (flat != cum) {
            buf_str(out, "\\rof ");
            jeprof_number(out, cum, o->unit);
            buf_str(out, " (");
            jeprof_percent(out, cum, total);
            buf_char(out, ')');
        }
        const char *style = !o->heapcheck ? ""
                            : flat > 0    ? ",style=filled,fillcolor=gray"
                            : flat < 0    ? ",peripheries=3"
                                          : "";
        buf_printf(out, "\\r\",shape=box,fontsize=%.1f%s];\n", font, style);
    }
}

static void put_edges(const struct graph *g, struct buf *out)
{
    const struct jeprof_dot_options *o = g->options;
    long *in = mem_zalloc((g->n_nodes + 1) * sizeof *in),
         *out_degree = mem_zalloc((g->n_nodes + 1) * sizeof *out_degree);
    for (size_t i = 0; i < g->n_edges; i++) {
        const struct edge *e = &g->edges[i];
        double size = fabs(e->count);
        /* The first way into a node stays whatever it weighs, so that nothing hangs loose. */
        bool keep = in[e->to] == 0 ||
                    (size > g->edge_limit && out_degree[e->from] < o->maxdegree && in[e->to] < o->maxdegree);
        if (!keep) continue;
        in[e->to]++;
        out_degree[e->from]++;
        double fraction = g->totals.total != 0 ? fabs(3 * (e->count / g->totals.total)) : 0;
        double width = (fraction > 1 ? 1 : fraction) * 2, weight = pow(size, 0.7);
        if (width < 1 && o->wide_lines) width = 1;
        if (weight > 100000) weight = 100000; /* dot cannot take more */
        const char *callee = strtab_get(&g->stacks->names, g->nodes[e->to - 1]).s;
        buf_printf(out, "N%u -> N%u [label=", e->from, e->to);
        jeprof_number(out, e->count, o->unit);
        buf_printf(out, ", weight=%d, style=\"setlinewidth(%f)%s\"];\n", (int)weight, width,
                   strstr(callee, "(inline)") ? ",dashed" : "");
    }
    mem_free(in);
    mem_free(out_degree);
}

int jeprof_dot_write(const struct jeprof_stacks *stacks, const struct jeprof_dot_options *options,
                     struct buf *out, struct jeprof_dot_limits *ret_limits, struct err *err)
{
    struct graph g = {.stacks = stacks, .options = options};
    jeprof_totals_make(stacks, &g.totals);
    g.node_limit = trunc(options->nodefraction * g.totals.total);
    g.edge_limit = trunc(options->edgefraction * g.totals.total);
    choose_nodes(&g);
    int rc = g.n_nodes ? 0 : err_set(err, ERR_NOT_FOUND, "No nodes to print");
    if (!rc) {
        sum_edges(&g);
        put_header(&g, out);
        put_nodes(&g, out);
        put_edges(&g, out);
        buf_str(out, "}\n");
        if (ret_limits) *ret_limits = (struct jeprof_dot_limits){g.node_limit, g.edge_limit};
    }
    jeprof_totals_free(&g.totals);
    mem_free(g.nodes);
    mem_free(g.number);
    mem_free(g.edges);
    return rc;
}

int jeprof_dot_write_profile(const struct profile *p, size_t sample_index,
                             const struct jeprof_dot_options *options, struct buf *out, struct err *err)
{
    struct jeprof_stacks stacks;
    struct jeprof_dot_options o = *options;
    jeprof_stacks_from_profile(p, sample_index, &stacks);
    o.unit = jeprof_unit_of(p, sample_index);
    o.overall_total = 0;
    for (size_t i = 0; i < stacks.n_stacks; i++) o.overall_total += stacks.counts[i];
    int rc = jeprof_dot_write(&stacks, &o, out, NULL, err);
    jeprof_stacks_free(&stacks);
    return rc;
}
