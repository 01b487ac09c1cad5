/* report.c - from options to a report: filters, total, aggregation, trimming; see report.h. */
#include "report/report.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/path.h"
#include "profile/filter.h"
#include "report/report_int.h"
#include "report/source.h"
#include "report/tag_filter.h"

struct report_options report_options_default(enum report_format format)
{
    return (struct report_options){.format = format,
                                   .unit = "minimum",
                                   .sample_index = "",
                                   .source_path = "",
                                   .trim_path = "",
                                   .tagroot = "",
                                   .tagleaf = "",
                                   .divide_by = 1,
                                   .nodefraction = 0.005,
                                   .edgefraction = 0.001,
                                   .nodecount = -1,
                                   .trim = true,
                                   .focus = "",
                                   .ignore = "",
                                   .prune_from = "",
                                   .hide = "",
                                   .show = "",
                                   .show_from = "",
                                   .tagfocus = "",
                                   .tagignore = "",
                                   .tagshow = "",
                                   .taghide = ""};
}

static void warn(const struct report_options *o, const char *text)
{
    if (o->warn) o->warn(o->warn_context, text);
}

static void warn_no_match(const struct report_options *o, bool asked, bool matched, const char *what)
{
    char text[80];
    if (!asked || matched) return;
    snprintf(text, sizeof text, "%s expression matched no samples", what);
    warn(o, text);
}

const char *report_value(const struct report *r, int64_t value, char into[UNIT_LABEL_BYTES])
{
    if (r->ratio > 0 && r->ratio != 1) value = (int64_t)((double)value * r->ratio);
    return unit_label(value, r->sample_unit, r->output_unit, into);
}

/* ---- filters ---- */

static int compile_option(const char *name, const char *pattern, struct regex **ret, struct err *err)
{
    *ret = NULL;
    if (!*pattern) return 0;
    int rc = regex_compile(pattern, ret, err);
    return rc ? err_prefix(err, "parsing %s regexp", name) : 0;
}

struct filters {
    struct regex *focus, *ignore, *hide, *show, *show_from, *prune_from, *tagshow, *taghide;
    struct tag_filter *tagfocus, *tagignore;
};

static void filters_free(struct filters *f)
{
    regex_free(f->focus);
    regex_free(f->ignore);
    regex_free(f->hide);
    regex_free(f->show);
    regex_free(f->show_from);
    regex_free(f->prune_from);
    regex_free(f->tagshow);
    regex_free(f->taghide);
    tag_filter_free(f->tagfocus);
    tag_filter_free(f->tagignore);
}

static int compile_filters(const struct report_options *o, struct profile *p, struct filters *f,
                           struct err *err)
{
    int rc = compile_option("focus", o->focus, &f->focus, err);
    if (!rc) rc = compile_option("ignore", o->ignore, &f->ignore, err);
    if (!rc) rc = compile_option("hide", o->hide, &f->hide, err);
    if (!rc) rc = compile_option("show", o->show, &f->show, err);
    if (!rc) rc = compile_option("show_from", o->show_from, &f->show_from, err);
    if (!rc) rc = compile_option("prune_from", o->prune_from, &f->prune_from, err);
    if (!rc) rc = compile_option("tagshow", o->tagshow, &f->tagshow, err);
    if (!rc) rc = compile_option("taghide", o->taghide, &f->taghide, err);
    if (!rc && *o->tagfocus)
        rc = tag_filter_new("tagfocus", o->tagfocus, p, o->warn, o->warn_context, &f->tagfocus, err);
    if (!rc && *o->tagignore)
        rc = tag_filter_new("tagignore", o->tagignore, p, o->warn, o->warn_context, &f->tagignore, err);
    return rc;
}

struct tag_test {
    struct filters *f;
    bool focus_matched, ignore_matched;
};

static bool keep_sample(void *context, const struct profile *p, size_t s)
{
    struct tag_test *t = context;
    bool focused = !t->f->tagfocus || tag_filter_matches(t->f->tagfocus, p, s);
    bool ignored = t->f->tagignore && tag_filter_matches(t->f->tagignore, p, s);
    t->focus_matched |= focused;
    t->ignore_matched |= ignored;
    return focused && !ignored;
}

static int apply_filters(const struct report_options *o, struct profile *p, struct err *err)
{
    struct filters f = {0};
    int rc = compile_filters(o, p, &f, err);
    if (!rc) {
        struct filter_matched m = profile_filter_by_name(p, f.focus, f.ignore, f.hide, f.show);
        warn_no_match(o, f.focus, m.focus, "Focus");
        warn_no_match(o, f.ignore, m.ignore, "Ignore");
        warn_no_match(o, f.hide, m.hide, "Hide");
        warn_no_match(o, f.show, m.show, "Show");
        if (f.show_from) warn_no_match(o, true, profile_show_from(p, f.show_from), "ShowFrom");
        if (f.tagfocus || f.tagignore) {
            struct tag_test t = {.f = &f};
            profile_filter_by_test(p, keep_sample, &t);
            warn_no_match(o, f.tagfocus, t.focus_matched, "TagFocus");
            warn_no_match(o, f.tagignore, t.ignore_matched, "TagIgnore");
        }
        bool shown, hidden;
        profile_filter_labels(p, f.tagshow, f.taghide, &shown, &hidden);
        warn_no_match(o, f.tagshow, shown, "TagShow");
        warn_no_match(o, f.taghide, hidden, "TagHide");
        if (f.prune_from) profile_prune_from(p, f.prune_from);
    }
    filters_free(&f);
    return rc;
}

/* ---- options by format ---- */

static void override_for_format(struct report_options *o)
{
    bool trim = o->trim;
    switch (o->format) {
    case REPORT_DISASM:
        trim = false;
        o->granularity = BY_ADDRESS;
        o->noinlines = true; /* one place per address; otherwise inclusive values would count twice */
        break;
    case REPORT_WEBLIST:
        trim = false;
        o->granularity = BY_ADDRESS;
        o->noinlines = false;
        break;
    case REPORT_LIST:
        trim = false;
        o->granularity = BY_LINE;
        break;
    case REPORT_TREE:
        if (o->symbol) trim = false; /* peek */
        if (o->nodecount == -1) o->nodecount = 80;
        break;
    case REPORT_TEXT:
    case REPORT_TOPPROTO:
    case REPORT_CSV:
    case REPORT_JSON:
        if (o->nodecount == -1) o->nodecount = 0;
        break;
    case REPORT_RAW:
    case REPORT_CALLGRIND:
        trim = false;
        o->granularity = BY_ADDRESS;
        break;
    default:
        if (o->nodecount == -1) o->nodecount = 80;
    }
    if (!trim) {
        o->nodecount = 0;
        o->nodefraction = o->edgefraction = 0;
    }
}

static void aggregate(struct profile *p, const struct report_options *o)
{
    struct aggregate keep = {.inlines = !o->noinlines, .column = o->showcolumns};
    switch (o->granularity) {
    case BY_ADDRESS:
        if (keep.inlines) return;
        keep.function = keep.filename = keep.line = keep.address = true;
        break;
    case BY_LINE:
        keep.function = keep.filename = keep.line = true;
        break;
    case BY_FILE:
        keep.filename = true;
        break;
    case BY_FILE_FUNCTION:
        keep.function = keep.filename = true;
        break;
    case BY_FUNCTION:
    case BY_DEFAULT:
        keep.function = true;
        break;
    }
    profile_aggregate(p, keep);
}

static int64_t compute_total(const struct profile *p, size_t index, bool mean)
{
    int64_t div = 0, total = 0, base_div = 0, base_total = 0;
    uint32_t base_key = strtab_find(&p->strings, "pprof::base", 11),
             yes = strtab_find(&p->strings, "true", 4);
    for (size_t s = 0; s < p->n_samples; s++) {
        const int64_t *values = profile_sample_values(p, s);
        int64_t v = values[index], d = mean ? values[0] : 0;
        if (v < 0) v = (int64_t)(0 - (uint64_t)v);
        total = (int64_t)((uint64_t)total + (uint64_t)v);
        div += d;
        if (base_key == UINT32_MAX) continue;
        for (uint64_t i = p->sample_label_start[s]; i < p->sample_label_start[s + 1]; i++) {
            if (p->labels[i].key != base_key || p->labels[i].str != yes) continue;
            base_total += v;
            base_div += d;
        }
    }
    if (base_total > 0) {
        total = base_total;
        div = base_div;
    }
    return div ? total / div : total;
}

static void describe_filters(const struct report_options *o, struct buf *out)
{
    const char *const pairs[][2] = {
        {"focus", o->focus},         {"ignore", o->ignore},       {"hide", o->hide},
        {"show", o->show},           {"show_from", o->show_from}, {"tagfocus", o->tagfocus},
        {"tagignore", o->tagignore}, {"tagshow", o->tagshow},     {"taghide", o->taghide}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        if (!*pairs[i][1]) continue;
        char *text = mem_printf("%s=%s", pairs[i][0], pairs[i][1]);
        bool cut = strlen(text) > 80;
        buf_printf(out, "   %.80s%s\n", text, cut ? "\xe2\x80\xa6" : "");
        mem_free(text);
    }
}

static int choose_sample(struct report *r, struct err *err)
{
    struct profile *p = r->p;
    int rc = profile_choose_sample(p, r->o.sample_index, &r->sample_index, err);
    if (rc) return rc;
    const struct value_type *type = &p->sample_types[r->sample_index];
    r->sample_type = mem_printf("%s%s", r->o.mean ? "mean_" : "", profile_text(p, type->type));
    r->sample_unit = profile_text(p, type->unit);
    return 0;
}

const char *report_unit_of_key(struct report *r, uint32_t key)
{
    struct profile *p = r->p;
    return tag_filter_unit_of_key(p, key);
}

static const char *format_label_number(void *context, int64_t value, const char *unit)
{
    static _Thread_local char text[UNIT_LABEL_BYTES];
    const struct report_options *o = context;
    return unit_label(value, unit, *unit ? o->unit : "", text);
}

static void add_label_frames(struct profile *p, const struct report_options *o)
{
    bool roots, leaves;
    profile_add_label_frames(p, o->tagroot, o->tagleaf, format_label_number, (void *)o, &roots, &leaves);
    warn_no_match(o, *o->tagroot, roots, "TagRoot");
    warn_no_match(o, *o->tagleaf, leaves, "TagLeaf");
}

static void report_free(struct report *r)
{
    mem_free(r->sample_type);
    buf_free(&r->filters);
    regex_free(r->symbol);
}

static int report_begin(struct report *r, struct profile *p, const struct report_options *options,
                        struct err *err)
{
    *r = (struct report){.p = p, .o = *options};
    override_for_format(&r->o);
    add_label_frames(p, &r->o);
    int rc = r->o.relative_percentages ? apply_filters(&r->o, p, err) : 0;
    if (!rc) rc = choose_sample(r, err);
    if (!rc && r->o.divide_by == 0) rc = err_set(err, ERR_INPUT, "zero divisor specified");
    if (!rc && r->o.symbol && regex_compile(r->o.symbol, &r->symbol, err))
        rc = err_prefix(err, "parsing argument regexp %s", r->o.symbol);
    if (rc) return rc;
    r->ratio = 1 / r->o.divide_by;
    r->output_unit = r->o.unit;
    r->title = p->n_mappings && p->mappings[0].filename
                   ? path_base_name(profile_text(p, p->mappings[0].filename))
                   : "";
    describe_filters(&r->o, &r->filters);
    r->total = compute_total(p, r->sample_index, r->o.mean);
    if (!r->o.relative_percentages) rc = apply_filters(&r->o, p, err);
    if (!rc) aggregate(p, &r->o);
    uint32_t bytes_key = strtab_find(&p->strings, "bytes", 5);
    r->bytes_unit = bytes_key == UINT32_MAX ? 0 : profile_cstr(p, report_unit_of_key(r, bytes_key));
    return rc;
}

/* ---- graphs ---- */

/* Source paths without the prefixes that trim_path names. */
static void trim_source_paths(struct profile *p, const struct report_options *o)
{
    for (size_t i = 0; i < p->n_functions; i++) {
        const char *file = profile_text(p, p->functions[i].filename),
                   *rest = source_trim_path(file, o->trim_path, o->source_path);
        if (rest != file) p->functions[i].filename = profile_cstr(p, rest);
    }
}

/* With weights_only, builds no edges and tags. This is enough to decide which nodes matter. */
static struct graph *build_graph(struct report *r, const struct graph *of, const uint8_t *kept,
                                 bool weights_only)
{
    enum report_format f = r->o.format;
    trim_source_paths(r->p, &r->o);
    profile_remove_label(r->p, "pprof::base"); /* not to be shown as a tag */
    bool text_like = f == REPORT_TEXT || f == REPORT_CSV || f == REPORT_JSON || f == REPORT_TOPPROTO;
    struct graph_options o = {.sample_index = r->sample_index,
                              .mean = r->o.mean,
                              .call_tree = r->o.call_tree && (f == REPORT_DOT || f == REPORT_CALLGRIND),
                              .drop_negative = r->o.drop_negative,
                              .object_names = f == REPORT_RAW || f == REPORT_LIST || f == REPORT_WEBLIST ||
                                              f == REPORT_DISASM || f == REPORT_CALLGRIND,
                              .edges = !text_like && !weights_only,
                              .tags = f == REPORT_DOT && !weights_only,
                              .tag_unit = r->output_unit,
                              .bytes_unit = r->bytes_unit};
    return graph_build(r->p, &o, of, kept);
}

struct graph *report_graph(struct report *r)
{
    return build_graph(r, NULL, NULL, false);
}

static int64_t cutoff_of(int64_t total, double fraction)
{
    return magnitude((int64_t)((double)total * fraction));
}

/* Returns the first n nodes of the order as a set for a new graph. A picture counts its tags as nodes. */
static size_t count_top(struct report *r, struct graph *g, size_t max_nodes)
{
    if (r->o.format == REPORT_DOT) {
        size_t count = 0;
        for (size_t i = 0; i < g->n_order; i++) {
            size_t tags = graph_count_tags(g, g->order[i]);
            count += (tags < 4 ? tags : 4) + 1;
            if (count >= max_nodes) {
                max_nodes = i + 1;
                break;
            }
        }
    }
    return max_nodes < g->n_order ? max_nodes : g->n_order;
}

/* Keeps only the nodes in `kept`, by removing the others or by rebuilding, as the kind of graph requires. */
static void keep_nodes(struct report *r, struct graph **g, const uint8_t *kept, bool tree, bool text_like)
{
    if (tree) {
        graph_trim_tree(*g, kept);
    } else if (text_like && !(*g)->n_edges) { /* weights do not change when others go: no need to look at all
                                                 samples again */
        size_t n = 0;
        for (size_t i = 0; i < (*g)->n_order; i++) {
            uint32_t node = (*g)->order[i];
            if (kept[node])
                (*g)->order[n++] = node;
            else
                (*g)->nodes[node].has_weight = false;
        }
        (*g)->n_order = n;
    } else {
        struct graph *smaller = build_graph(r, *g, kept, false);
        graph_free(*g);
        *g = smaller;
    }
}

struct trimmed report_trimmed_graph(struct report *r)
{
    enum report_format f = r->o.format;
    bool visual = f == REPORT_DOT, tree = r->o.call_tree && (f == REPORT_DOT || f == REPORT_CALLGRIND);
    bool text_like = f == REPORT_TEXT || f == REPORT_CSV || f == REPORT_JSON || f == REPORT_TOPPROTO;
    enum node_order order = visual ? ORDER_ENTROPY : r->o.cum_sort ? ORDER_CUM : ORDER_FLAT;
    /* Most nodes of a large profile are too light to be shown, so their edges, by far the largest part,
     * are never built. */
    bool two_steps = !tree && !text_like && r->o.nodefraction > 0;
    struct graph *g = build_graph(r, NULL, NULL, two_steps);
    struct trimmed t = {0};
    int64_t total = 0;
    for (size_t i = 0; i < g->n_order; i++) total += g->nodes[g->order[i]].flat;
    int64_t node_cutoff = cutoff_of(total, r->o.nodefraction),
            edge_cutoff = cutoff_of(total, r->o.edgefraction);
    if (node_cutoff > 0 || two_steps) {
        uint8_t *kept = mem_zalloc(g->n_nodes);
        size_t n_kept = 0;
        for (size_t i = 0; i < g->n_order; i++)
            if (magnitude(g->nodes[g->order[i]].cum) >= node_cutoff) kept[g->order[i]] = 1, n_kept++;
        if (n_kept == g->n_order && two_steps)
            memset(kept, 1, g->n_nodes); /* no node is removed, not even one whose sum is zero */
        if (n_kept != g->n_order || two_steps) {
            t.n_dropped_nodes = (int)(g->n_order - n_kept);
            keep_nodes(r, &g, kept, tree, text_like);
        }
        mem_free(kept);
    }
    t.n_before = g->n_order;
    graph_sort(g, order);
    if (r->o.nodecount > 0) {
        graph_trim_tags(g, node_cutoff);
        graph_trim_edges(g, edge_cutoff);
        size_t n = count_top(r, g, (size_t)r->o.nodecount);
        if (n != g->n_order) {
            uint8_t *kept = mem_zalloc(g->n_nodes);
            for (size_t i = 0; i < n; i++) kept[g->order[i]] = 1;
            keep_nodes(r, &g, kept, tree, text_like);
            graph_sort(g, order);
            mem_free(kept);
        }
    }
    graph_trim_tags(g, node_cutoff);
    t.n_dropped_edges = graph_trim_edges(g, edge_cutoff);
    if (visual) graph_remove_redundant_edges(g);
    t.g = g;
    return t;
}

void report_select_unit(struct report *r, const struct graph *g)
{
    if (strcmp(r->output_unit, "minimum") || !g->n_order) return;
    int64_t min = 0, max = r->total;
    for (size_t i = 0; i < g->n_order; i++) {
        const struct node *n = &g->nodes[g->order[i]];
        int64_t v = magnitude(node_flat(n));
        if (!v) v = magnitude(node_cum(n));
        if (v > 0 && (!min || v < min)) min = v;
    }
    if (!min) min = max;
    if (r->ratio > 0 && r->ratio != 1) {
        min = (int64_t)((double)min * r->ratio);
        max = (int64_t)((double)max * r->ratio);
    }
    const char *min_unit, *max_unit, *unit;
    unit_scale(min, r->sample_unit, "minimum", &min_unit);
    unit_scale(max, r->sample_unit, "minimum", &max_unit);
    unit = min_unit;
    if (strcmp(min_unit, max_unit) && min <= INT64_MAX / 100 && min * 100 < max &&
        r->o.format != REPORT_CALLGRIND)
        unit_scale(100 * min, r->sample_unit, "minimum",
                   &unit); /* the larger unit, so that the smallest is still 0.01 */
    r->output_unit = *unit ? unit : r->sample_unit;
}

/* ---- headings ---- */

void report_profile_lines(struct report *r, struct buf *out)
{
    const struct profile *p = r->p;
    char value[UNIT_LABEL_BYTES], percent[16];
    if (p->n_mappings) {
        if (p->mappings[0].filename)
            buf_printf(out, "File: %s\n", path_base_name(profile_text(p, p->mappings[0].filename)));
        if (p->mappings[0].build_id)
            buf_printf(out, "Build ID: %s\n", profile_text(p, p->mappings[0].build_id));
    }
    for (size_t i = 0; i < p->n_comments; i++) {
        const char *text = profile_text(p, p->comments[i]);
        if (text[0] != '#') buf_printf(out, "%s\n", text);
    }
    if (*r->sample_type) buf_printf(out, "Type: %s\n", r->sample_type);
    if (p->doc_url) buf_printf(out, "Doc: %s\n", profile_text(p, p->doc_url));
    if (p->time_ns) {
        time_t seconds = (time_t)(p->time_ns / 1000000000 - (p->time_ns % 1000000000 < 0));
        struct tm local;
        char text[64];
        strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %Z", localtime_r(&seconds, &local));
        buf_printf(out, "Time: %s\n", text);
    }
    if (p->duration_ns) {
        const char *unit;
        double total_ns = unit_scale(r->total, r->sample_unit, "nanoseconds", &unit);
        buf_printf(out, "Duration: %s, ", unit_label(p->duration_ns, "nanoseconds", "auto", value));
        buf_printf(out, "Total samples = %s ", report_value(r, r->total, value));
        if (!strcmp(unit, "ns") && total_ns != 0)
            buf_printf(out, "(%s)", unit_percentage((int64_t)total_ns, p->duration_ns, percent));
        buf_char(out, '\n');
    }
}

static void dropped_line(const struct report *r, int n, const char *what, const char *by, double fraction,
                         struct buf *out)
{
    char value[UNIT_LABEL_BYTES];
    if (n <= 0) return;
    report_value(r, cutoff_of(r->total, fraction), value);
    buf_printf(out, "Dropped %d %s%s (%s <= %s)\n", n, what, n > 1 ? "s" : "", by, value);
}

void report_header_lines(struct report *r, const struct trimmed *t, bool full, struct buf *out)
{
    char value[UNIT_LABEL_BYTES], percent[16];
    int64_t shown = 0;
    for (size_t i = 0; i < t->g->n_order; i++) shown += node_flat(&t->g->nodes[t->g->order[i]]);
    if (full || !r->o.compact_labels) report_profile_lines(r, out);
    if (r->filters.len) {
        buf_str(out, "Active filters:\n");
        buf_add(out, r->filters.data, r->filters.len);
    }
    buf_printf(out, "Showing nodes accounting for %s, %s of ", report_value(r, shown, value),
               unit_percentage_trimmed(shown, r->total, percent));
    buf_printf(out, "%s total\n", report_value(r, r->total, value));
    if (r->total) {
        dropped_line(r, t->n_dropped_nodes, "node", "cum", r->o.nodefraction, out);
        if (full) dropped_line(r, t->n_dropped_edges, "edge", "freq", r->o.edgefraction, out);
        if (t->g->n_order > 0 && t->g->n_order < t->n_before)
            buf_printf(out, "Showing top %zu nodes out of %zu\n", t->g->n_order, t->n_before);
    }
}

/* ---- entry points ---- */

int report_prepare(struct profile *p, const struct report_options *options, struct err *err)
{
    struct report_options o = *options;
    o.granularity = BY_ADDRESS;
    o.noinlines = options->noinlines;
    add_label_frames(p, &o);
    int rc = apply_filters(&o, p, err);
    if (rc) return rc;
    aggregate(p, &o);
    if (o.divide_by != 1 && o.divide_by != 0)
        for (size_t i = 0; i < p->n_samples * p->n_sample_types; i++)
            p->sample_values[i] = (int64_t)((double)p->sample_values[i] / o.divide_by);
    return 0;
}

int report_write(struct profile *p, const struct report_options *options, struct buf *out, struct err *err)
{
    struct report r;
    int rc = report_begin(&r, p, options, err);
    if (!rc) {
        switch (options->format) {
        case REPORT_TEXT:
            rc = report_text(&r, out, err);
            break;
        case REPORT_CSV:
            rc = report_csv(&r, out, err);
            break;
        case REPORT_JSON:
            rc = report_json(&r, out, err);
            break;
        case REPORT_TREE:
            rc = report_tree(&r, out, err);
            break;
        case REPORT_DOT:
            rc = report_dot(&r, out, err);
            break;
        case REPORT_CALLGRIND:
            rc = report_callgrind(&r, out, err);
            break;
        case REPORT_TAGS:
            rc = report_tags(&r, out, err);
            break;
        case REPORT_TRACES:
            rc = report_traces(&r, out, err);
            break;
        case REPORT_RAW:
            rc = report_raw(&r, out, err);
            break;
        case REPORT_COLLAPSED:
            rc = report_collapsed(&r, out, err);
            break;
        case REPORT_COMMENTS:
            rc = report_comments(&r, out, err);
            break;
        case REPORT_LIST:
            rc = report_list(&r, out, err);
            break;
        case REPORT_WEBLIST:
            rc = report_weblist(&r, out, err);
            break;
        case REPORT_DISASM:
            rc = report_disasm(&r, out, err);
            break;
        case REPORT_TOPPROTO:
            rc = err_set(err, ERR_UNSUPPORTED, "topproto makes a profile, not text");
            break;
        }
    }
    report_free(&r);
    return rc;
}

int report_profile_labels(struct profile *p, const struct report_options *options, struct buf *out,
                          int64_t *ret_total, struct err *err)
{
    struct report r = {.p = p, .o = *options};
    int rc = choose_sample(&r, err);
    if (!rc) {
        r.ratio = 1 / (options->divide_by ? options->divide_by : 1);
        r.output_unit = options->unit;
        *ret_total = r.total = compute_total(p, r.sample_index, options->mean);
        report_profile_lines(&r, out);
    }
    report_free(&r);
    return rc;
}

int report_top_profile(struct profile *p, const struct report_options *options, struct profile **ret_profile,
                       struct err *err)
{
    struct report r;
    int rc = report_begin(&r, p, options, err);
    if (!rc) {
        struct trimmed t = report_trimmed_graph(&r);
        report_select_unit(&r, t.g);
        struct profile *top = profile_new();
        profile_add_sample_type(top, "cum", r.output_unit);
        profile_add_sample_type(top, "flat", r.output_unit);
        top->time_ns = p->time_ns;
        top->duration_ns = p->duration_ns;
        top->period = p->period;
        top->period_type.type = profile_cstr(top, profile_text(p, p->period_type.type));
        top->period_type.unit = profile_cstr(top, profile_text(p, p->period_type.unit));
        for (size_t i = 0; i < t.g->n_order; i++) {
            const struct node *n = &t.g->nodes[t.g->order[i]];
            uint32_t function = UINT32_MAX, name = profile_cstr(top, profile_text(p, n->info.name));
            uint32_t file = profile_cstr(top, profile_text(p, n->info.file));
            for (uint32_t f = 0; f < top->n_functions && function == UINT32_MAX; f++)
                if (top->functions[f].name == name && top->functions[f].filename == file &&
                    top->functions[f].start_line == n->info.start_line)
                    function = f;
            if (function == UINT32_MAX)
                function = profile_add_function(top, name, 0, file, n->info.start_line);
            uint32_t location = profile_add_location(top, n->info.address, 0);
            profile_add_line(top, function, n->info.line, n->info.column);
            const char *unit;
            int64_t values[2] = {(int64_t)unit_scale(node_cum(n), r.sample_unit, r.output_unit, &unit),
                                 (int64_t)unit_scale(node_flat(n), r.sample_unit, r.output_unit, &unit)};
            profile_add_sample(top, &location, 1, values);
        }
        graph_free(t.g);
        *ret_profile = top;
    }
    report_free(&r);
    return rc;
}
