/* cmd_report.c - our own report commands: top, tree, peek, list, traces, tags, raw, dot, svg, pdf, png,
 * callgrind, collapsed, csv, json ... */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/command.h"
#include "cmd/graphviz.h"
#include "cmd/report_common.h"

struct view {
    const char *name;
    enum report_format format;
    const char *parameter; /* what its first argument is called; NULL: none */
    const char *graphviz;
    const char *what, *examples;
};

static const struct view views[] = {
    {"top", REPORT_TEXT, NULL, NULL,
     "Shows the functions that cost most: their own cost (flat) and with callees (cum).",
     "  procprof top cpu.pb.gz                        procprof top --cum -n 20 "
     "'http://be:8060/pprof/profile?seconds=10'\n"
     "  procprof top -s alloc_space heap.prof         procprof top --diff-base old.prof new.prof"},
    {"tree", REPORT_TREE, NULL, NULL, "Shows each function with its callers above and its callees below.",
     "  procprof tree --count 10 cpu.pb.gz"},
    {"peek", REPORT_TREE, "REGEX", NULL, "Shows callers and callees of the functions that match REGEX.",
     "  procprof peek 'HashJoin::probe' cpu.pb.gz"},
    {"list", REPORT_LIST, "REGEX", NULL,
     "Shows the source lines of the functions that match REGEX, with their costs.",
     "  procprof list --exe ./server 'lookup' cpu.pb.gz"},
    {"weblist", REPORT_WEBLIST, "REGEX", NULL,
     "Writes a page with the source and the machine code of the functions that match REGEX.",
     "  procprof weblist 'lookup' cpu.pb.gz > lookup.html"},
    {"disasm", REPORT_DISASM, "REGEX", NULL,
     "Shows the machine code of the functions that match REGEX, with its costs.",
     "  procprof disasm 'lookup' cpu.pb.gz"},
    {"traces", REPORT_TRACES, NULL, NULL, "Prints every stack, with its labels.",
     "  procprof traces threads.pb.gz"},
    {"tags", REPORT_TAGS, NULL, NULL, "Shows the labels of the samples and their weight.",
     "  procprof tags cpu.pb.gz"},
    {"raw", REPORT_RAW, NULL, NULL, "Prints everything in a profile as text.",
     "  procprof raw heap.prof | less"},
    {"comments", REPORT_COMMENTS, NULL, NULL, "Prints the comments of a profile.",
     "  procprof comments cpu.pb.gz"},
    {"dot", REPORT_DOT, NULL, NULL, "Writes the call graph in Graphviz' language.",
     "  procprof dot heap.prof | dot -Tpdf > heap.pdf"},
    {"svg", REPORT_DOT, NULL, "svg", "Draws the call graph (needs graphviz).",
     "  procprof svg heap.prof > heap.svg"},
    {"pdf", REPORT_DOT, NULL, "pdf", "The call graph as PDF (needs graphviz).",
     "  procprof pdf heap.prof -o heap.pdf"},
    {"png", REPORT_DOT, NULL, "png", "The call graph as PNG (needs graphviz).",
     "  procprof png heap.prof -o heap.png"},
    {"ps", REPORT_DOT, NULL, "ps", "The call graph as PostScript (needs graphviz).",
     "  procprof ps heap.prof > heap.ps"},
    {"gif", REPORT_DOT, NULL, "gif", "The call graph as GIF (needs graphviz).",
     "  procprof gif heap.prof -o heap.gif"},
    {"callgrind", REPORT_CALLGRIND, NULL, NULL, "For KCachegrind.",
     "  procprof callgrind cpu.pb.gz > callgrind.out.1"},
    {"collapsed", REPORT_COLLAPSED, NULL, NULL, "Writes collapsed (folded) stacks, one per line.",
     "  procprof collapsed cpu.pb.gz > cpu.folded"},
    {"csv", REPORT_CSV, NULL, NULL, "Writes the table of top as comma-separated values.",
     "  procprof csv cpu.pb.gz > top.csv"},
    {"json", REPORT_JSON, NULL, NULL, "Writes the table of top as JSON.",
     "  procprof json -n 50 cpu.pb.gz | jq .top[0]"},
};

static const struct view *find_view(const char *name)
{
    for (size_t i = 0; i < sizeof views / sizeof *views; i++)
        if (!strcmp(views[i].name, name)) return &views[i];
    return NULL;
}

/* On a terminal, the heaviest rows of the table stand out. */
static void add_colors(struct buf *text)
{
    struct buf out = {0};
    bool in_table = false;
    buf_cstr(text);
    for (char *rest = text->data, *line; (line = strsep(&rest, "\n"));) {
        if (!rest && !*line) break;
        char *percent = in_table ? strchr(line, '%') : NULL;
        double share = 0;
        if (percent && percent - line >= 6) sscanf(percent - 6, "%lf", &share);
        const char *color = !in_table ? "\033[2m" : share >= 10 ? "\033[1;31m" : share >= 3 ? "\033[33m" : "";
        buf_printf(&out, "%s%s%s\n", color, line, *color ? "\033[0m" : "");
        if (strstr(line, "flat%")) in_table = true;
    }
    buf_free(text);
    *text = out;
}

static int run_view(int argc, char **argv)
{
    const struct view *v = find_view(argv[0]);
    struct report_arguments a = {0};
    struct option table[N_COMMON_OPTIONS + 8];
    unsigned uses = v->format == REPORT_COMMENTS ? 0
                    : v->format == REPORT_RAW    ? USES_FILTERS | USES_NAMES
                                                 : USES_ALL;
    size_t n_options = report_common_options(&a, uses, table);
    if (v->format == REPORT_DOT || v->format == REPORT_CALLGRIND)
        table[n_options++] = (struct option){0,           "call-tree",
                                             OPTION_FLAG, &a.o.call_tree,
                                             NULL,        "one node per path instead of one per function"};
    if (v->format == REPORT_DOT || v->format == REPORT_TREE) {
        table[n_options++] = (struct option){0,
                                             "node-fraction",
                                             OPTION_NUMBER,
                                             &a.o.nodefraction,
                                             "F",
                                             "drop nodes below this fraction of the total (0.005)"};
        table[n_options++] = (struct option){0,
                                             "edge-fraction",
                                             OPTION_NUMBER,
                                             &a.o.edgefraction,
                                             "F",
                                             "drop edges below this fraction of the total (0.001)"};
    }
    if (v->format == REPORT_LIST || v->format == REPORT_WEBLIST) {
        table[n_options++] = (struct option){
            0, "source-path", OPTION_TEXT, &a.o.source_path, "DIR:...", "folders to search for source files"};
        table[n_options++] = (struct option){
            0, "trim-path", OPTION_TEXT, &a.o.trim_path, "DIR:...", "prefixes to remove from recorded paths"};
    }
    if (v->format == REPORT_DISASM || v->format == REPORT_WEBLIST)
        table[n_options++] =
            (struct option){0, "intel", OPTION_FLAG, &a.o.intel_syntax, NULL, "Intel syntax"};
    table[n_options] = (struct option){0};
    char usage[120];
    snprintf(usage, sizeof usage, "procprof %s [OPTIONS] %s%sPROFILE...", v->name,
             v->parameter ? v->parameter : "", v->parameter ? " " : "");
    struct options_help help = {usage, v->what, v->examples};
    int n = options_parse(argc, argv, table, &help);
    if (n == OPTIONS_DONE) return 0;
    if (n == OPTIONS_BAD) return 2;
    const char *symbol = NULL;
    if (v->parameter) {
        if (n < 1) return command_failf("%s needs a %s as its first argument", v->name, v->parameter), 2;
        symbol = argv[1];
        argv++;
        n--;
        if (!n)
            return command_failf("%s takes a %s and then a profile; only '%s' was given", v->name,
                                 v->parameter, symbol),
                   2;
    }
    a.o.format = v->format;
    a.shows_one_value = v->format == REPORT_TEXT || v->format == REPORT_TREE || v->format == REPORT_DOT ||
                        v->format == REPORT_CALLGRIND;
    a.name_places = v->format != REPORT_RAW && v->format != REPORT_LIST && v->format != REPORT_WEBLIST &&
                    v->format != REPORT_DISASM; /* these speak of addresses */
    a.o.symbol = symbol;
    struct profile *p;
    struct symbolizer *symbolizer;
    int status = report_load(&a, n, argv, &p, &symbolizer);
    if (status) return status;
    bool to_terminal = !a.output && isatty(1);
    bool limit = to_terminal && v->format == REPORT_TEXT && a.o.nodecount == -1 && !a.all;
    if (limit) a.o.nodecount = 40;
    struct err err;
    struct buf text = {0};
    /* A table, tree or dump that goes to a file or pipe needs not be held whole. */
    bool streams = !a.output && !v->graphviz && !to_terminal;
    if (streams) text = buf_to_fd(1);
    int rc = report_write(p, &a.o, &text, &err);
    profile_free(p);
    if (!rc && v->graphviz) {
        struct buf picture = {0};
        rc = graphviz_run(&text, v->graphviz, &picture, &err);
        if (!rc && !strcmp(v->graphviz, "svg")) graphviz_make_interactive(&picture);
        buf_free(&text);
        text = picture;
    }
    symbolizer_free(symbolizer);
    if (rc) {
        buf_free(&text);
        return command_fail(&err);
    }
    if (streams) {
        int failed = buf_flush(&text);
        if (failed && text.write_errno != EPIPE)
            command_failf("cannot write to standard output: %s", strerror(text.write_errno));
        buf_free(&text);
        return failed ? 1 : 0;
    }
    if (to_terminal && v->format == REPORT_TEXT) add_colors(&text);
    return report_deliver(a.output, &text, v->graphviz && strcmp(v->graphviz, "svg"), v->name);
}

COMMAND(top, "top", "report", "show the functions that cost most", run_view)
COMMAND(tree, "tree", "report", "show functions with their callers and callees", run_view)
COMMAND(peek, "peek", "report", "show callers and callees of matching functions", run_view)
COMMAND(list, "list", "report", "show source code with costs", run_view)
COMMAND(weblist, "weblist", "report", "write source code with costs as a page", run_view)
COMMAND(disasm, "disasm", "report", "show machine code with costs", run_view)
COMMAND(traces, "traces", "report", "print every stack", run_view)
COMMAND(tags, "tags", "report", "show the labels of samples and their weight", run_view)
COMMAND(raw, "raw", "report", "print everything in a profile as text", run_view)
COMMAND(comments, "comments", "report", "print the comments of a profile", run_view)
COMMAND(dot, "dot", "report", "write the call graph for Graphviz", run_view)
COMMAND(svg, "svg", "report", "draw the call graph as SVG", run_view)
COMMAND(pdf, "pdf", "report", "draw the call graph as PDF", run_view)
COMMAND(png, "png", "report", "draw the call graph as PNG", run_view)
COMMAND(ps, "ps", "report", "draw the call graph as PostScript", run_view)
COMMAND(gif, "gif", "report", "draw the call graph as GIF", run_view)
COMMAND(callgrind, "callgrind", "report", "write the call graph for KCachegrind", run_view)
COMMAND(collapsed, "collapsed", "report", "write collapsed stacks", run_view)
COMMAND(csv, "csv", "report", "write the table of top as CSV", run_view)
COMMAND(json, "json", "report", "write the table of top as JSON", run_view)
