/* pprof_config.c - see pprof_config.h. One table drives flags, shell variables, completion and help. */
#include "cmd/pprof/pprof_config.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/text.h"

#define IN(field)     offsetof(struct pprof_config, field)
#define REPORT(field) offsetof(struct pprof_config, report.field)

const struct pprof_field pprof_fields[] = {
    {"output", FIELD_TEXT, IN(output), NULL, "Output filename for file-based outputs"},
    {"call_tree", FIELD_BOOL, REPORT(call_tree), NULL,
     "Create a context-sensitive call tree\nA place reached on two paths is shown twice."},
    {"relative_percentages", FIELD_BOOL, REPORT(relative_percentages), NULL,
     "Show percentages relative to focused subgraph\nOtherwise they are of the whole profile, before any "
     "filter."},
    {"unit", FIELD_TEXT, REPORT(unit), NULL,
     "Measurement units to display\nTime: seconds, milliseconds, nanoseconds ... Memory: megabytes, "
     "kilobytes, bytes ...\nauto picks one for each value."},
    {"compact_labels", FIELD_BOOL, REPORT(compact_labels), NULL, "Show minimal headers"},
    {"source_path", FIELD_TEXT, REPORT(source_path), NULL, "Search path for source files"},
    {"trim_path", FIELD_TEXT, REPORT(trim_path), NULL, "Path to trim from source paths before search"},
    {"intel_syntax", FIELD_BOOL, REPORT(intel_syntax), NULL,
     "Show assembly in Intel syntax\nFor disasm and weblist."},
    {"mean", FIELD_BOOL, REPORT(mean), NULL,
     "Average sample value over first value (count)\nMemory per allocation, time per event."},
    {"sample_index", FIELD_TEXT, REPORT(sample_index), NULL,
     "Sample value to report (0-based index or name)"},
    {"divide_by", FIELD_NUMBER, REPORT(divide_by), NULL,
     "Ratio to divide all samples before visualization\nFor example the number of processors."},
    {"normalize", FIELD_BOOL, REPORT(normalize), NULL, "Scales profile based on the base profile."},
    {"sort", FIELD_CHOICE, IN(sort), "cum flat", ""},
    {"tagroot", FIELD_TEXT, REPORT(tagroot), NULL,
     "Adds pseudo stack frames for labels key/value pairs at the callstack root.\nA comma-separated list of "
     "keys; the first one is the new root."},
    {"tagleaf", FIELD_TEXT, REPORT(tagleaf), NULL,
     "Adds pseudo stack frames for labels key/value pairs at the callstack leaf.\nA comma-separated list of "
     "keys; the last one is the new leaf."},
    {"drop_negative", FIELD_BOOL, REPORT(drop_negative), NULL,
     "Ignore negative differences\nPlaces whose value is below zero are not shown."},
    {"nodecount", FIELD_INT, REPORT(nodecount), NULL,
     "Max number of nodes to show\nIn graphs, dotted edges stand for paths over nodes that are not shown."},
    {"nodefraction", FIELD_NUMBER, REPORT(nodefraction), NULL, "Hide nodes below <f>*total"},
    {"edgefraction", FIELD_NUMBER, REPORT(edgefraction), NULL, "Hide edges below <f>*total"},
    {"trim", FIELD_BOOL, REPORT(trim), NULL,
     "Honor nodefraction/edgefraction/nodecount defaults\nfalse shows everything."},
    {"focus", FIELD_TEXT, REPORT(focus), NULL,
     "Restricts to samples going through a node matching regexp\nMatched against function, file and object "
     "names."},
    {"ignore", FIELD_TEXT, REPORT(ignore), NULL,
     "Skips paths going through any nodes matching regexp\nMatched against function, file and object names."},
    {"prune_from", FIELD_TEXT, REPORT(prune_from), NULL,
     "Drops any functions below the matched frame.\nThe matching frame becomes the leaf."},
    {"hide", FIELD_TEXT, REPORT(hide), NULL, "Skips nodes matching regexp\nThe rest of each stack stays."},
    {"show", FIELD_TEXT, REPORT(show), NULL, "Only show nodes matching regexp"},
    {"show_from", FIELD_TEXT, REPORT(show_from), NULL, "Drops functions above the highest matched frame."},
    {"tagfocus", FIELD_TEXT, REPORT(tagfocus), NULL,
     "Restricts to samples with tags in range or matched by regexp\nname=value looks at one tag only. "
     "Ranges: 1kb, 1kb:10kb, memory=32mb:"},
    {"tagignore", FIELD_TEXT, REPORT(tagignore), NULL,
     "Discard samples with tags in range or matched by regexp\nname=value looks at one tag only. Ranges: "
     "1kb, 1kb:10kb, memory=32mb:"},
    {"tagshow", FIELD_TEXT, REPORT(tagshow), NULL, "Only consider tags matching this regexp"},
    {"taghide", FIELD_TEXT, REPORT(taghide), NULL, "Skip tags matching this regexp"},
    {"noinlines", FIELD_BOOL, REPORT(noinlines), NULL,
     "Ignore inlines.\nAn inlined function counts as its first real caller."},
    {"showcolumns", FIELD_BOOL, REPORT(showcolumns), NULL,
     "Show column numbers at the source code line level."},
    {"granularity", FIELD_CHOICE, IN(granularity), "functions filefunctions files lines addresses", ""},
    {NULL, 0, 0, NULL, NULL}};

static const struct {
    const char *name, *help;
} choice_help[] = {
    {"flat", "Sort entries based on own weight"},      {"cum", "Sort entries based on cumulative weight"},
    {"functions", "Aggregate at the function level."}, {"filefunctions", "Aggregate at the function level."},
    {"files", "Aggregate at the file level."},         {"lines", "Aggregate at the source code line level."},
    {"addresses", "Aggregate at the address level."}};

const struct pprof_command pprof_commands[] = {
    {"callgrind", REPORT_CALLGRIND, false, false, NULL, "callgraph.out", NULL,
     "Outputs a graph in callgrind format", 1},
    {"collapsed", REPORT_COLLAPSED, false, false, NULL, NULL, NULL,
     "Outputs collapsed stacks, one a line (procprof's own)", 0},
    {"comments", REPORT_COMMENTS, false, false, NULL, NULL, NULL, "Output all profile comments", 0},
    {"disasm", REPORT_DISASM, true, false, NULL, NULL, NULL,
     "Output assembly listings annotated with samples", 3},
    {"dot", REPORT_DOT, false, false, NULL, NULL, NULL, "Outputs a graph in DOT format", 1},
    {"eog", REPORT_DOT, false, false, "svg", "svg", "eog", "Visualize graph through eog", 1},
    {"evince", REPORT_DOT, false, false, "pdf", "pdf", "evince", "Visualize graph through evince", 1},
    {"gif", REPORT_DOT, false, false, "gif", "gif", NULL, "Outputs a graph image in GIF format", 1},
    {"gv", REPORT_DOT, false, false, "ps", "ps", "gv", "Visualize graph through gv", 1},
    {"kcachegrind", REPORT_CALLGRIND, false, false, NULL, "grind", "kcachegrind",
     "Visualize report in KCachegrind", 1},
    {"list", REPORT_LIST, true, false, NULL, NULL, NULL,
     "Output annotated source for functions matching regexp", 3},
    {"pdf", REPORT_DOT, false, false, "pdf", "pdf", NULL, "Outputs a graph in PDF format", 1},
    {"peek", REPORT_TREE, true, false, NULL, NULL, NULL,
     "Output callers/callees of functions matching regexp", 4},
    {"png", REPORT_DOT, false, false, "png", "png", NULL, "Outputs a graph image in PNG format", 1},
    {"proto", REPORT_RAW, false, true, NULL, "pb.gz", NULL,
     "Outputs the profile in compressed protobuf format", 0},
    {"ps", REPORT_DOT, false, false, "ps", "ps", NULL, "Outputs a graph in PS format", 1},
    {"raw", REPORT_RAW, false, false, NULL, NULL, NULL, "Outputs a text representation of the raw profile",
     0},
    {"svg", REPORT_DOT, false, false, "svg", "svg", NULL, "Outputs a graph in SVG format", 1},
    {"tags", REPORT_TAGS, false, false, NULL, NULL, NULL, "Outputs all tags in the profile", 5},
    {"text", REPORT_TEXT, false, false, NULL, NULL, NULL, "Outputs top entries in text form", 2},
    {"top", REPORT_TEXT, false, false, NULL, NULL, NULL, "Outputs top entries in text form", 2},
    {"topproto", REPORT_TOPPROTO, false, true, NULL, "pb.gz", NULL,
     "Outputs top entries in compressed protobuf format", 0},
    {"traces", REPORT_TRACES, false, false, NULL, NULL, NULL, "Outputs all profile samples in text form", 0},
    {"tree", REPORT_TREE, false, false, NULL, NULL, NULL, "Outputs a text rendering of call graph", 2},
    {"web", REPORT_DOT, false, false, "svg", "svg", "browser", "Visualize graph through web browser", 1},
    {"weblist", REPORT_WEBLIST, true, false, NULL, "html", "browser",
     "Display annotated source in a web browser", 3},
    {NULL, 0, false, false, NULL, NULL, NULL, NULL, 0}};

struct pprof_config pprof_config_default(void)
{
    return (struct pprof_config){
        .report = report_options_default(REPORT_TEXT), .output = "", .sort = "flat", .granularity = ""};
}

static bool is_choice(const struct pprof_field *f, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = f->choices; at && *at;) {
        size_t n = strcspn(at, " ");
        if (n == len && !memcmp(at, name, n)) return true;
        at += n + (at[n] == ' ');
    }
    return false;
}

const struct pprof_field *pprof_find_field(const char *name, bool *ret_is_choice)
{
    for (const struct pprof_field *f = pprof_fields; f->name; f++) {
        bool by_choice = f->kind == FIELD_CHOICE && is_choice(f, name);
        if (strcmp(f->name, name) && !by_choice) continue;
        if (ret_is_choice) *ret_is_choice = by_choice;
        return f;
    }
    return NULL;
}

const struct pprof_command *pprof_find_command(const char *name)
{
    for (const struct pprof_command *c = pprof_commands; c->name; c++)
        if (!strcmp(c->name, name)) return c;
    return NULL;
}

bool pprof_parse_bool(const char *text, bool *ret)
{
    static const char *const yes[] = {"true", "t", "yes", "y", "1", ""}, *const no[] = {"false", "f", "no",
                                                                                        "n", "0"};
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
        if (!strcasecmp(text, yes[i])) return *ret = true, true;
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        if (!strcasecmp(text, no[i])) return *ret = false, true;
    return false;
}

int pprof_config_set(struct pprof_config *c, const char *name, const char *value, struct err *err)
{
    bool by_choice, yes;
    const struct pprof_field *f = pprof_find_field(name, &by_choice);
    if (!f) return err_set(err, ERR_INPUT, "unknown config field \"%s\"", name);
    void *at = (char *)c + f->offset;
    char *end;
    if (by_choice) {
        if (!pprof_parse_bool(value, &yes) || !yes)
            return err_set(err, ERR_INPUT, "unknown config field \"%s\"", name);
        value = name;
    }
    switch (f->kind) {
    case FIELD_BOOL:
        if (!pprof_parse_bool(value, at))
            return err_set(err, ERR_INPUT, "illegal value \"%s\" for bool variable", value);
        return 0;
    case FIELD_INT:
        if (!text_to_int(value, INT64_MIN, INT64_MAX, at))
            return err_set(err, ERR_INPUT, "%s: \"%s\" is not a whole number", name, value);
        return 0;
    case FIELD_NUMBER: {
        double v = strtod(value, &end);
        if (end == value || *end) return err_set(err, ERR_INPUT, "%s: \"%s\" is not a number", name, value);
        *(double *)at = v;
        return 0;
    }
    case FIELD_CHOICE:
        if (!is_choice(f, value))
            return err_set(err, ERR_INPUT, "invalid \"%s\" value \"%s\"", f->name, value);
        *(const char **)at = value;
        return 0;
    case FIELD_TEXT:
        *(const char **)at = value;
        return 0;
    }
    return 0;
}

void pprof_config_get(const struct pprof_config *c, const struct pprof_field *f, struct buf *out)
{
    const void *at = (const char *)c + f->offset;
    switch (f->kind) {
    case FIELD_BOOL:
        buf_str(out, *(const bool *)at ? "true" : "false");
        break;
    case FIELD_INT:
        buf_i64(out, *(const int64_t *)at);
        break;
    case FIELD_NUMBER:
        buf_printf(out, "%g", *(const double *)at);
        break;
    default:
        buf_str(out, *(const char *const *)at);
    }
}

struct report_options pprof_report_options(const struct pprof_config *c, const struct pprof_command *command,
                                           const char *symbol)
{
    static const char *const names[] = {"", "functions", "filefunctions", "files", "lines", "addresses"};
    struct report_options o = c->report;
    o.format = command->format;
    o.symbol = command->has_parameter ? symbol : NULL;
    o.cum_sort = !strcmp(c->sort, "cum");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(c->granularity, names[i])) o.granularity = (enum report_granularity)i;
    return o;
}

/* ---- help ---- */

static int compare_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *help_line(const char *prefix, const char *name, const char *help)
{
    char *full = mem_printf("%s%s", prefix, name),
         *line = mem_printf("    %-16s %.*s", full, (int)strcspn(help, "\n"), help);
    mem_free(full);
    return line;
}

static void add_sorted(char **lines, size_t n, struct buf *out)
{
    qsort(lines, n, sizeof *lines, compare_text);
    for (size_t i = 0; i < n; i++) {
        buf_printf(out, "%s\n", lines[i]);
        mem_free(lines[i]);
    }
}

static const char *help_of_choice(const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof choice_help / sizeof *choice_help; i++)
        if (strlen(choice_help[i].name) == len && !memcmp(choice_help[i].name, name, len))
            return choice_help[i].help;
    return "";
}

void pprof_print_usage(bool command_line, struct buf *out)
{
    const char *prefix = command_line ? "-" : "";
    char *lines[64];
    size_t n = 0;
    for (const struct pprof_command *c = pprof_commands; c->name; c++)
        lines[n++] = help_line(prefix, c->name, c->description);
    buf_str(out, command_line ? "  Output formats (select at most one):\n" : "  Commands:\n");
    add_sorted(lines, n, out);
    if (!command_line)
        buf_str(
            out,
            "    o/options        List options and their current values\n    q/quit/exit/^D   Exit pprof\n");
    buf_str(out, "\n  Options:\n");
    n = 0;
    for (const struct pprof_field *f = pprof_fields; f->name; f++)
        if (f->kind != FIELD_CHOICE) lines[n++] = help_line(prefix, f->name, f->help);
    add_sorted(lines, n, out);
    buf_str(out, "\n  Option groups (only set one per group):\n");
    for (int pass = 0; pass < 2; pass++) {
        const struct pprof_field *f = pprof_find_field(pass ? "sort" : "granularity", NULL);
        buf_printf(out, "    %-16s \n", f->name);
        for (const char *at = f->choices; *at;) {
            size_t len = strcspn(at, " ");
            char *name = mem_strndup(at, len), *line = help_line(prefix, name, help_of_choice(at, len));
            buf_printf(out, "  %s\n", line);
            mem_free(name);
            mem_free(line);
            at += len + (at[len] == ' ');
        }
    }
}

static void command_usage(const struct pprof_command *c, struct buf *out)
{
    static const char filter[] = "    Include samples matching focus_regex, and exclude ignore_regex.\n";
    if (!c->help_kind) return;
    buf_str(out, "  Usage:\n");
    switch (c->help_kind) {
    case 3:
        buf_printf(out, "    %s<func_regex|address> [-focus_regex]* [-ignore_regex]*\n%s", c->name, filter);
        break;
    case 4:
        buf_str(out,
                "    peek func_regex\n    Display callers and callees of functions matching func_regex.\n");
        break;
    case 5:
        buf_str(out, "    tags [tag_regex]* [-ignore_regex]* [>file]\n    List tags with key:value matching "
                     "tag_regex and exclude ignore_regex.\n");
        break;
    default:
        buf_printf(out, "    %s [n] [focus_regex]* [-ignore_regex]*%s%s\n    Include up to n samples\n%s",
                   c->name, c->help_kind == 2 ? " [-cum]" : "", c->viewer ? "" : " >f", filter);
        if (c->help_kind == 2) buf_str(out, "    -cum sorts the output by cumulative weight\n");
        if (!c->viewer) buf_str(out, "    Optionally save the report on the file f\n");
    }
}

bool pprof_print_help(const char *topic, struct buf *out)
{
    const struct pprof_command *c = pprof_find_command(topic);
    if (c) {
        buf_printf(out, "%s\n", c->description);
        command_usage(c, out);
        buf_char(out, '\n');
        return true;
    }
    bool by_choice;
    const struct pprof_field *f = pprof_find_field(topic, &by_choice);
    if (!f) return false;
    const char *help = by_choice ? help_of_choice(topic, strlen(topic)) : f->help;
    if (!*help) return false; /* an option that is set by its choices */
    buf_printf(out, "%s\n\n", help);
    return true;
}
