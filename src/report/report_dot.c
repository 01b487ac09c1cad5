/* report_dot.c - the call graph in Graphviz' language: size by own weight, colour by inclusive weight, as
 * google/pprof draws it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "report/report_int.h"

enum { MAX_NODELETS = 4 };

/* Quotes and backslashes escaped; a line break becomes a left-aligned one. */
static void dot_escape(struct buf *out, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '\\' || text[i] == '"') buf_char(out, '\\');
        if (text[i] == '\n')
            buf_str(out, "\\l");
        else
            buf_char(out, text[i]);
    }
}

/* Green (-1) over grey (0) to red (1); pale for backgrounds. */
static void dot_color(struct buf *out, double score, bool background)
{
    const double shift = 0.7;
    double saturation = background ? 0.1 : 1.0, value = background ? 0.93 : 0.7;
    score = fmax(-1, fmin(1, score));
    if (fabs(score) < 0.2) saturation *= fabs(score) / 0.2;
    if (score > 0) score = pow(score, 1 - shift);
    if (score < 0) score = -pow(-score, 1 - shift);
    double red = score < 0 ? value * (1 + saturation * score) : value;
    double green = score < 0 ? value : value * (1 - saturation * score);
    double blue = value * (1 - saturation);
    buf_printf(out, "#%02x%02x%02x", (uint8_t)(red * 255), (uint8_t)(green * 255), (uint8_t)(blue * 255));
}

static void replace_all(struct buf *b, const char *what, const char *with)
{
    struct buf out = {0};
    size_t n = strlen(what);
    const char *text = buf_cstr(b), *at;
    while ((at = strstr(text, what))) {
        buf_add(&out, text, (size_t)(at - text));
        buf_str(&out, with);
        text = at + n;
    }
    buf_str(&out, text);
    buf_free(b);
    *b = out;
}

/* The name on several lines: one for each part of it. */
static void multiline_name(const struct graph *g, const struct node_info *info, struct buf *out)
{
    struct buf short_name = {0}, escaped = {0};
    report_short_name(profile_text(g->p, info->name), &short_name);
    dot_escape(&escaped, short_name.data ? short_name.data : "", short_name.len);
    replace_all(&escaped, "::", "\\n");
    replace_all(&escaped, "[...]", "[\xe2\x80\xa6]"); /* Go's type parameters keep their dots */
    replace_all(&escaped, ".", "\\n");
    const char *file = path_base_name(profile_text(g->p, info->file));
    node_info_print(g->p, info, buf_cstr(&escaped), file, "\\n", out);
    buf_str(out, "\\n");
    buf_free(&short_name);
    buf_free(&escaped);
}

static double score_of(int64_t value, int64_t total)
{
    return (double)value / (double)magnitude(total);
}

static void add_node(struct report *r, struct graph *g, uint32_t node, size_t id, int64_t max_flat,
                     struct buf *out)
{
    const struct node *n = &g->nodes[node];
    int64_t flat = node_flat(n), cum = node_cum(n);
    char value[UNIT_LABEL_BYTES], percent[16];
    buf_printf(out, "N%zu [label=\"", id);
    multiline_name(g, &n->info, out);
    report_value(r, flat, value);
    if (flat)
        buf_printf(out, "%s (%s)", value, unit_percentage_trimmed(flat, r->total, percent));
    else
        buf_char(out, '0');
    if (cum != flat) {
        report_value(r, cum, value);
        buf_printf(out, "%sof %s (%s)", flat ? "\\n" : " ", value,
                   unit_percentage_trimmed(cum, r->total, percent));
    }
    int font = 8;
    if (max_flat && flat && magnitude(flat) <= max_flat)
        font += (int)ceil(16 * sqrt((double)magnitude(flat) / (double)max_flat));
    buf_printf(out, "\" id=\"node%zu\" fontsize=%d shape=box tooltip=\"", id, font);
    const char *name = graph_node_name(g, node);
    dot_escape(out, name, strlen(name));
    buf_printf(out, " (%s)\" color=\"", value);
    dot_color(out, score_of(cum, r->total), false);
    buf_str(out, "\" fillcolor=\"");
    dot_color(out, score_of(cum, r->total), true);
    buf_str(out, "\"]\n");
}

/* ---- nodelets: what labels the samples of a node had ---- */

static _Thread_local const struct profile *tag_profile;
static _Thread_local bool tags_by_flat;

static int compare_tags(const void *pa, const void *pb)
{
    const struct tag *a = *(const struct tag *const *)pa, *b = *(const struct tag *const *)pb;
    if (!tags_by_flat && a->cum != b->cum) {
        int64_t x = magnitude(a->cum), y = magnitude(b->cum);
        if (x != y) return x > y ? -1 : 1;
    }
    if (a->flat != b->flat) {
        int64_t x = magnitude(a->flat), y = magnitude(b->flat);
        if (x != y) return x > y ? -1 : 1;
    }
    return strcmp(profile_text(tag_profile, a->name), profile_text(tag_profile, b->name));
}

static void sort_tags(const struct profile *p, struct tag **tags, size_t n, bool by_flat)
{
    tag_profile = p;
    tags_by_flat = by_flat;
    qsort(tags, n, sizeof *tags, compare_tags);
}

static double tag_distance(const struct profile *p, const struct tag *t, const struct tag *u)
{
    const char *unit;
    double v = unit_scale(u->value, profile_text(p, u->unit), profile_text(p, t->unit), &unit);
    return fabs((double)t->value - v);
}

/* The numbers near one of the heaviest become one range: "1MB..2MB". */
static struct tag collapse(struct profile *p, struct tag *const *group, size_t n)
{
    char low_text[UNIT_LABEL_BYTES], high_text[UNIT_LABEL_BYTES], name[2 * UNIT_LABEL_BYTES];
    const char *unit;
    const struct tag *low = group[0], *high = group[0];
    struct tag sum = {.flat = group[0]->flat,
                      .flat_div = group[0]->flat_div,
                      .cum = group[0]->cum,
                      .cum_div = group[0]->cum_div};
    for (size_t i = 1; i < n; i++) {
        const struct tag *t = group[i];
        if ((int64_t)unit_scale(t->value, profile_text(p, t->unit), profile_text(p, low->unit), &unit) <
            low->value)
            low = t;
        if ((int64_t)unit_scale(t->value, profile_text(p, t->unit), profile_text(p, high->unit), &unit) >
            high->value)
            high = t;
        sum.flat += t->flat;
        sum.flat_div += t->flat_div;
        sum.cum += t->cum;
        sum.cum_div += t->cum_div;
    }
    sum.flat = tag_flat(&sum);
    sum.cum = tag_cum(&sum);
    sum.flat_div = sum.cum_div = 0;
    unit_label(low->value, profile_text(p, low->unit), "auto", low_text);
    unit_label(high->value, profile_text(p, high->unit), "auto", high_text);
    if (n == 1)
        strcpy(name, low_text);
    else
        strcat(strcat(strcpy(name, low_text), ".."), high_text);
    sum.name = profile_cstr(p, name);
    return sum;
}

static size_t collapse_tags(struct profile *p, struct tag **tags, size_t n, bool by_flat, struct tag *made)
{
    sort_tags(p, tags, n, by_flat);
    if (n <= MAX_NODELETS) return n;
    struct tag **groups[MAX_NODELETS];
    size_t sizes[MAX_NODELETS];
    for (size_t i = 0; i < MAX_NODELETS; i++) {
        groups[i] = mem_array(n, sizeof *groups[i]);
        groups[i][0] = tags[i];
        sizes[i] = 1;
    }
    for (size_t k = MAX_NODELETS; k < n; k++) {
        size_t nearest = 0;
        double distance = tag_distance(p, tags[k], groups[0][0]);
        for (size_t i = 1; i < MAX_NODELETS; i++) {
            double d = tag_distance(p, tags[k], groups[i][0]);
            if (d < distance) nearest = i, distance = d;
        }
        groups[nearest][sizes[nearest]++] = tags[k];
    }
    for (size_t i = 0; i < MAX_NODELETS; i++) {
        made[i] = collapse(p, groups[i], sizes[i]);
        mem_free(groups[i]);
        tags[i] = &made[i];
    }
    sort_tags(p, tags, MAX_NODELETS, by_flat);
    return MAX_NODELETS;
}

/* Numeric tags of one group of labels, hung under `source`. */
static void number_nodelets(struct report *r, struct graph *g, uint32_t node, uint32_t group, bool by_flat,
                            const char *source, struct buf *out)
{
    uint32_t from = g->first_tag[node], to = g->first_tag[node + 1];
    struct tag **tags = mem_array(to - from + MAX_NODELETS, sizeof *tags), made[MAX_NODELETS];
    size_t n = 0;
    for (uint32_t i = from; i < to; i++) {
        struct tag *t = &g->tags[g->tags_of_node[i]];
        if (t->is_number && t->group == group && !t->dropped) tags[n++] = t;
    }
    n = collapse_tags(g->p, tags, n, by_flat, made);
    for (size_t j = 0; j < n; j++) {
        bool own = by_flat || tag_flat(tags[j]) == tag_cum(tags[j]);
        int64_t w = own ? tag_flat(tags[j]) : tag_cum(tags[j]);
        char value[UNIT_LABEL_BYTES];
        if (!w) continue;
        report_value(r, w, value);
        buf_printf(out, "N%s_%zu [label = \"%s\" id=\"N%s_%zu\" fontsize=8 shape=box3d tooltip=\"%s\"]\n",
                   source, j, profile_text(g->p, tags[j]->name), source, j, value);
        buf_printf(out, "%s -> N%s_%zu [label=\" %s\" weight=100 tooltip=\"%s\" labeltooltip=\"%s\"%s]\n",
                   source, source, j, value, value, value, own ? "" : " style=\"dotted\"");
    }
    mem_free(tags);
}

static bool has_numbers(const struct graph *g, uint32_t node, uint32_t group)
{
    for (uint32_t i = g->first_tag[node]; i < g->first_tag[node + 1]; i++) {
        const struct tag *t = &g->tags[g->tags_of_node[i]];
        if (t->is_number && t->group == group && !t->dropped) return true;
    }
    return false;
}

static bool add_nodelets(struct report *r, struct graph *g, uint32_t node, size_t id, struct buf *out)
{
    size_t before = out->len;
    if (!g->first_tag) return false;
    uint32_t from = g->first_tag[node], to = g->first_tag[node + 1];
    struct tag **texts = mem_array(to - from, sizeof *texts);
    size_t n = 0, n_out;
    for (uint32_t i = from; i < to; i++) {
        struct tag *t = &g->tags[g->tags_of_node[i]];
        if (!t->is_number && !t->dropped) texts[n++] = t;
    }
    mem_free(graph_sorted_edges(g, node, true, &n_out));
    bool by_flat = n_out > 0; /* a leaf shows also what its left-out callees had */
    sort_tags(g->p, texts, n, by_flat);
    if (n > MAX_NODELETS) n = MAX_NODELETS;
    for (size_t i = 0; i < n; i++) {
        int64_t w = by_flat ? tag_flat(texts[i]) : tag_cum(texts[i]);
        char value[UNIT_LABEL_BYTES], source[48];
        if (!w) continue;
        report_value(r, w, value);
        snprintf(source, sizeof source, "N%zu_%zu", id, i);
        buf_printf(out, "%s [label = \"%s\" id=\"%s\" fontsize=8 shape=box3d tooltip=\"%s\"]\n", source,
                   profile_text(g->p, texts[i]->name), source, value);
        buf_printf(out, "N%zu -> %s [label=\" %s\" weight=100 tooltip=\"%s\" labeltooltip=\"%s\"]\n", id,
                   source, value, value, value);
        if (has_numbers(g, node, texts[i]->group))
            number_nodelets(r, g, node, texts[i]->group, by_flat, source, out);
    }
    mem_free(texts);
    if (has_numbers(g, node, 0)) {
        char source[32];
        snprintf(source, sizeof source, "N%zu", id);
        number_nodelets(r, g, node, 0, by_flat, source, out);
    }
    return out->len != before;
}

static int64_t part_of(int64_t value, int64_t times, int64_t total)
{
    int64_t product;
    if (__builtin_mul_overflow(value, times, &product))
        return (int64_t)((double)value * (double)times / (double)total);
    return product / total;
}

static void add_edge(struct report *r, struct graph *g, const struct edge *e, const uint32_t *id_of,
                     bool has_nodelets, struct buf *out)
{
    int64_t w = edge_weight(e);
    char value[UNIT_LABEL_BYTES];
    report_value(r, w, value);
    buf_printf(out, "N%u -> N%u [label=\" %s%s\"", id_of[e->from], id_of[e->to], value,
               e->inlined ? "\\n (inline)" : "");
    if (r->total) {
        int64_t weight = magnitude(part_of(w, 100, r->total)), width = magnitude(part_of(w, 5, r->total));
        if (weight > 0) buf_printf(out, " weight=%d", 1 + (int)(weight < 100 ? weight : 100));
        if (width > 0) buf_printf(out, " penwidth=%d", 1 + (int)(width < 5 ? width : 5));
        buf_str(out, " color=\"");
        dot_color(out, score_of(w, r->total), false);
        buf_char(out, '"');
    }
    for (int twice = 0; twice < 2; twice++) {
        const char *from = graph_node_name(g, e->from), *to = graph_node_name(g, e->to);
        buf_str(out, twice ? " labeltooltip=\"" : " tooltip=\"");
        dot_escape(out, from, strlen(from));
        buf_str(out, e->residual ? " ... " : " -> ");
        dot_escape(out, to, strlen(to));
        buf_printf(out, " (%s)\"", value);
    }
    if (e->residual) buf_str(out, " style=\"dotted\"");
    if (has_nodelets) buf_str(out, " minlen=2");
    buf_str(out, "]\n");
}

static void add_legend(struct report *r, const struct trimmed *t, struct buf *out)
{
    struct buf lines = {0};
    report_header_lines(r, t, true, &lines);
    const char *text = buf_cstr(&lines);
    size_t first = strcspn(text, "\n");
    buf_str(out, "subgraph cluster_L { \"");
    dot_escape(out, text, first);
    buf_str(out, "\" [shape=box fontsize=16 label=\"");
    dot_escape(out, text, lines.len); /* every line ends in \l */
    buf_str(out, "\\lSee https://git.io/JfYMW for how to read the graph\\l\"");
    if (*r->title) buf_printf(out, " tooltip=\"%s\"", r->title);
    buf_str(out, "] }\n");
    buf_free(&lines);
}

int report_dot(struct report *r, struct buf *out, struct err *err)
{
    (void)err;
    struct trimmed t = report_trimmed_graph(r);
    struct graph *g = t.g;
    report_select_unit(r, g);
    buf_printf(out, "digraph \"%s\" {\nnode [style=filled fillcolor=\"#f8f8f8\"]\n",
               *r->title ? r->title : "unnamed");
    add_legend(r, &t, out);
    if (g->n_order) {
        uint32_t *id_of = mem_zalloc(g->n_nodes * sizeof *id_of);
        uint8_t *has_nodelets = mem_zalloc(g->n_nodes);
        int64_t max_flat = 0;
        for (size_t i = 0; i < g->n_order; i++) {
            id_of[g->order[i]] = (uint32_t)i + 1;
            int64_t flat = magnitude(node_flat(&g->nodes[g->order[i]]));
            if (flat > max_flat) max_flat = flat;
        }
        for (size_t i = 0; i < g->n_order; i++) {
            add_node(r, g, g->order[i], i + 1, max_flat, out);
            has_nodelets[g->order[i]] = add_nodelets(r, g, g->order[i], i + 1, out);
        }
        size_t n;
        struct edge **edges = graph_all_edges_sorted(g, &n);
        for (size_t i = 0; i < n; i++) add_edge(r, g, edges[i], id_of, has_nodelets[edges[i]->from], out);
        mem_free(edges);
        mem_free(id_of);
        mem_free(has_nodelets);
    }
    buf_str(out, "}\n");
    graph_free(g);
    return 0;
}
