/* cmd_flame.c - `procprof flame`: a flame graph as one SVG (or HTML) file; `procprof diff`: two profiles
 * against each other. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/compress/unpack.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/path.h"
#include "cmd/command.h"
#include "cmd/report_common.h"
#include "collect/fetch.h"
#include "format/folded.h"
#include "format/format.h"
#include "report/flame/flame_html.h"
#include "report/flame/flame_svg.h"

struct flame_arguments {
    struct report_arguments common;
    struct flame_svg_options svg;
    const char *title, *subtitle, *palette, *count_name;
    double width_px, min_width_px, frame_px, font_px;
    bool icicle, reverse, html;
};

static size_t add_flame_options(struct flame_arguments *a, struct option *table, size_t n)
{
    a->min_width_px = 0.1;
    a->palette = "hot";
    table[n++] =
        (struct option){0,        "html", OPTION_FLAG,
                        &a->html, NULL,   "a page with the full viewer instead of an SVG (also: -o x.html)"};
    table[n++] = (struct option){0, "icicle", OPTION_FLAG, &a->icicle, NULL, "draw the root on top"};
    table[n++] = (struct option){0,           "reverse",
                                 OPTION_FLAG, &a->reverse,
                                 NULL,        "merge stacks from the leaf: each function, then its callers"};
    table[n++] = (struct option){0, "title", OPTION_TEXT, &a->title, "TEXT", "heading"};
    table[n++] =
        (struct option){0, "subtitle", OPTION_TEXT, &a->subtitle, "TEXT", "second line of the heading"};
    table[n++] =
        (struct option){0, "count-name", OPTION_TEXT, &a->count_name, "TEXT", "what is counted (samples)"};
    table[n++] = (struct option){
        0,           "palette",
        OPTION_TEXT, &a->palette,
        "NAME",      "hot, mem, io, java, js, red, green, blue, aqua, yellow, purple, orange, grey"};
    table[n++] =
        (struct option){0, "width", OPTION_NUMBER, &a->width_px, "PX", "width of the picture (1200)"};
    table[n++] =
        (struct option){0, "min-width", OPTION_NUMBER, &a->min_width_px, "PX", "drop narrower frames (0.1)"};
    table[n++] =
        (struct option){0, "frame-height", OPTION_NUMBER, &a->frame_px, "PX", "height of a frame (16)"};
    table[n++] = (struct option){0, "font-size", OPTION_NUMBER, &a->font_px, "PX", "size of the text (12)"};
    table[n] = (struct option){0};
    return n;
}

static struct flame_layout_options layout_options(const struct flame_arguments *a)
{
    double width = a->width_px > 0 ? a->width_px : 1200;
    return (struct flame_layout_options){.min_fraction = a->min_width_px / (width - 20),
                                         .reverse = a->reverse};
}

static void set_svg_options(struct flame_arguments *a)
{
    a->svg.title = a->title     ? a->title
                   : a->reverse ? "Reverse Flame Graph"
                   : a->icicle  ? "Icicle Graph"
                                : NULL;
    a->svg.subtitle = a->subtitle;
    a->svg.width_px = a->width_px;
    a->svg.frame_px = a->frame_px;
    a->svg.font_px = a->font_px;
    a->svg.palette = a->palette;
    a->svg.icicle = a->icicle;
    if (a->count_name) a->svg.type = a->count_name;
}

static int write_svg(struct flame_arguments *a, struct flame_layout *layout)
{
    struct buf out = {0};
    if (layout->n_cut_stacks)
        command_warnf("%zu stacks are deeper than %u frames and are cut there", layout->n_cut_stacks,
                      layout->max_depth);
    if (!layout->total)
        command_warnf(
            "the profile has no samples of this type, so the picture is empty; --sample chooses another");
    if (!a->common.output) out = buf_to_fd(1); /* goes out as it is made */
    flame_svg_write(layout, &a->svg, &out);
    flame_layout_free(layout);
    if (!a->common.output) {
        int status = buf_flush(&out) && out.write_errno != EPIPE
                         ? command_failf("cannot write to standard output: %s", strerror(out.write_errno))
                         : 0;
        buf_free(&out);
        return status;
    }
    return report_deliver(a->common.output, &out, false, "flame.svg");
}

/* Does any option ask for more than the lines themselves can tell? */
static bool needs_profile(const struct flame_arguments *a)
{
    const struct report_options *o = &a->common.o;
    return a->html || *o->focus || *o->ignore || *o->hide || *o->show || *o->show_from || *o->prune_from ||
           *o->tagfocus || *o->tagignore || a->common.base.n_items || a->common.diff_base.n_items;
}

/* What the readers say of the first lines is what they would say of all of it. */
static bool is_folded(const struct bytes *bytes)
{
    size_t head = bytes->len < 1 << 16 ? bytes->len : 1 << 16;
    while (head < bytes->len && head && bytes->data[head - 1] != '\n') head--;
    if (!head) head = bytes->len;
    const char *format = "";
    struct format_options reading = {.ret_format = &format};
    struct profile *p;
    if (format_read(bytes->data, head, NULL, &reading, &p, NULL)) return false;
    profile_free(p);
    return !strcmp(format, format_folded.name);
}

/* Collapsed stacks need no profile in between: the lines are laid out as they are. Returns -1 when the input
 * is something else. */
static int flame_of_folded(struct flame_arguments *a, const char *path)
{
    struct bytes bytes, plain = {0};
    struct err err;
    if (fetch_is_url(path) && access(path, F_OK)) return -1;
    if (!strcmp(path, "-")) return -1; /* it can be read once only */
    if (file_read(path, (size_t)64 << 30, &bytes, &err)) return -1;
    if (unpack_is_packed(bytes.data, bytes.len)) {
        if (unpack(bytes.data, bytes.len, (size_t)64 << 30, &plain, &err)) {
            bytes_free(&bytes);
            return -1;
        }
        bytes_free(&bytes);
        bytes = plain;
    }
    int status = -1;
    if (is_folded(&bytes)) {
        struct folded end;
        size_t n;
        struct folded_line *lines =
            folded_lines((struct piece){(const char *)bytes.data, bytes.len}, &n, &end);
        struct flame_stack *stacks = mem_array(n, sizeof *stacks);
        for (size_t i = 0; i < n; i++)
            stacks[i] = (struct flame_stack){
                .text = lines[i].stack, .len = lines[i].stack_len, .value = lines[i].value};
        mem_free(lines);
        if (end.n_bad)
            command_warnf("%s: skipped %zu lines that are not stacks (the first: %.*s)", path, end.n_bad,
                          (int)(end.first_bad.n < 60 ? end.first_bad.n : 60), end.first_bad.s);
        struct flame_layout layout;
        struct flame_layout_options how = layout_options(a);
        flame_layout_stacks(stacks, n, &how, &layout);
        set_svg_options(a);
        status = write_svg(a, &layout);
        mem_free(stacks);
    }
    bytes_free(&bytes);
    return status;
}

/* The page compares by itself, so it gets both sides whole: what vanished is part of the picture. */
static int load_html_base(struct flame_arguments *a, struct option_list *bases, struct profile **ret_base)
{
    struct report_arguments alone = a->common;
    struct err err;
    char **argv = mem_array(bases->n_items + 1, sizeof *argv);
    for (size_t i = 0; i < bases->n_items; i++) argv[i + 1] = (char *)bases->items[i];
    int status = report_load(&alone, (int)bases->n_items, argv, ret_base, NULL);
    mem_free(argv);
    if (!status && report_prepare(*ret_base, &alone.o, &err)) {
        profile_free(*ret_base);
        *ret_base = NULL;
        status = command_fail(&err);
    }
    return status;
}

static int write_html(struct flame_arguments *a, const struct profile *p, const struct profile *base,
                      const char *base_title, const char *title)
{
    struct flame_html_options html = {.data = {.title = a->title ? a->title : title,
                                               .base = base,
                                               .base_title = base_title,
                                               .sample_type = *a->common.sample ? a->common.sample : NULL},
                                      .root_at_bottom = !a->icicle,
                                      .reversed = a->reverse};
    struct buf out = {0};
    struct err err;
    if (flame_html_write(p, &html, &out, &err)) return command_fail(&err);
    return report_deliver(a->common.output, &out, false, "flame.html");
}

static int flame_of_profile(struct flame_arguments *a, int n, char **argv)
{
    struct profile *p, *base = NULL;
    const char *base_title = NULL;
    if (a->html && a->common.diff_base.n_items) {
        struct option_list bases = a->common.diff_base;
        a->common.diff_base = (struct option_list){0};
        base_title = bases.n_items == 1 ? path_base_name(bases.items[0]) : NULL;
        int status = load_html_base(a, &bases, &base);
        if (status) return status;
    }
    struct err err;
    int status = report_load(&a->common, n, argv, &p, NULL);
    if (status) {
        profile_free(base);
        return status;
    }
    if (report_prepare(p, &a->common.o, &err)) {
        profile_free(p);
        profile_free(base);
        return command_fail(&err);
    }
    int index =
        *a->common.sample ? profile_sample_index(p, a->common.sample) : (int)profile_default_sample_index(p);
    if (index < 0 || !p->n_sample_types) {
        struct buf names = {0};
        for (size_t i = 0; i < p->n_sample_types; i++)
            buf_printf(&names, " %s", profile_text(p, p->sample_types[i].type));
        status = command_failf("this profile has no sample type '%s'; choose one of:%s", a->common.sample,
                               buf_cstr(&names));
        buf_free(&names);
    } else if (a->html) {
        status = write_html(a, p, base, base_title,
                            n == 1 && strcmp(argv[1], "-") ? path_base_name(argv[1]) : NULL);
    } else {
        struct flame_layout layout;
        struct flame_layout_options how = layout_options(a);
        flame_layout_profile(p, (size_t)index, &how, &layout);
        a->svg.type = profile_text(p, p->sample_types[index].type);
        a->svg.unit = profile_text(p, p->sample_types[index].unit);
        set_svg_options(a);
        status = write_svg(a, &layout);
    }
    profile_free(p);
    profile_free(base);
    return status;
}

static bool is_page(const char *output)
{
    const char *dot = output ? strrchr(output, '.') : NULL;
    return dot && (!strcmp(dot, ".html") || !strcmp(dot, ".htm"));
}

static int run_flame(int argc, char **argv)
{
    struct flame_arguments a = {.common.name_places = true};
    struct option table[N_COMMON_OPTIONS + 16];
    add_flame_options(&a, table, report_common_options(&a.common, USES_ALL, table));
    struct options_help help = {
        "procprof flame [OPTIONS] PROFILE... > out.svg",
        "Writes a flame graph as one self-contained SVG file with zoom, search and keyboard control. Zoom "
        "and "
        "search are kept\n"
        "in the URL. Reads every format; collapsed stacks are fastest.",
        "  procprof flame cpu.pb.gz > cpu.svg                 procprof flame --palette mem -s inuse_space "
        "heap.prof > heap.svg\n"
        "  perf script | procprof flame - > perf.svg          procprof flame cpu.jfr -o cpu.html\n"
        "  procprof flame --diff-base old.pb.gz new.pb.gz > diff.svg"};
    int n = options_parse(argc, argv, table, &help);
    if (n == OPTIONS_DONE) return 0;
    if (n == OPTIONS_BAD) return 2;
    a.html |= is_page(a.common.output);
    if (!flame_palette_known(a.palette))
        return command_failf("--palette %s: unknown palette; 'procprof flame --help' lists them", a.palette),
               2;
    if (n == 1 && !needs_profile(&a)) {
        int status = flame_of_folded(&a, argv[1]);
        if (status >= 0) return status;
    }
    return flame_of_profile(&a, n, argv);
}

/* `diff OLD NEW`: the table of what changed, or its flame graph. */
static int run_diff(int argc, char **argv)
{
    struct flame_arguments a = {.common.name_places = true};
    struct option table[N_COMMON_OPTIONS + 18];
    bool flame = false;
    size_t n_options = add_flame_options(&a, table, report_common_options(&a.common, USES_ALL, table));
    table[n_options++] = (struct option){0,      "flame", OPTION_FLAG,
                                         &flame, NULL,    "write a flame graph (SVG): red grew, blue shrank"};
    table[n_options] = (struct option){0};
    struct options_help help = {
        "procprof diff [OPTIONS] OLD NEW",
        "Shows what changed between two profiles: a table by function, or a flame graph of NEW coloured by "
        "change.",
        "  procprof diff a.prof b.prof                        procprof diff --normalize --flame a.pb.gz "
        "b.pb.gz > diff.svg"};
    int n = options_parse(argc, argv, table, &help);
    if (n == OPTIONS_DONE) return 0;
    if (n == OPTIONS_BAD) return 2;
    if (n != 2) return command_failf("diff takes two profiles: the old one and the new one"), 2;
    option_list_add(&a.common.diff_base, argv[1]);
    a.html |= is_page(a.common.output);
    if (flame || a.html) return flame_of_profile(&a, 1, argv + 1);
    struct profile *p;
    struct err err;
    int status = report_load(&a.common, 1, argv + 1, &p, NULL);
    if (status) return status;
    struct buf text = {0};
    a.common.o.format = REPORT_TEXT;
    if (a.common.o.nodecount == -1 && isatty(1)) a.common.o.nodecount = 40;
    int rc = report_write(p, &a.common.o, &text, &err);
    profile_free(p);
    if (rc) return command_fail(&err);
    return report_deliver(a.common.output, &text, false, "diff.txt");
}

COMMAND(flame, "flame", "report", "write a flame graph as one SVG or HTML file", run_flame)
COMMAND(diff, "diff", "report", "show what changed between two profiles", run_diff)
