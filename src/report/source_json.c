/* source_json.c - see source_json.h. */
#include "report/source_json.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/regex.h"
#include "profile/filter.h"
#include "report/graph.h"
#include "report/source.h"

enum { MARGIN_LINES = 5, MAX_FUNCTIONS = 20, MAX_LINES = 5000 };

struct line_cost {
    uint32_t name, file; /* strings of the profile */
    int64_t line, start_line, flat, cum;
};

static int by_place(const void *a, const void *b)
{
    const struct line_cost *x = a, *y = b;
    if (x->name != y->name) return x->name < y->name ? -1 : 1;
    if (x->file != y->file) return x->file < y->file ? -1 : 1;
    return x->line < y->line ? -1 : x->line > y->line;
}

/* The lines of the functions that match, sorted by function, file and line; mem_free them. */
static struct line_cost *find_lines(struct profile *p, size_t sample_index, struct regex *wanted,
                                    size_t *ret_n)
{
    profile_aggregate(p,
                      (struct aggregate){.inlines = true, .function = true, .filename = true, .line = true});
    struct graph_options how = {.sample_index = sample_index};
    struct graph *g = graph_build(p, &how, NULL, NULL);
    struct line_cost *costs = NULL;
    size_t n = 0, cap = 0;
    for (size_t i = 0; i < g->n_nodes; i++) {
        const struct node *node = &g->nodes[i];
        struct str name = profile_str(p, node->info.name);
        if (!regex_match(wanted, name.s, name.len)) continue;
        *VEC_PUSH(costs, n, cap) = (struct line_cost){.name = node->info.name,
                                                      .file = node->info.file,
                                                      .line = node->info.line,
                                                      .start_line = node->info.start_line,
                                                      .flat = node_flat(node),
                                                      .cum = node_cum(node)};
    }
    if (n) qsort(costs, n, sizeof *costs, by_place);
    graph_free(g);
    *ret_n = n;
    return costs;
}

static void write_line(struct buf *out, int64_t line, int64_t flat, int64_t cum, const char *text,
                       bool is_first)
{
    buf_printf(out, "%s{\"line\":%lld,\"flat\":%lld,\"cum\":%lld,\"text\":", is_first ? "" : ",",
               (long long)line, (long long)flat, (long long)cum);
    buf_json(out, text ? text : "", text ? strlen(text) : 0);
    buf_char(out, '}');
}

/* costs: the n lines of one function, at least one. */
static void write_function(const struct profile *p, const struct line_cost *costs, size_t n,
                           struct source_reader *reader, struct buf *out)
{
    struct str name = profile_str(p, costs->name), file = profile_str(p, costs->file);
    buf_str(out, "{\"name\":");
    buf_json(out, name.s, name.len);
    buf_str(out, ",\"file\":");
    buf_json(out, file.s, file.len);
    buf_str(out, ",\"lines\":[");
    bool knows_start = costs->start_line > 0 && costs->start_line < costs->line;
    int64_t from = knows_start ? costs->start_line : costs->line - MARGIN_LINES;
    int64_t to = costs[n - 1].line + MARGIN_LINES;
    if (from < 1) from = 1;
    if (to - from > MAX_LINES) to = from + MAX_LINES;
    bool is_first = true, is_readable = file.len > 0;
    size_t at = 0;
    for (int64_t line = from; line <= to; line++) {
        struct err ignored;
        const char *text = is_readable ? source_line(reader, file.s, (long)line, &ignored) : NULL;
        if (!text) is_readable = false;
        int64_t flat = 0, cum = 0;
        while (at < n && costs[at].line < line) at++;
        for (; at < n && costs[at].line == line; at++) flat += costs[at].flat, cum += costs[at].cum;
        if (!text && !flat && !cum) continue;
        write_line(out, line, flat, cum, text, is_first);
        is_first = false;
    }
    buf_str(out, "]}");
}

int source_json_write(struct profile *p, size_t sample_index, const char *function, const char *search_path,
                      struct buf *out, struct err *err)
{
    struct regex *wanted = NULL;
    int bad = regex_compile(function, &wanted, err);
    if (bad) return bad;
    size_t n;
    struct line_cost *costs = find_lines(p, sample_index, wanted, &n);
    struct source_reader *reader = source_reader_new(search_path, "");
    buf_str(out, "{\"functions\":[");
    size_t n_functions = 0;
    for (size_t at = 0, end; at < n && n_functions < MAX_FUNCTIONS; at = end) {
        for (end = at; end < n && costs[end].name == costs[at].name && costs[end].file == costs[at].file;)
            end++;
        if (n_functions++) buf_char(out, ',');
        write_function(p, costs + at, end - at, reader, out);
    }
    buf_str(out, "]}");
    source_reader_free(reader);
    mem_free(costs);
    regex_free(wanted);
    return 0;
}
