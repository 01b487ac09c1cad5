/* report_list.c - annotated source: what each line of the matching functions costs. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "report/report_int.h"
#include "report/source.h"

enum { MARGIN_LINES = 5 };

struct listing {
    struct report *r;
    struct graph *g;
    struct source_reader *reader;
    uint32_t *nodes; /* of matching functions, sorted by function, file, line */
    size_t n_nodes;
};

static int compare_places(const void *pa, const void *pb, void *context)
{
    const struct graph *g = context;
    const struct node_info *a = &g->nodes[*(const uint32_t *)pa].info,
                           *b = &g->nodes[*(const uint32_t *)pb].info;
    int c = strcmp(profile_text(g->p, a->name), profile_text(g->p, b->name));
    if (!c) c = strcmp(profile_text(g->p, a->file), profile_text(g->p, b->file));
    if (c) return c;
    return (a->line > b->line) - (a->line < b->line);
}

/* The lines around the samples of one function in one file. */
static void list_file(struct listing *l, const uint32_t *nodes, size_t n, struct buf *out)
{
    struct report *r = l->r;
    const struct graph *g = l->g;
    char flat_text[UNIT_LABEL_BYTES], cum_text[UNIT_LABEL_BYTES], percent[16];
    int64_t flat = 0, cum = 0;
    int64_t start = INT64_MAX, end = 0;
    for (size_t i = 0; i < n; i++) {
        const struct node *node = &g->nodes[nodes[i]];
        flat += node->flat;
        cum += node->cum;
        int64_t from = node->info.start_line ? node->info.start_line : node->info.line - MARGIN_LINES;
        if (from < start) start = from;
        if (node->info.line + MARGIN_LINES > end) end = node->info.line + MARGIN_LINES;
    }
    if (start < 1) start = 1;
    const char *name = profile_text(g->p, g->nodes[nodes[0]].info.name),
               *file = profile_text(g->p, g->nodes[nodes[0]].info.file);
    buf_printf(out, "ROUTINE ======================== %s in %s\n", name, file);
    buf_printf(out, "%10s %10s (flat, cum) %s of Total\n", report_value(r, flat, flat_text),
               report_value(r, cum, cum_text), unit_percentage(cum, r->total, percent));
    struct err err = {0};
    size_t at = 0;
    for (int64_t line = start; line <= end; line++) {
        const char *text = source_line(l->reader, file, (long)line, &err);
        if (err.code) {
            buf_printf(out, " Error: %s\n", err.text);
            return;
        }
        if (!text) break;
        flat = cum = 0;
        while (at < n && g->nodes[nodes[at]].info.line < line) at++;
        for (; at < n && g->nodes[nodes[at]].info.line == line; at++) {
            flat += g->nodes[nodes[at]].flat;
            cum += g->nodes[nodes[at]].cum;
        }
        buf_printf(out, "%10s %10s %6lld:%s\n", value_or_dot(r, flat, flat_text),
                   value_or_dot(r, cum, cum_text), (long long)line, text);
    }
}

static void list_function(struct listing *l, const uint32_t *nodes, size_t n, struct buf *out)
{
    const struct graph *g = l->g;
    size_t begin = 0;
    while (begin < n && !g->nodes[nodes[begin]].info.file) begin++; /* no file: sorted first */
    if (begin == n) {
        buf_printf(out, "No source information for %s\n", profile_text(g->p, g->nodes[nodes[0]].info.name));
        return;
    }
    while (begin < n) {
        size_t end = begin;
        while (end < n && g->nodes[nodes[end]].info.file == g->nodes[nodes[begin]].info.file) end++;
        list_file(l, nodes + begin, end - begin, out);
        begin = end;
    }
}

int report_list(struct report *r, struct buf *out, struct err *err)
{
    struct listing l = {.r = r, .g = report_graph(r)};
    char value[UNIT_LABEL_BYTES];
    int rc = 0;
    l.nodes = mem_array(l.g->n_order, sizeof *l.nodes);
    for (size_t i = 0; i < l.g->n_order; i++) {
        struct str name = profile_str(r->p, l.g->nodes[l.g->order[i]].info.name);
        if (!r->symbol || regex_match(r->symbol, name.s, name.len)) l.nodes[l.n_nodes++] = l.g->order[i];
    }
    if (!l.n_nodes)
        rc = err_set(err, ERR_NOT_FOUND, "no matches found for regexp: %s", r->o.symbol ? r->o.symbol : "");
    if (!rc) {
        qsort_r(l.nodes, l.n_nodes, sizeof *l.nodes, compare_places, l.g);
        l.reader = source_reader_new(r->o.source_path, r->o.trim_path);
        buf_printf(out, "Total: %s\n", report_value(r, r->total, value));
        for (size_t begin = 0, end; begin < l.n_nodes; begin = end) {
            for (end = begin; end < l.n_nodes &&
                              l.g->nodes[l.nodes[end]].info.name == l.g->nodes[l.nodes[begin]].info.name;)
                end++;
            list_function(&l, l.nodes + begin, end - begin, out);
        }
        source_reader_free(l.reader);
    }
    mem_free(l.nodes);
    graph_free(l.g);
    return rc;
}
