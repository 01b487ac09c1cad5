/* cmd_jeprof.c - `procprof jeprof ARGS`, or a link named jeprof. It has the command line of jeprof 5.3. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/version.h"
#include "cmd/command.h"
#include "cmd/jeprof/jeprof_options.h"
#include "cmd/jeprof/jeprof_remote.h"
#include "cmd/jeprof/jeprof_report.h"
#include "collect/fetch.h"
#include "format/maps.h"
#include "format/symbolized.h"

static const char usage[] =
    "usage:\n"
    "  jeprof [options] PROGRAM PROFILE...         files or host:port[/service]\n"
    "  jeprof [options] PROFILE_WITH_NAMES...      files written by --raw\n"
    "  jeprof [options] HOST:PORT[/SERVICE]        names come from host:port/pprof/symbol\n"
    "  jeprof --symbols PROGRAM < MAPS_AND_ADDRESSES\n\n"
    "  SERVICE is /pprof/heap, /pprof/profile (the default), /pprof/pmuprofile, "
    "/pprof/growth,\n"
    "  /pprof/contention, /pprof/wall, /pprof/censusprofile or /pprof/filteredprofile, after any path.\n"
    "  Options may come anywhere, may be shortened, and begin with one dash or two.\n\n"
    "output, at most one (none: a shell on a terminal, else --text):\n"
    "  --text              a table                    --dot  --ps  --pdf  --svg  --gif     the call graph\n"
    "  --list=REGEX        source with costs          --gv  --evince  --web                ... in a viewer\n"
    "  --disasm=REGEX      instructions with costs    --callgrind                          for kcachegrind\n"
    "  --collapsed         stacks for flame graphs    --raw                                with names, for "
    "later\n"
    "  --interactive       a shell                    --symbols                            names of "
    "addresses\n\n"
    "what makes one row or node:\n"
    "  --functions (default)  --lines  --files  --addresses\n\n"
    "heap profiles:\n"
    "  --inuse_space (default)  --inuse_objects  --alloc_space  --alloc_objects\n"
    "  --show_bytes        bytes, not megabytes\n"
    "  --drop_negative     leave out what shrank\n"
    "  --thread=N          one thread of a jemalloc dump; '*': each of them\n\n"
    "contention profiles:\n"
    "  --total_delay (default)  --contentions  --mean_delay\n\n"
    "what is shown:\n"
    "  --cum               sort by cumulative count\n"
    "  --base=FILE         subtract this profile\n"
    "  --focus=REGEX       only stacks with a match   --ignore=REGEX    no stacks with a match\n"
    "  --retain=REGEX      only frames that match     --exclude=REGEX   no frames that match\n"
    "  --nodecount=80  --nodefraction=.005  --edgefraction=.001  --maxdegree=8    size of the graph\n"
    "  --heapcheck         mark leaking nodes         --scale=N         accepted, not used\n"
    "  --auto-signal-frm   drop second frames that all CPU samples share, as jeprof does\n\n"
    "sources:\n"
    "  --seconds=30        for CPU profiles from a server\n"
    "  --lib_prefix=DIR,... folders to put before library paths\n"
    "  --add_lib=FILE      one more library with symbols\n"
    "  --tools=..., --debug-syms-by-id, --debug are accepted and not needed\n\n"
    "environment: JEPROF_TMPDIR is the folder for fetched profiles (~/jeprof)\n";

struct run {
    struct jeprof_options options;
    struct jeprof_profile profile;
    struct jeprof_names names;
    struct buf notes; /* printed to stderr after success */
    char *program;
    bool names_from_server;
    struct jeprof_url url;   /* of the first remote profile */
    struct bytes first_body; /* for --raw */
};

static int fail(const struct err *err)
{
    fflush(stdout);
    fprintf(stderr, "jeprof: %s\n", err->text);
    return 1;
}

static void warn(const char *line)
{
    fprintf(stderr, "jeprof: %s\n", line);
}

static bool is_object_file(const char *path)
{
    char magic[4] = "";
    FILE *f = fopen(path, "rb");
    if (!f) return false;
    bool is = fread(magic, 1, 4, f) == 4 && !memcmp(magic, "\177ELF", 4);
    fclose(f);
    return is;
}

static int add_source(struct run *r, const char *source, double sign, struct err *err)
{
    struct bytes bytes = {0};
    struct jeprof_url url = {0};
    bool remote = jeprof_is_url(source);
    if (remote && !jeprof_url_parse(source, &url))
        return err_set(err, ERR_INPUT, "%s: the URL has no host", source);
    int rc =
        remote ? jeprof_fetch(&url, &r->options, r->program, &bytes, err) : fetch(source, NULL, &bytes, err);
    if (!rc)
        rc = jeprof_profile_add(&r->profile, &bytes, source, r->names_from_server ? NULL : r->program,
                                &r->options, sign, &r->notes, err);
    if (!rc && !remote) {
        struct buf line = {0};
        buf_printf(&line, "Using local file %s.\n", source);
        buf_add(&line, r->notes.data, r->notes.len);
        buf_free(&r->notes);
        r->notes = line;
    }
    jeprof_url_free(&url);
    if (!rc && !r->first_body.data)
        r->first_body = bytes;
    else
        bytes_free(&bytes);
    return rc;
}

static int find_names(struct run *r, struct err *err)
{
    if (r->names_from_server) return jeprof_fetch_names(&r->url, &r->options, &r->profile, err);
    jeprof_names_find(&r->names, &r->profile, &r->options, warn);
    return 0;
}

/* Decides which arguments are profiles and which is the program, then adds the profiles and their names. */
static int load(struct run *r, char **args, int n_args, struct err *err)
{
    int rc = 0, first = 0;
    if (jeprof_is_url(args[0])) {
        if (!jeprof_url_parse(args[0], &r->url))
            return err_set(err, ERR_INPUT, "%s: the URL has no host", args[0]);
        r->names_from_server = true;
        rc = jeprof_check_symbols(&r->url, err);
        if (!rc) r->program = jeprof_fetch_program(&r->url);
    } else if (n_args > 1 || is_object_file(args[0])) {
        /* The first argument is the program, unless it is the first of several profiles with their own names.
         */
        if (is_object_file(args[0]) || access(args[0], R_OK) != 0) {
            r->program = mem_strdup(args[0]);
            first = 1;
            if (access(r->program, R_OK) != 0)
                return err_set(err, ERR_IO, "%s: the program does not exist or cannot be read", r->program);
        }
        if (first == n_args)
            return err_set(err, ERR_INPUT, "%s is the program: Did not specify profile file (see --help)",
                           args[0]);
    }
    for (int i = first; i < n_args && !rc; i++) rc = add_source(r, args[i], 1, err);
    if (!rc && *r->options.base) rc = add_source(r, r->options.base, -1, err);
    if (rc) return rc;
    if (r->options.drop_negative) jeprof_profile_drop_negative(&r->profile);
    return find_names(r, err);
}

static int check_modes(const struct jeprof_options *o, struct err *err)
{
    int n_modes = o->text + o->callgrind + o->gv + o->evince + o->web + o->dot + o->ps + o->pdf + o->svg +
                  o->gif + o->raw + o->collapsed + o->symbols + o->interactive + (*o->list != 0) +
                  (*o->disasm != 0);
    int n_grains = o->addresses + o->lines + o->functions + o->files;
    if (n_modes > 1)
        return err_set(err, ERR_INPUT, "Only specify one output mode ('jeprof --help' lists them)");
    if (n_grains > 1)
        return err_set(err, ERR_INPUT, "Only specify one of --functions, --lines, --files and --addresses");
    return 0;
}

/* ---- --raw ---- */

static const char *kind_name(enum jeprof_kind kind)
{
    static const char *const names[] = {"profile", "heap", "growth", "contention"};
    return names[kind];
}

static void write_raw(const struct run *r, struct buf *out)
{
    const struct jeprof_profile *p = &r->profile;
    struct piece body = {(const char *)r->first_body.data, r->first_body.len};
    struct symbolized split;
    if (symbolized_split(body, &split)) body = split.body;
    buf_printf(out, "--- symbol\nbinary=%s\n", r->program ? r->program : p->binary ? p->binary : "");
    for (size_t i = 0; i < p->n_places; i++) {
        const struct jeprof_place *at = &p->places[i];
        if (!at->n_frames) continue;
        buf_printf(out, "0x%016llx ", (unsigned long long)at->address);
        for (uint32_t f = at->n_frames; f-- > 0;)
            buf_printf(out, "%s%s", strtab_get(&p->text, p->frames[at->first_frame + f].full).s,
                       f ? "--" : "\n");
    }
    buf_printf(out, "---\n--- %s\n", kind_name(p->kind));
    buf_add(out, body.s, body.n);
}

/* ---- --symbols ---- */

static int print_symbols(const char *program, const struct jeprof_options *options, struct err *err)
{
    struct bytes input;
    struct run r = {.options = *options};
    struct buf made = {0}, out = {0};
    int rc = file_read("-", (size_t)1 << 30, &input, err);
    if (rc) return rc;
    struct piece rest = {(const char *)input.data, input.len}, line, file, id;
    struct maps_entry entry;
    /* A made-up heap profile with one stack per address lets the normal code find the names. */
    buf_str(&made, "heap profile: 1: 1 [1: 1] @ heapprofile\n");
    struct buf map_lines = {0};
    uint64_t *addresses = NULL;
    size_t n = 0, cap = 0;
    while (text_line(&rest, &line)) {
        struct piece trimmed = piece_trim(line);
        uint64_t address;
        if (maps_parse_line(line, &entry, &file, &id) != MAPS_OTHER) {
            buf_add(&map_lines, line.s, line.n);
            buf_char(&map_lines, '\n');
        } else if (piece_take(&trimmed, "0x") && text_take_hex(&trimmed, &address) == TEXT_GOOD &&
                   !trimmed.n) {
            *VEC_PUSH(addresses, n, cap) = address;
            buf_printf(&made, "1: 1 [1: 1] @ 0x%llx\n", (unsigned long long)address);
        }
    }
    buf_printf(&made, "MAPPED_LIBRARIES:\n%s", buf_cstr(&map_lines));
    struct bytes bytes = {.data = (uint8_t *)made.data, .len = made.len};
    rc = jeprof_profile_add(&r.profile, &bytes, "standard input", program, &r.options, 1, &r.notes, err);
    if (!rc) jeprof_names_find(&r.names, &r.profile, &r.options, warn);
    struct idmap by_address = {0};
    for (size_t i = 0; i < r.profile.n_places; i++)
        *idmap_slot(&by_address, r.profile.places[i].address, NULL) = (uint32_t)i;
    for (size_t i = 0; i < n && !rc; i++) {
        uint32_t place = 0;
        idmap_find(&by_address, addresses[i], &place);
        const struct jeprof_place *at = &r.profile.places[place];
        for (uint32_t f = 0; f < at->n_frames && f < 1; f++)
            buf_str(&out, strtab_get(&r.profile.text, r.profile.frames[at->first_frame].short_id).s);
        buf_char(&out, '\n');
    }
    fwrite(out.data, 1, out.len, stdout);
    idmap_free(&by_address);
    mem_free(addresses);
    buf_free(&made);
    buf_free(&out);
    buf_free(&map_lines);
    bytes_free(&input);
    jeprof_names_free(&r.names);
    jeprof_profile_free(&r.profile);
    buf_free(&r.notes);
    return rc;
}

/* ---- reports ---- */

static int compare_threads(const void *a, const void *b)
{
    const struct jeprof_thread *const *x = a, *const *y = b;
    return (*x)->number < (*y)->number ? -1 : (*x)->number > (*y)->number;
}

static int report_threads(struct run *r, const struct jeprof_view *view, struct buf *out, struct err *err)
{
    const struct jeprof_profile *p = &r->profile;
    const struct jeprof_thread **sorted = mem_array(p->n_threads + 1, sizeof *sorted);
    bool all = !strcmp(r->options.thread, "*");
    int rc = 0;
    for (size_t i = 0; i < p->n_threads; i++) sorted[i] = &p->threads[i];
    qsort(sorted, p->n_threads, sizeof *sorted, compare_threads);
    for (size_t i = 0; i < p->n_threads && !rc; i++)
        if (all || sorted[i]->number == strtoll(r->options.thread, NULL, 10))
            rc = jeprof_report(view, &sorted[i]->sums, sorted[i]->number, out, err);
    mem_free(sorted);
    return rc;
}

static int report(struct run *r, struct err *err)
{
    struct jeprof_view view = {.profile = &r->profile,
                               .names = &r->names,
                               .options = &r->options,
                               .program = r->program ? r->program : r->profile.binary};
    struct jeprof_options *o = &r->options;
    bool chosen = o->text || o->callgrind || o->gv || o->evince || o->web || o->dot || o->ps || o->pdf ||
                  o->svg || o->gif || o->raw || o->collapsed || *o->list || *o->disasm;
    if (o->interactive || (!chosen && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)))
        return jeprof_shell(&view);
    bool is_binary = o->pdf || o->gif;
    if (is_binary && isatty(STDOUT_FILENO))
        return err_set(err, ERR_INPUT, "the output is not text; redirect it to a file (... > out.pdf)");
    struct buf out = buf_to_fd(STDOUT_FILENO);
    int rc = 0;
    if (o->raw)
        write_raw(r, &out);
    else
        rc = *o->thread ? report_threads(r, &view, &out, err)
                        : jeprof_report(&view, &r->profile.all, -1, &out, err);
    if (!rc && buf_flush(&out)) rc = err_set(err, ERR_IO, "standard output: %s", strerror(out.write_errno));
    buf_free(&out);
    return rc;
}

static void run_free(struct run *r)
{
    jeprof_names_free(&r->names);
    jeprof_profile_free(&r->profile);
    buf_free(&r->notes);
    mem_free(r->program);
    jeprof_url_free(&r->url);
    bytes_free(&r->first_body);
}

static int run_jeprof(int argc, char **argv)
{
    struct run r = {0};
    struct err err;
    int n_args = jeprof_options_parse(argc, argv, &r.options, &err);
    if (n_args < 0) {
        fprintf(stderr, "jeprof: %s ('jeprof --help' lists the options)\n", err.text);
        return 1;
    }
    if (r.options.help) {
        fputs(usage, stdout);
        return 0;
    }
    if (r.options.version) {
        printf("jeprof (procprof %s, compatible with jeprof of jemalloc 5.3)\n", PROCPROF_VERSION);
        return 0;
    }
    int rc = check_modes(&r.options, &err);
    if (!rc && r.options.test)
        rc = err_set(&err, ERR_UNSUPPORTED,
                     "--test checks the arithmetic of the Perl program, which procprof does not have");
    if (!rc && n_args < 1)
        rc = err_set(&err, ERR_INPUT, "Did not specify program ('jeprof --help' lists the options)");
    if (!rc && r.options.symbols) {
        rc = print_symbols(argv[1], &r.options, &err);
    } else if (!rc) {
        rc = load(&r, argv + 1, n_args, &err);
        if (!rc) {
            if (r.program && !r.names_from_server) fprintf(stderr, "Using local file %s.\n", r.program);
            fputs(buf_cstr(&r.notes), stderr);
            rc = report(&r, &err);
        }
    }
    run_free(&r);
    return rc ? fail(&err) : 0;
}

COMMAND(jeprof, "jeprof", "personality",
        "tables, graphs and a shell for heap, CPU and lock profiles, as jeprof", run_jeprof)
