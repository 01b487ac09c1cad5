/* cmd_pprof.c - `procprof pprof ARGS`, or a link named pprof. It has google/pprof's command line.
 *
 * The rules are those of Go's flag package: -x and --x are the same, a value follows "=" or is the next
 * argument (never for booleans), and options come before the sources.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/text.h"
#include "cmd/command.h"
#include "cmd/load.h"
#include "cmd/options.h"
#include "cmd/pprof/pprof_config.h"
#include "cmd/pprof/pprof_run.h"
#include "cmd/pprof/pprof_web.h"
#include "format/format.h"

static struct arena until_exit; /* copies of parts of arguments, which must live as long as argv */

struct arguments {
    struct pprof_config config;
    struct option_list base, diff_base;
    const char *symbolize, *build_id, *comment, *tools, *http, *tls_cert, *tls_key, *tls_ca;
    int64_t seconds, timeout_s;
    bool all_frames, no_browser;
    bool inuse_space, inuse_objects, alloc_space, alloc_objects, total_delay, contentions, mean_delay;
    const struct pprof_command *command;
    const char *symbol;
    const char *seen_sort, *seen_granularity; /* to detect conflicting options */
};

static int fail(const char *text)
{
    fflush(stdout);
    fprintf(stderr, "pprof: %s\n", text);
    return 1;
}

static void say(void *context, const char *line)
{
    (void)context;
    fprintf(stderr, "%s\n", line);
}

static const char usage_head[] =
    "usage:\n\n"
    "   pprof <format> [options] [binary] <source> ...        one report\n"
    "   pprof [options] [binary] <source> ...                 an interactive shell\n"
    "   pprof -http [host]:[port] [options] [binary] <source> a page in the browser\n\n";

static const char usage_tail[] =
    "\n  Source options:\n"
    "    -seconds              Duration for time-based profile collection\n"
    "    -timeout              Timeout in seconds for profile collection\n"
    "    -buildid              Override build id for main binary\n"
    "    -add_comment          Free-form annotation to add to the profile\n"
    "    -diff_base source     Source of base profile for comparison\n"
    "    -base source          Source of base profile for profile subtraction\n"
    "    profile.pb.gz         Profile in any format procprof reads\n"
    "    http://host/profile   URL for profile handler to retrieve\n"
    "    -symbolize=           none, local, fastlocal, remote, force, demangle=none|templates|full\n"
    "\n  Misc options:\n"
    "   -http              Provide web interface at host:port\n"
    "   -no_browser        Skip opening a browser for the interactive web UI\n"
    "   -tools             Accepted; procprof needs no object tools\n"
    "   -all_frames        Ignore drop_frames and keep_frames regexps in the profile\n"
    "   -tls_cert, -tls_key, -tls_ca   For https sources\n"
    "\n  Legacy convenience options:\n"
    "   -inuse_space -inuse_objects -alloc_space -alloc_objects   Same as -sample_index=...\n"
    "   -total_delay -contentions    Same as -sample_index=delay, contentions\n"
    "   -mean_delay                  Same as -mean -sample_index=delay\n"
    "\n  Environment Variables:\n"
    "   PPROF_TMPDIR       Location for saved profiles (default $HOME/pprof)\n"
    "   PPROF_BINARY_PATH  Search path for local binary files (default $HOME/pprof/binaries)\n";

static void print_usage(FILE *to)
{
    struct buf options = {0};
    pprof_print_usage(true, &options);
    fprintf(to, "%s%s%s", usage_head, buf_cstr(&options), usage_tail);
    buf_free(&options);
}

/* Flags that are not variables of the shell. */
struct plain_flag {
    const char *name;
    enum { PLAIN_BOOL, PLAIN_TEXT, PLAIN_INT, PLAIN_LIST } kind;
    size_t offset;
};

#define AT(field) offsetof(struct arguments, field)
static const struct plain_flag plain_flags[] = {
    {"base", PLAIN_LIST, AT(base)},
    {"diff_base", PLAIN_LIST, AT(diff_base)},
    {"symbolize", PLAIN_TEXT, AT(symbolize)},
    {"buildid", PLAIN_TEXT, AT(build_id)},
    {"add_comment", PLAIN_TEXT, AT(comment)},
    {"tools", PLAIN_TEXT, AT(tools)},
    {"http", PLAIN_TEXT, AT(http)},
    {"tls_cert", PLAIN_TEXT, AT(tls_cert)},
    {"tls_key", PLAIN_TEXT, AT(tls_key)},
    {"tls_ca", PLAIN_TEXT, AT(tls_ca)},
    {"seconds", PLAIN_INT, AT(seconds)},
    {"timeout", PLAIN_INT, AT(timeout_s)},
    {"all_frames", PLAIN_BOOL, AT(all_frames)},
    {"no_browser", PLAIN_BOOL, AT(no_browser)},
    {"inuse_space", PLAIN_BOOL, AT(inuse_space)},
    {"inuse_objects", PLAIN_BOOL, AT(inuse_objects)},
    {"alloc_space", PLAIN_BOOL, AT(alloc_space)},
    {"alloc_objects", PLAIN_BOOL, AT(alloc_objects)},
    {"total_delay", PLAIN_BOOL, AT(total_delay)},
    {"contentions", PLAIN_BOOL, AT(contentions)},
    {"mean_delay", PLAIN_BOOL, AT(mean_delay)},
};

static const struct plain_flag *find_plain(const char *name)
{
    for (size_t i = 0; i < sizeof plain_flags / sizeof *plain_flags; i++)
        if (!strcmp(plain_flags[i].name, name)) return &plain_flags[i];
    return NULL;
}

static int set_plain(struct arguments *a, const struct plain_flag *f, const char *value, struct err *err)
{
    void *at = (char *)a + f->offset;
    switch (f->kind) {
    case PLAIN_BOOL:
        if (!pprof_parse_bool(value, at))
            return err_set(err, ERR_INPUT, "invalid boolean value \"%s\" for -%s", value, f->name);
        return 0;
    case PLAIN_TEXT:
        *(const char **)at = value;
        return 0;
    case PLAIN_INT:
        return text_to_int(value, INT64_MIN, INT64_MAX, at)
                   ? 0
                   : err_set(err, ERR_INPUT, "invalid value \"%s\" for flag -%s: not a whole number", value,
                             f->name);
    case PLAIN_LIST: {
        struct option_list *list = at;
        if (*value) option_list_add(list, value);
        return 0;
    }
    }
    return 0;
}

static int set_command(struct arguments *a, const struct pprof_command *c, const char *value, struct err *err)
{
    bool on = true;
    if (c->has_parameter) {
        a->symbol = value;
        on = *value != '\0';
    } else if (!pprof_parse_bool(value, &on)) {
        return err_set(err, ERR_INPUT, "invalid boolean value \"%s\" for -%s", value, c->name);
    }
    if (!on) return 0;
    if (a->command && a->command != c) return err_set(err, ERR_INPUT, "must set at most one output format");
    a->command = c;
    return 0;
}

static int set_field(struct arguments *a, const struct pprof_field *f, bool by_choice, const char *name,
                     const char *value, struct err *err)
{
    if (!by_choice) return pprof_config_set(&a->config, name, value, err);
    bool on;
    if (!pprof_parse_bool(value, &on))
        return err_set(err, ERR_INPUT, "invalid boolean value \"%s\" for -%s", value, name);
    if (!on) return 0;
    const char **seen = !strcmp(f->name, "sort") ? &a->seen_sort : &a->seen_granularity;
    if (*seen && strcmp(*seen, name))
        return err_set(err, ERR_INPUT, "conflicting options set: [%s %s]", *seen, name);
    *seen = name;
    return pprof_config_set(&a->config, f->name, name, err);
}

/* Moves the sources to argv + 1 and returns their number. Returns -1 with err set, or -2 if the user asked
 * for help. */
static int parse_arguments(int argc, char **argv, struct arguments *a, struct err *err)
{
    int i = 1;
    for (; i < argc && argv[i][0] == '-' && argv[i][1]; i++) {
        if (!strcmp(argv[i], "--")) {
            i++;
            break;
        }
        const char *name = argv[i] + (argv[i][1] == '-' ? 2 : 1), *equals = strchr(name, '=');
        if (equals)
            name = arena_strndup(&until_exit, name,
                                 (size_t)(equals - name)); /* for -files=true, keep the name of the choice */
        if (!strcmp(name, "h") || !strcmp(name, "help")) return -2;
        bool by_choice = false;
        const struct pprof_command *c = pprof_find_command(name);
        const struct plain_flag *plain = find_plain(name);
        const struct pprof_field *field = pprof_find_field(name, &by_choice);
        if (field && field->kind == FIELD_CHOICE && !by_choice)
            field = NULL; /* -sort and -granularity are set only by their choices */
        if (!c && !plain && !field)
            return err_set(err, ERR_INPUT, "flag provided but not defined: -%s", name), -1;
        bool is_bool = (c && !c->has_parameter) || (plain && plain->kind == PLAIN_BOOL) ||
                       (field && (field->kind == FIELD_BOOL || by_choice));
        const char *value = equals ? equals + 1 : "true";
        if (!equals && !is_bool) {
            if (i + 1 >= argc) return err_set(err, ERR_INPUT, "flag needs an argument: -%s", name), -1;
            value = argv[++i];
        }
        int rc = c       ? set_command(a, c, value, err)
                 : plain ? set_plain(a, plain, value, err)
                         : set_field(a, field, by_choice, name, value, err);
        if (rc) return -1;
    }
    int n = argc - i;
    memmove(argv + 1, argv + i, (size_t)n * sizeof *argv);
    return n;
}

static void choose_index(struct arguments *a, bool asked, const char *type, const char *flag)
{
    if (!asked) return;
    if (*a->config.report.sample_index)
        fprintf(stderr, "Multiple value selections, ignoring %s\n", flag);
    else
        a->config.report.sample_index = type;
}

static void apply_legacy_flags(struct arguments *a)
{
    choose_index(a, a->total_delay, "delay", "-total_delay");
    choose_index(a, a->mean_delay, "delay", "-mean_delay");
    choose_index(a, a->contentions, "contentions", "-contentions");
    choose_index(a, a->inuse_space, "inuse_space", "-inuse_space");
    choose_index(a, a->inuse_objects, "inuse_objects", "-inuse_objects");
    choose_index(a, a->alloc_space, "alloc_space", "-alloc_space");
    choose_index(a, a->alloc_objects, "alloc_objects", "-alloc_objects");
    if (a->mean_delay) a->config.report.mean = true;
}

static bool is_object_file(const char *path)
{
    struct bytes bytes;
    if (file_read(path, (size_t)1 << 40, &bytes, NULL)) return false;
    bool yes = bytes.len > 16 && !memcmp(bytes.data, "\177ELF", 4);
    bytes_free(&bytes);
    return yes;
}

static void parse_symbolize(const char *mode, struct load_options *o)
{
    char *copy = mem_strdup(mode), *rest = copy, *part;
    while ((part = strsep(&rest, ":"))) {
        if (!*part) continue;
        if (!strcasecmp(part, "none") || !strcasecmp(part, "no"))
            o->no_symbols = true;
        else if (!strcasecmp(part, "local"))
            o->local_only = true;
        else if (!strcasecmp(part, "fastlocal"))
            o->local_only = o->fast_local = true;
        else if (!strcasecmp(part, "remote"))
            o->remote_only = true;
        else if (!strcasecmp(part, "force"))
            o->force_symbols = true;
        else if (!strcasecmp(part, "demangle=default"))
            continue;
        else if (!strncasecmp(part, "demangle=", 9)) {
            o->name_detail = !strcasecmp(part + 9, "full")        ? NAME_FULL
                             : !strcasecmp(part + 9, "templates") ? NAME_TEMPLATES
                                                                  : NAME_MANGLED;
            o->force_symbols = true;
        } else {
            fprintf(stderr, "ignoring unrecognized symbolization option: %s\n", mode);
            fprintf(
                stderr,
                "expecting "
                "-symbolize=[local|fastlocal|remote|none][:force][:demangle=[none|full|templates|default]\n");
        }
    }
    mem_free(copy);
}

/* Saves a profile from the network as pprof.<binary>.<types>.NNN.pb.gz in $PPROF_TMPDIR or ~/pprof. */
static void save_remote(const struct profile *p)
{
    const char *folder = getenv("PPROF_TMPDIR"), *home = getenv("HOME");
    char *where = folder && *folder ? mem_strdup(folder)
                  : home && *home   ? mem_printf("%s/pprof", home)
                                    : mem_strdup("/tmp");
    struct err err = {0};
    struct buf name = {0};
    if (file_make_dirs(where, 0755, &err)) {
        fprintf(stderr, "Could not use temp dir %s: %s\n", where, err.text);
    } else {
        const char *file = p->n_mappings ? path_base_name(profile_text(p, p->mappings[0].filename)) : "";
        buf_str(&name, "pprof.");
        if (*file) buf_printf(&name, "%s.", file);
        for (size_t i = 0; i < p->n_sample_types; i++)
            buf_printf(&name, "%s.", profile_text(p, p->sample_types[i].type));
        struct buf packed = {0};
        format_write_proto_gzip(p, 6, &packed);
        for (int i = 1; i < 10000; i++) {
            char *path = mem_printf("%s/%s%03d.pb.gz", where, buf_cstr(&name), i);
            if (access(path, F_OK) == 0) {
                mem_free(path);
                continue;
            }
            if (file_write_atomic(path, packed.data, packed.len, 0644, &err))
                fprintf(stderr, "Could not save profile: %s\n", err.text);
            else
                fprintf(stderr, "Saved profile in %s\n", path);
            mem_free(path);
            break;
        }
        buf_free(&packed);
    }
    buf_free(&name);
    mem_free(where);
}

static const char **binary_search_path(void)
{
    const char *path = getenv("PPROF_BINARY_PATH"), *home = getenv("HOME");
    char *copy = path && *path ? mem_strdup(path) : mem_printf("%s/pprof/binaries", home ? home : "");
    struct option_list folders = {0};
    for (char *part; (part = strsep(&copy, ":"));)
        if (*part) option_list_add(&folders, part);
    return folders.items;
}

static int run(int argc, char **argv)
{
    struct arguments a = {
        .config = pprof_config_default(), .symbolize = "", .tools = "", .seconds = -1, .timeout_s = -1};
    struct err err = {0};
    int n = parse_arguments(argc, argv, &a, &err);
    if (n == -2) {
        print_usage(stdout);
        return 0;
    }
    if (n == -1) {
        fail(err.text);
        fprintf(stderr, "'pprof -help' lists the options\n");
        return 2;
    }
    if (n == 0) {
        print_usage(stderr);
        return fail("no profile source specified");
    }
    if (a.command && a.http) return fail("-http is not compatible with an output format on the command line");
    if (a.no_browser && !a.http) return fail("-no_browser only makes sense with -http");
    if (a.base.n_items && a.diff_base.n_items)
        return fail("-base and -diff_base flags cannot both be specified");
    struct option_list *bases = a.diff_base.n_items ? &a.diff_base : &a.base;
    if (a.config.report.normalize && !bases->n_items) return fail("must have base profile to normalize by");
    apply_legacy_flags(&a);
    const char **sources = (const char **)argv + 1;
    struct load_options loading = {.bases = bases->items,
                                   .n_bases = bases->n_items,
                                   .is_diff = a.diff_base.n_items > 0,
                                   .normalize = a.config.report.normalize,
                                   .build_id = a.build_id,
                                   .seconds = a.seconds > 0 ? (double)a.seconds : 0,
                                   .timeout_s = a.timeout_s > 0 ? (double)a.timeout_s : 0,
                                   .all_frames = a.all_frames,
                                   .comment = a.comment && *a.comment ? a.comment : NULL,
                                   .tls_cert = a.tls_cert,
                                   .tls_key = a.tls_key,
                                   .tls_ca = a.tls_ca,
                                   .add_fake_mapping = true,
                                   .drop_signal_frames = true,
                                   .say = say,
                                   .warn = say,
                                   .search = binary_search_path()};
    if (n > 1 && is_object_file(sources[0])) {
        loading.binary = *sources++;
        n--;
    }
    loading.sources = sources;
    loading.n_sources = (size_t)n;
    parse_symbolize(a.symbolize, &loading);
    if (a.http) return pprof_web(a.http, !a.no_browser, &loading);
    struct profile *p;
    struct symbolizer *symbolizer = NULL;
    bool remote = false;
    if (load_profile(&loading, &p, &remote, &symbolizer, &err)) return fail(err.text);
    if (remote) save_remote(p);
    int status = 0;
    if (!a.command)
        status = pprof_shell(p, &a.config, symbolizer);
    else if (pprof_run(p, a.command, a.symbol, &a.config, symbolizer, false, &err))
        status = fail(err.text);
    symbolizer_free(symbolizer);
    return status;
}

COMMAND(pprof, "pprof", "personality", "reports, a shell and a web page, as google/pprof", run)
