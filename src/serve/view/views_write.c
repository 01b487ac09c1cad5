/* views_write.c - one profile (and a base) as one view. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/idmap.h"
#include "base/mem.h"
#include "base/unpack.h"
#include "format/format.h"
#include "profile/compat.h"
#include "profile/filter.h"
#include "report/flame/flame_data.h"
#include "report/flame/flame_html.h"
#include "report/flame/flame_svg.h"
#include "report/report.h"
#include "report/simple_names.h"
#include "report/source.h"
#include "serve/view/views_int.h"

static int sample_index(const struct profile *p, const char *sample, size_t *ret_index, struct err *err)
{
    if (!p->n_sample_types) return err_set(err, ERR_INPUT, "the profile has no sample types");
    int index = sample ? profile_sample_index(p, sample) : (int)profile_default_sample_index(p);
    if (index < 0) return err_set(err, ERR_INPUT, "the profile has no sample type '%.60s'", sample);
    *ret_index = (size_t)index;
    return 0;
}

/* ---- the table ---- */

struct row {
    uint32_t name, file; /* strings of the profile it is of */
    int64_t line;
    char *key;
    int64_t flat, cum, base_flat, base_cum;
};

static struct graph *function_graph(struct profile *p, size_t index)
{
    profile_aggregate(p, (struct aggregate){.inlines = true, .function = true, .filename = true});
    struct graph_options how = {.sample_index = index};
    struct graph *g = graph_build(p, &how, NULL, NULL);
    graph_sort(g, ORDER_FLAT);
    return g;
}

static int64_t total_of(const struct profile *p, size_t index)
{
    int64_t sum = 0;
    for (size_t i = 0; i < p->n_samples; i++) sum += p->sample_values[i * p->n_sample_types + index];
    return sum;
}

static uint64_t place_key(const struct profile *p, const struct node_info *n)
{
    struct str name = profile_str(p, n->name), file = profile_str(p, n->file);
    return (uint64_t)hash_bytes(name.s, name.len) << 32 | hash_bytes(file.s, file.len);
}

static void write_row(struct buf *out, const struct profile *p, const struct node_info *n, int64_t flat,
                      int64_t cum, const int64_t *base_flat, const int64_t *base_cum, bool is_first)
{
    struct str name = profile_str(p, n->name), file = profile_str(p, n->file);
    buf_str(out, is_first ? "{\"name\":" : ",{\"name\":");
    if (name.len)
        buf_json(out, name.s, name.len);
    else
        buf_printf(out, "\"0x%llx\"", (unsigned long long)n->address);
    buf_str(out, ",\"file\":");
    buf_json(out, file.s, file.len);
    buf_printf(out, ",\"line\":%lld,\"flat\":%lld,\"cum\":%lld", (long long)n->start_line, (long long)flat,
               (long long)cum);
    if (base_flat)
        buf_printf(out, ",\"base_flat\":%lld,\"base_cum\":%lld", (long long)*base_flat, (long long)*base_cum);
    buf_char(out, '}');
}

int view_write_top(struct profile *p, struct profile *base, const struct view_request *r, struct buf *out,
                   struct err *err)
{
    size_t index, base_index = 0;
    int bad = sample_index(p, r->sample, &index, err);
    const char *type = bad ? "" : profile_text(p, p->sample_types[index].type);
    char *type_copy = mem_strdup(type);
    if (!bad && base) bad = sample_index(base, type_copy, &base_index, err);
    if (bad) {
        mem_free(type_copy);
        return bad;
    }
    char *unit = mem_strdup(profile_text(p, p->sample_types[index].unit));
    int64_t total = total_of(p, index), base_total = base ? total_of(base, base_index) : 0;
    struct graph *g = function_graph(p, index), *bg = base ? function_graph(base, base_index) : NULL;
    struct idmap of_base = {0};
    for (size_t i = 0; bg && i < bg->n_nodes; i++) {
        bool is_new;
        uint32_t *slot = idmap_slot(&of_base, place_key(base, &bg->nodes[i].info), &is_new);
        if (is_new) *slot = (uint32_t)i;
    }
    buf_str(out, "{\"unit\":");
    buf_json(out, unit, strlen(unit));
    buf_str(out, ",\"sample\":");
    buf_json(out, type_copy, strlen(type_copy));
    buf_printf(out, ",\"total\":%lld", (long long)total);
    if (base) buf_printf(out, ",\"base_total\":%lld", (long long)base_total);
    buf_str(out, ",\"rows\":[");
    size_t n = 0;
    uint8_t *used = bg ? mem_zalloc(bg->n_nodes + 1) : NULL;
    for (size_t i = 0; i < g->n_order && n < r->n_rows; i++, n++) {
        const struct node *node = &g->nodes[g->order[i]];
        uint32_t b;
        int64_t base_flat = 0, base_cum = 0;
        if (bg && idmap_find(&of_base, place_key(p, &node->info), &b)) {
            base_flat = node_flat(&bg->nodes[b]);
            base_cum = node_cum(&bg->nodes[b]);
            used[b] = 1;
        }
        write_row(out, p, &node->info, node_flat(node), node_cum(node), bg ? &base_flat : NULL,
                  bg ? &base_cum : NULL, n == 0);
    }
    for (size_t i = 0; bg && i < bg->n_order && n < r->n_rows; i++) { /* what is gone now */
        const struct node *node = &bg->nodes[bg->order[i]];
        if (used[bg->order[i]]) continue;
        int64_t base_flat = node_flat(node), base_cum = node_cum(node);
        write_row(out, base, &node->info, 0, 0, &base_flat, &base_cum, n++ == 0);
    }
    buf_str(out, "]}");
    mem_free(used);
    idmap_free(&of_base);
    graph_free(g);
    if (bg) graph_free(bg);
    mem_free(unit);
    mem_free(type_copy);
    return 0;
}

/* ---- source ---- */

struct source_line_cost {
    uint32_t name, file;
    int64_t line, start_line, flat, cum;
};

static int by_place(const void *a, const void *b)
{
    const struct source_line_cost *x = a, *y = b;
    if (x->name != y->name) return x->name < y->name ? -1 : 1;
    if (x->file != y->file) return x->file < y->file ? -1 : 1;
    return x->line < y->line ? -1 : x->line > y->line;
}

int view_write_source(struct profile *p, const struct view_request *r, const char *search_path,
                      struct buf *out, struct err *err)
{
    enum { MARGIN = 5, MAX_FUNCTIONS = 20, MAX_LINES = 5000 };
    size_t index;
    struct regex *wanted = NULL;
    int bad = sample_index(p, r->sample, &index, err);
    if (!bad) bad = regex_compile(r->function ? r->function : "", 0, &wanted, err);
    if (bad) return bad;
    profile_aggregate(p,
                      (struct aggregate){.inlines = true, .function = true, .filename = true, .line = true});
    struct graph_options how = {.sample_index = index};
    struct graph *g = graph_build(p, &how, NULL, NULL);
    struct source_line_cost *costs = NULL;
    size_t n = 0, cap = 0;
    for (size_t i = 0; i < g->n_nodes; i++) {
        const struct node *node = &g->nodes[i];
        struct str name = profile_str(p, node->info.name);
        if (!regex_match(wanted, name.s, name.len)) continue;
        *VEC_PUSH(costs, n, cap) = (struct source_line_cost){.name = node->info.name,
                                                             .file = node->info.file,
                                                             .line = node->info.line,
                                                             .start_line = node->info.start_line,
                                                             .flat = node_flat(node),
                                                             .cum = node_cum(node)};
    }
    if (n) qsort(costs, n, sizeof *costs, by_place);
    struct source_reader *reader = source_reader_new(search_path, "");
    buf_str(out, "{\"functions\":[");
    size_t n_functions = 0;
    for (size_t at = 0; at < n && n_functions < MAX_FUNCTIONS;) {
        size_t end = at;
        while (end < n && costs[end].name == costs[at].name && costs[end].file == costs[at].file) end++;
        struct str name = profile_str(p, costs[at].name), file = profile_str(p, costs[at].file);
        buf_str(out, n_functions++ ? ",{\"name\":" : "{\"name\":");
        buf_json(out, name.s, name.len);
        buf_str(out, ",\"file\":");
        buf_json(out, file.s, file.len);
        buf_str(out, ",\"lines\":[");
        int64_t from = costs[at].start_line > 0 && costs[at].start_line < costs[at].line
                           ? costs[at].start_line
                           : costs[at].line - MARGIN;
        int64_t to = costs[end - 1].line + MARGIN;
        if (from < 1) from = 1;
        if (to - from > MAX_LINES) to = from + MAX_LINES;
        bool first = true, readable = file.len > 0;
        for (int64_t line = from; line <= to; line++) {
            struct err why = {0};
            const char *text = readable ? source_line(reader, file.s, (long)line, &why) : NULL;
            if (!text) readable = false;
            int64_t flat = 0, cum = 0;
            while (at < end && costs[at].line < line) at++;
            for (; at < end && costs[at].line == line; at++) flat += costs[at].flat, cum += costs[at].cum;
            if (!text && !flat && !cum) continue; /* without the file: only the lines that cost */
            buf_printf(out, "%s{\"line\":%lld,\"flat\":%lld,\"cum\":%lld,\"text\":", first ? "" : ",",
                       (long long)line, (long long)flat, (long long)cum);
            buf_json(out, text ? text : "", text ? strlen(text) : 0);
            buf_char(out, '}');
            first = false;
        }
        buf_str(out, "]}");
        at = end;
    }
    buf_str(out, "]}");
    source_reader_free(reader);
    mem_free(costs);
    graph_free(g);
    regex_free(wanted);
    return 0;
}

/* ---- speedscope's file format: frames once, samples as lists of their numbers, root first ---- */

static int write_speedscope(struct profile *p, size_t index, struct buf *out)
{
    struct str type = profile_str(p, p->sample_types[index].type),
               unit = profile_str(p, p->sample_types[index].unit);
    const char *known = !strcmp(unit.s, "nanoseconds") || !strcmp(unit.s, "microseconds") ||
                                !strcmp(unit.s, "milliseconds") || !strcmp(unit.s, "seconds") ||
                                !strcmp(unit.s, "bytes")
                            ? unit.s
                            : "none";
    buf_str(out,
            "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"shared\":{\"frames\":[");
    for (size_t i = 0; i < p->n_functions; i++) {
        struct str name = profile_str(p, p->functions[i].name),
                   file = profile_str(p, p->functions[i].filename);
        buf_str(out, i ? ",{\"name\":" : "{\"name\":");
        buf_json(out, name.len ? name.s : "?", name.len ? name.len : 1);
        if (file.len) {
            buf_str(out, ",\"file\":");
            buf_json(out, file.s, file.len);
        }
        buf_char(out, '}');
    }
    /* Places without a name: one frame each, behind the functions. */
    uint32_t *unnamed = mem_array(p->n_locations + 1, sizeof *unnamed);
    size_t n_frames = p->n_functions;
    for (size_t i = 0; i < p->n_locations; i++) {
        if (p->locations[i].n_lines) continue;
        buf_printf(out, "%s{\"name\":\"0x%llx\"}", n_frames ? "," : "",
                   (unsigned long long)p->locations[i].address);
        unnamed[i] = (uint32_t)n_frames++;
    }
    buf_str(out, "]},\"profiles\":[{\"type\":\"sampled\",\"name\":");
    buf_json(out, type.s, type.len);
    buf_printf(out, ",\"unit\":\"%s\",\"startValue\":0,\"endValue\":%lld,\"samples\":[", known,
               (long long)total_of(p, index));
    bool first = true;
    for (size_t s = 0; s < p->n_samples; s++) {
        if (p->sample_values[s * p->n_sample_types + index] <= 0) continue;
        const uint32_t *frames = profile_sample_frames(p, s);
        buf_str(out, first ? "[" : ",[");
        first = false;
        bool begun = false;
        for (size_t f = profile_sample_depth(p, s); f-- > 0;) {
            const struct location *l = &p->locations[frames[f]];
            for (size_t k = l->n_lines; k-- > 0;) {
                buf_str(out, begun ? "," : "");
                buf_u64(out, p->lines[l->first_line + k].function);
                begun = true;
            }
            if (!l->n_lines) {
                buf_str(out, begun ? "," : "");
                buf_u64(out, unnamed[frames[f]]);
                begun = true;
            }
        }
        buf_char(out, ']');
    }
    buf_str(out, "],\"weights\":[");
    first = true;
    for (size_t s = 0; s < p->n_samples; s++) {
        int64_t value = p->sample_values[s * p->n_sample_types + index];
        if (value <= 0) continue;
        if (!first) buf_char(out, ',');
        buf_i64(out, value);
        first = false;
    }
    buf_str(out, "]}],\"exporter\":\"procprof\"}");
    mem_free(unnamed);
    return 0;
}

/* ---- files ---- */

static int write_svg(struct profile *p, size_t index, const char *title, struct buf *out)
{
    struct flame_layout layout;
    struct flame_layout_options how = {.min_fraction = 0.1 / 1180};
    flame_layout_profile(p, index, &how, &layout);
    struct flame_svg_options svg = {.title = title,
                                    .type = profile_text(p, p->sample_types[index].type),
                                    .unit = profile_text(p, p->sample_types[index].unit)};
    flame_svg_write(&layout, &svg, out);
    flame_layout_free(&layout);
    return 0;
}

static int write_report(struct profile *p, enum report_format format, const char *sample, struct buf *out,
                        struct err *err)
{
    struct report_options o = report_options_default(format);
    if (sample) o.sample_index = sample;
    return report_write(p, &o, out, err);
}

int view_write(struct profile **p, struct profile *base, const struct view_request *r,
               const struct flame_data_options *flame, const char *search_path, struct buf *out,
               struct err *err)
{
    enum view_kind kind = r->kind;
    bool wants_full_names =
        kind == VIEW_FLAME || kind == VIEW_HTML || kind == VIEW_SOURCE || kind == VIEW_PPROF;
    enum name_detail detail = wants_full_names ? NAME_FULL : NAME_SIMPLE;
    profile_simplify_names(*p, detail, false);
    if (base) profile_simplify_names(base, detail, false);
    if (kind != VIEW_PPROF) profile_drop_uninteresting(*p, NULL);
    if (base) profile_drop_uninteresting(base, NULL);
    size_t index = 0;
    int bad = kind == VIEW_PPROF ? 0 : sample_index(*p, r->sample, &index, err);
    if (bad) return bad;
    switch (kind) {
    case VIEW_FLAME:
        flame_data_write(*p, flame, out);
        return 0;
    case VIEW_HTML: {
        struct flame_html_options html = {.data = *flame};
        return flame_html_write(*p, &html, out, err);
    }
    case VIEW_TOP:
        return view_write_top(*p, base, r, out, err);
    case VIEW_SOURCE:
        return view_write_source(*p, r, search_path, out, err);
    default:
        break;
    }
    char *sample =
        mem_strdup(*p && (*p)->n_sample_types ? profile_text(*p, (*p)->sample_types[index].type) : "");
    if (base) {
        struct profile *both[] = {*p, base};
        bad = profile_make_compatible(both, 2, err);
        if (!bad) bad = profile_subtract(p, base, true, false, err);
        int at = profile_sample_index(*p, sample);
        index = at < 0 ? 0 : (size_t)at;
    }
    if (!bad) {
        switch (kind) {
        case VIEW_DOT:
            bad = write_report(*p, REPORT_DOT, sample, out, err);
            break;
        case VIEW_FOLDED:
            bad = write_report(*p, REPORT_COLLAPSED, sample, out, err);
            break;
        case VIEW_CSV:
            bad = write_report(*p, REPORT_CSV, sample, out, err);
            break;
        case VIEW_SVG:
            bad = write_svg(*p, index, flame->title, out);
            break;
        case VIEW_SPEEDSCOPE:
            bad = write_speedscope(*p, index, out);
            break;
        case VIEW_PPROF:
            format_write_proto(*p, out);
            break;
        default:
            break;
        }
    }
    mem_free(sample);
    return bad;
}
