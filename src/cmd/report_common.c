/* report_common.c - see report_common.h. */
#include "cmd/report_common.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "cmd/command.h"
#include "profile/unit.h"

size_t report_common_options(struct report_arguments *a, unsigned uses, struct option *table)
{
    a->o = report_options_default(REPORT_TEXT);
    a->sample = a->granularity = a->symbolize = "";
    a->unit = "minimum";
    const struct {
        unsigned uses;
        struct option option;
    } common[] = {
        {0, {'o', "output", OPTION_TEXT, &a->output, "FILE", "write to FILE instead of standard output"}},
        {USES_SAMPLE,
         {'s', "sample", OPTION_TEXT, &a->sample, "TYPE",
          "value to show: cpu, inuse_space, alloc_objects ... or its number"}},
        {USES_UNIT,
         {'u', "unit", OPTION_TEXT, &a->unit, "UNIT",
          "unit of values: ms, seconds, MB ..., or auto for one per value"}},
        {0,
         {'b', "base", OPTION_LIST, &a->base, "FILE", "subtract this profile; several are added up first"}},
        {0,
         {0, "diff-base", OPTION_LIST, &a->diff_base, "FILE",
          "compare with this profile; percentages refer to it"}},
        {0,
         {0, "normalize", OPTION_FLAG, &a->o.normalize, NULL, "scale to the base's total before comparing"}},
        {USES_BY,
         {0, "by", OPTION_TEXT, &a->granularity, "WHAT",
          "group by functions, filefunctions, files, lines or addresses"}},
        {USES_ORDER, {'c', "cum", OPTION_FLAG, &a->cum, NULL, "sort by cumulative cost (with callees)"}},
        {USES_COUNT, {'n', "count", OPTION_INT, &a->o.nodecount, "N", "show at most N rows or nodes"}},
        {USES_COUNT, {'a', "all", OPTION_FLAG, &a->all, NULL, "show everything, however small"}},
        {USES_FILTERS,
         {'f', "focus", OPTION_TEXT, &a->o.focus, "REGEX", "only stacks with a matching frame"}},
        {USES_FILTERS,
         {'i', "ignore", OPTION_TEXT, &a->o.ignore, "REGEX", "drop stacks with a matching frame"}},
        {USES_FILTERS,
         {0, "hide", OPTION_TEXT, &a->o.hide, "REGEX", "remove matching frames from their stacks"}},
        {USES_FILTERS, {0, "show", OPTION_TEXT, &a->o.show, "REGEX", "keep only matching frames"}},
        {USES_FILTERS,
         {0, "show-from", OPTION_TEXT, &a->o.show_from, "REGEX", "cut stacks above the matching frame"}},
        {USES_FILTERS,
         {0, "prune-from", OPTION_TEXT, &a->o.prune_from, "REGEX", "cut stacks below the matching frame"}},
        {USES_FILTERS,
         {'t', "tag-focus", OPTION_TEXT, &a->o.tagfocus, "EXPR",
          "only samples with these labels: key=value, 1kb:10kb, ..."}},
        {USES_FILTERS,
         {0, "tag-ignore", OPTION_TEXT, &a->o.tagignore, "EXPR", "drop samples with these labels"}},
        {USES_FILTERS,
         {0, "tag-root", OPTION_TEXT, &a->o.tagroot, "KEY,...", "add label values as frames at the root"}},
        {USES_FILTERS,
         {0, "tag-leaf", OPTION_TEXT, &a->o.tagleaf, "KEY,...", "add label values as frames at the leaf"}},
        {USES_FILTERS,
         {0, "no-inlines", OPTION_FLAG, &a->o.noinlines, NULL, "count inlined functions as their caller"}},
        {USES_MEAN,
         {0, "mean", OPTION_FLAG, &a->o.mean, NULL, "divide by the first value (bytes per object ...)"}},
        {USES_NAMES, {'e', "exe", OPTION_TEXT, &a->binary, "FILE", "the program that was profiled"}},
        {USES_NAMES,
         {0, "path", OPTION_LIST, &a->path, "DIR", "also search DIR for binaries and debug files"}},
        {USES_NAMES, {0, "no-symbols", OPTION_FLAG, &a->no_names, NULL, "do not look for names"}},
        {USES_NAMES,
         {0, "names", OPTION_TEXT, &a->names, "HOW", "simple (default), templates, full or mangled"}},
        {0, {0, "seconds", OPTION_DURATION, &a->seconds, "TIME", "how long a URL collects"}},
    };
    size_t n = 0;
    for (size_t i = 0; i < sizeof common / sizeof *common; i++)
        if (!common[i].uses || common[i].uses & uses) table[n++] = common[i].option;
    return n;
}

const char *report_useless_option(const struct report_arguments *a, unsigned uses)
{
    const struct {
        unsigned uses;
        bool is_given;
        const char *name;
    } options[] = {{USES_SAMPLE, *a->sample, "sample"},
                   {USES_MEAN, a->o.mean, "mean"},
                   {USES_UNIT, strcmp(a->unit, "minimum") != 0, "unit"},
                   {USES_BY, *a->granularity, "by"},
                   {USES_ORDER, a->cum, "cum"},
                   {USES_COUNT, a->o.nodecount != report_options_default(REPORT_TEXT).nodecount, "count"},
                   {USES_COUNT, a->all, "all"}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (options[i].is_given && !(options[i].uses & uses)) return options[i].name;
    return NULL;
}

static void print_warning(void *context, const char *text)
{
    (void)context;
    command_warnf("%s", text);
}

static void print_progress(void *context, const char *text)
{
    (void)context;
    if (isatty(2)) fprintf(stderr, "%s\n", text);
}

static int apply_granularity(struct report_arguments *a)
{
    static const char *const names[] = {"", "functions", "filefunctions", "files", "lines", "addresses"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(a->granularity, names[i])) continue;
        a->o.granularity = (enum report_granularity)i;
        return 0;
    }
    return command_failf("--by %s: choose functions, filefunctions, files, lines or addresses",
                         a->granularity);
}

static bool shows_lines(const struct report_options *o)
{
    return o->format == REPORT_LIST || o->format == REPORT_WEBLIST || o->granularity == BY_FILE_FUNCTION ||
           o->granularity == BY_FILE || o->granularity == BY_LINE;
}

static bool is_unit(const char *unit, const struct profile *p)
{
    if (!unit || !*unit || !strcmp(unit, "auto") || !strcmp(unit, "minimum") || unit_known(unit)) return true;
    for (size_t i = 0; i < p->n_sample_types; i++)
        if (!strcmp(unit, profile_text(p, p->sample_types[i].unit))) return true;
    return false;
}

int report_load(struct report_arguments *a, int n, char **argv, struct profile **ret_profile,
                struct symbolizer **ret_symbolizer)
{
    static const char *const details[] = {"simple", "templates", "full", "mangled"};
    struct err err;
    if (n < 1) return command_failf("no profile given; name a file, a URL, or - for standard input"), 2;
    if (a->base.n_items && a->diff_base.n_items)
        return command_failf("--base and --diff-base exclude each other; give one of them"), 2;
    if (apply_granularity(a)) return 2;
    struct option_list *bases = a->diff_base.n_items ? &a->diff_base : &a->base;
    struct load_options loading = {.sources = (const char *const *)argv + 1,
                                   .n_sources = (size_t)n,
                                   .bases = bases->items,
                                   .n_bases = bases->n_items,
                                   .is_diff = a->diff_base.n_items > 0,
                                   .normalize = a->o.normalize,
                                   .binary = a->binary,
                                   .seconds = a->seconds,
                                   .no_symbols = a->no_names,
                                   .name_places = a->name_places,
                                   .want_lines = shows_lines(&a->o),
                                   .search = a->path.items,
                                   .warn = print_warning,
                                   .say = print_progress};
    if (a->shows_one_value && *a->sample && !a->o.mean && !bases->n_items) loading.only_type = a->sample;
    for (size_t i = 0; a->names && i < sizeof details / sizeof *details; i++)
        if (!strcmp(a->names, details[i]))
            loading.name_detail = (enum name_detail)i, loading.force_symbols = i > 0;
    if (load_profile(&loading, ret_profile, NULL, ret_symbolizer, &err)) return command_fail(&err);
    if (!is_unit(a->unit, *ret_profile)) {
        profile_free(*ret_profile);
        if (ret_symbolizer) symbolizer_free(*ret_symbolizer);
        return command_failf("--unit %s: unknown unit; choose ns, us, ms, s, hrs, B, kB, MB, GB ... or auto",
                             a->unit),
               2;
    }
    a->o.sample_index = a->sample;
    a->o.unit = a->unit;
    a->o.cum_sort = a->cum;
    a->o.symbolizer = ret_symbolizer ? *ret_symbolizer : NULL;
    a->o.warn = print_warning;
    if (a->all) {
        a->o.nodecount = 0;
        a->o.nodefraction = a->o.edgefraction = 0;
    }
    return 0;
}

int report_deliver(const char *output, struct buf *text, bool binary, const char *suggested_name)
{
    struct err err;
    int status = 0;
    if (output && strcmp(output, "-")) {
        if (file_write_atomic(output, text->data, text->len, 0644, &err)) status = command_fail(&err);
    } else if (binary && isatty(1)) {
        status = command_failf("the output is not text; use --output %s, or redirect it to a file",
                               suggested_name);
    } else {
        struct buf out = buf_to_fd(1);
        buf_add(&out, text->data, text->len);
        if (buf_flush(&out) && out.write_errno != EPIPE)
            status = command_failf("cannot write to standard output: %s", strerror(out.write_errno));
        buf_free(&out);
    }
    buf_free(text);
    return status;
}
