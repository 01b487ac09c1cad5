/* report_text.c - the table of the hottest places (text, CSV, JSON), the tree of callers and callees, the
 * comments. */
#include <string.h>

#include "base/mem.h"
#include "report/report_int.h"

/* "(inline)" when every call of it was inlined, "(partial-inline)" when some were. */
static const char *inline_mark(const struct graph *g, const struct node *n)
{
    bool inlined = false, called = false;
    for (uint32_t i = 0; i < n->n_in; i++) {
        const struct edge *e = &g->edges[g->in_edges[n->first_in + i]];
        if (e->dropped) continue;
        inlined |= e->inlined;
        called |= !e->inlined;
    }
    return !inlined ? "" : called ? "(partial-inline)" : "(inline)";
}

static void pad_left(struct buf *out, const char *text, size_t width)
{
    size_t len = strlen(text);
    if (len < width) buf_fill(out, ' ', width - len);
    buf_add(out, text, len);
}

static void add_percent(struct buf *out, int64_t value, int64_t total)
{
    char text[16];
    buf_char(out, ' ');
    buf_str(out, unit_percentage(value, total, text));
}

/* The five columns every table of functions begins with. */
static void add_columns(const struct report *r, int64_t flat, int64_t sum, int64_t cum, struct buf *out)
{
    char value[UNIT_LABEL_BYTES];
    pad_left(out, report_value(r, flat, value), 10);
    add_percent(out, flat, r->total);
    add_percent(out, sum, r->total);
    buf_char(out, ' ');
    pad_left(out, report_value(r, cum, value), 10);
    add_percent(out, cum, r->total);
}

int report_text(struct report *r, struct buf *out, struct err *err)
{
    (void)err;
    struct trimmed t = report_trimmed_graph(r);
    report_select_unit(r, t.g);
    report_header_lines(r, &t, false, out);
    buf_printf(out, "%10s %5s%% %5s%% %10s %5s%%\n", "flat", "flat", "sum", "cum", "cum");
    int64_t sum = 0;
    for (size_t i = 0; i < t.g->n_order; i++) {
        const struct node *n = &t.g->nodes[t.g->order[i]];
        int64_t flat = node_flat(n), cum = node_cum(n);
        const char *mark = inline_mark(t.g, n);
        sum += flat;
        add_columns(r, flat, sum, cum, out);
        buf_str(out, "  ");
        buf_str(out, graph_node_name(t.g, t.g->order[i]));
        if (*mark) buf_char(out, ' ');
        buf_str(out, mark);
        buf_char(out, '\n');
    }
    graph_free(t.g);
    return 0;
}

static void csv_text(struct buf *out, const char *text)
{
    buf_char(out, '"');
    for (; *text; text++) {
        if (*text == '"') buf_char(out, '"');
        buf_char(out, *text);
    }
    buf_char(out, '"');
}

static double share(int64_t value, int64_t total)
{
    return total ? 100.0 * (double)value / (double)total : 0;
}

int report_csv(struct report *r, struct buf *out, struct err *err)
{
    (void)err;
    struct trimmed t = report_trimmed_graph(r);
    buf_printf(out, "function,flat,flat_percent,sum_percent,cum,cum_percent,unit,inlined\n");
    int64_t sum = 0;
    for (size_t i = 0; i < t.g->n_order; i++) {
        const struct node *n = &t.g->nodes[t.g->order[i]];
        sum += node_flat(n);
        csv_text(out, graph_node_name(t.g, t.g->order[i]));
        buf_printf(out, ",%lld,%.4f,%.4f,%lld,%.4f,", (long long)node_flat(n), share(node_flat(n), r->total),
                   share(sum, r->total), (long long)node_cum(n), share(node_cum(n), r->total));
        csv_text(out, r->sample_unit);
        const char *mark = inline_mark(t.g, n);
        buf_printf(out, ",%s\n", !*mark ? "no" : strchr(mark, '-') ? "partly" : "yes");
    }
    graph_free(t.g);
    return 0;
}

int report_json(struct report *r, struct buf *out, struct err *err)
{
    (void)err;
    struct trimmed t = report_trimmed_graph(r);
    buf_str(out, "{\"type\":");
    buf_json(out, r->sample_type, strlen(r->sample_type));
    buf_str(out, ",\"unit\":");
    buf_json(out, r->sample_unit, strlen(r->sample_unit));
    buf_printf(out, ",\"total\":%lld,\"duration_ns\":%lld,\"time_ns\":%lld,\"n_nodes\":%zu,\"top\":[",
               (long long)r->total, (long long)r->p->duration_ns, (long long)r->p->time_ns, t.n_before);
    for (size_t i = 0; i < t.g->n_order; i++) {
        const struct node *n = &t.g->nodes[t.g->order[i]];
        const char *name = graph_node_name(t.g, t.g->order[i]);
        buf_str(out, i ? ",\n{\"name\":" : "\n{\"name\":");
        buf_json(out, name, strlen(name));
        buf_printf(out, ",\"flat\":%lld,\"cum\":%lld", (long long)node_flat(n), (long long)node_cum(n));
        const char *mark = inline_mark(t.g, n);
        if (*mark) buf_printf(out, ",\"inlined\":\"%s\"", strchr(mark, '-') ? "partly" : "yes");
        buf_char(out, '}');
    }
    buf_str(out, "]}\n");
    graph_free(t.g);
    return 0;
}

static void tree_edges(struct report *r, struct graph *g, uint32_t node, bool outgoing, int64_t cum,
                       struct buf *out)
{
    size_t n;
    char value[UNIT_LABEL_BYTES];
    struct edge **edges = graph_sorted_edges(g, node, outgoing, &n);
    for (size_t i = 0; i < n; i++) {
        pad_left(out, report_value(r, edges[i]->weight, value), 50);
        add_percent(out, edges[i]->weight, cum);
        buf_str(out, " |   ");
        buf_str(out, graph_node_name(g, outgoing ? edges[i]->to : edges[i]->from));
        buf_str(out, edges[i]->inlined ? " (inline)\n" : "\n");
    }
    mem_free(edges);
}

int report_tree(struct report *r, struct buf *out, struct err *err)
{
    static const char line[] = "----------------------------------------------------------+-------------\n";
    struct trimmed t = report_trimmed_graph(r);
    report_select_unit(r, t.g);
    report_header_lines(r, &t, false, out);
    buf_str(out, line);
    buf_str(out, "      flat  flat%   sum%        cum   cum%   calls calls% + context \t \t \n");
    int64_t sum = 0;
    size_t n_matched = 0;
    for (size_t i = 0; i < t.g->n_order; i++) {
        uint32_t node = t.g->order[i];
        const struct node *n = &t.g->nodes[node];
        const char *name = graph_node_name(t.g, node);
        int64_t flat = node_flat(n), cum = node_cum(n);
        if (r->symbol && !regex_match(r->symbol, name, strlen(name))) continue;
        n_matched++;
        buf_str(out, line);
        tree_edges(r, t.g, node, false, cum, out);
        sum += flat;
        add_columns(r, flat, sum, cum, out);
        buf_str(out, "                | ");
        buf_str(out, name);
        buf_char(out, '\n');
        tree_edges(r, t.g, node, true, cum, out);
    }
    if (t.g->n_order) buf_str(out, line);
    graph_free(t.g);
    if (r->symbol && !n_matched)
        return err_set(err, ERR_NOT_FOUND, "no matches found for regexp: %s", r->o.symbol);
    return 0;
}

int report_comments(struct report *r, struct buf *out, struct err *err)
{
    (void)err;
    for (size_t i = 0; i < r->p->n_comments; i++)
        buf_printf(out, "%s\n", profile_text(r->p, r->p->comments[i]));
    return 0;
}
