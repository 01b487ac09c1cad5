/* cmd_merge.c - `procprof merge` and `procprof convert`: profiles into one profile.proto, or into another
 * form. */
#include <string.h>

#include "cmd/command.h"
#include "cmd/report_common.h"
#include "format/format.h"

static int write_proto(const struct profile *p, const char *output, int level)
{
    struct buf out = {0};
    if (level > 0)
        format_write_proto_gzip(p, level, &out);
    else
        format_write_proto(p, &out);
    return report_deliver(output, &out, true, "out.pb.gz");
}

/* What a name asks for; NULL: it does not tell. */
static const char *form_of(const char *output)
{
    const char *dot = output ? strrchr(output, '.') : NULL;
    static const char *const forms[] = {"collapsed", "folded", "callgrind", "csv", "json"};
    static const char *const pprof_endings[] = {"gz", "pb", "pprof", "prof", "proto", "profile"};
    if (!dot || strchr(dot, '/')) return "pprof";
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (!strcmp(dot + 1, forms[i])) return forms[i];
    for (size_t i = 0; i < sizeof pprof_endings / sizeof *pprof_endings; i++)
        if (!strcmp(dot + 1, pprof_endings[i])) return "pprof";
    return NULL;
}

static int run_merge(int argc, char **argv)
{
    struct report_arguments a = {0};
    struct option table[N_COMMON_OPTIONS + 4];
    int64_t level = 6;
    const char *to = NULL;
    bool converting = !strcmp(argv[0], "convert");
    size_t n_options = report_common_options(&a, converting ? USES_ALL : USES_FILTERS | USES_NAMES, table);
    table[n_options++] = (struct option){0, "level", OPTION_INT, &level, "N", "gzip level, 0 (none) to 12"};
    if (converting)
        table[n_options++] = (struct option){
            0,
            "to",
            OPTION_TEXT,
            &to,
            "FORM",
            "pprof, collapsed, raw, callgrind, csv or json (default: by the ending of OUT, else pprof)"};
    table[n_options] = (struct option){0};
    struct options_help help = {converting ? "procprof convert [OPTIONS] PROFILE... -o OUT"
                                           : "procprof merge [OPTIONS] PROFILE... -o OUT.pb.gz",
                                converting
                                    ? "Reads a profile in any format and writes it in another one."
                                    : "Adds profiles up. Equal stacks with equal labels become one sample.",
                                converting ? "  procprof convert cpu.jfr -o cpu.folded\n  "
                                             "procprof convert heap.prof -o heap.pb.gz"
                                           : "  procprof merge be1.pb.gz be2.pb.gz be3.pb.gz -o all.pb.gz"};
    int n = options_parse(argc, argv, table, &help);
    if (n == OPTIONS_DONE) return 0;
    if (n == OPTIONS_BAD) return 2;
    if (!converting) to = "pprof";
    if (level < 0 || level > 12) return command_failf("--level must be 0 (no compression) to 12"), 2;
    static const struct {
        const char *name;
        enum report_format format;
        unsigned uses; /* besides filters and names */
    } forms[] = {{"collapsed", REPORT_COLLAPSED, USES_SAMPLE | USES_BY},
                 {"folded", REPORT_COLLAPSED, USES_SAMPLE | USES_BY},
                 {"raw", REPORT_RAW, 0},
                 {"callgrind", REPORT_CALLGRIND, USES_SAMPLE | USES_MEAN | USES_UNIT | USES_ORDER},
                 {"csv", REPORT_CSV, USES_SAMPLE | USES_MEAN | USES_BY | USES_ORDER | USES_COUNT},
                 {"json", REPORT_JSON, USES_SAMPLE | USES_MEAN | USES_BY | USES_ORDER | USES_COUNT}};
    int form = -1;
    if (!to) to = form_of(a.output);
    if (!to && converting)
        return command_failf(
                   "%s: procprof cannot write a format with this ending; use .pb.gz, .collapsed, .folded, "
                   ".callgrind, .csv or .json, or give --to FORMAT",
                   a.output),
               2;
    if (!to) to = "pprof";
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (!strcmp(forms[i].name, to)) form = (int)i;
    if (form < 0 && strcmp(to, "pprof") && strcmp(to, "proto"))
        return command_failf("--to %s: choose pprof, collapsed, raw, callgrind, csv or json", to), 2;
    const char *useless = report_useless_option(&a, form >= 0 ? forms[form].uses : 0);
    if (useless) return command_failf("--%s has no effect on %s", useless, to), 2;
    struct profile *p;
    struct err err;
    a.name_places = a.shows_one_value = form >= 0 && forms[form].format != REPORT_RAW;
    int status = report_load(&a, n, argv, &p, NULL);
    if (status) return status;
    if (form >= 0) {
        struct buf text = {0};
        a.o.format = forms[form].format;
        status = report_write(p, &a.o, &text, &err) ? command_fail(&err)
                                                    : report_deliver(a.output, &text, false, "out.txt");
    } else {
        status = report_prepare(p, &a.o, &err) ? command_fail(&err) : write_proto(p, a.output, (int)level);
    }
    profile_free(p);
    return status;
}

COMMAND(merge, "merge", "report", "add several profiles up", run_merge)
COMMAND(convert, "convert", "report", "write a profile in another format", run_merge)
