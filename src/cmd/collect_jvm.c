/* collect_jvm.c - `procprof collect --jvm`: CPU, allocations, locks and wall clock of a running JVM into a
 * file. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compress/pack.h"
#include "base/file.h"
#include "base/mem.h"
#include "cmd/collect.h"
#include "cmd/command.h"
#include "cmd/options.h"
#include "collect/jvm_collect.h"
#include "collect/jvm_find.h"
#include "format/format.h"
#include "profile/unit.h"
#include "report/flame/fe_archive.h"
#include "report/flame/flame_html.h"
#include "report/flame/flame_svg.h"

struct arguments {
    const char *target, *events, *output, *html, *svg, *archive, *engine, *library, *jfr, *sample;
    double duration_s, wait_s, cpu_interval_s, wall_interval_s, lock_interval_s;
    uint64_t alloc_interval_bytes, memory_limit_bytes;
    int64_t jstack_depth;
    bool quiet;
};

static volatile sig_atomic_t is_interrupted;

static void interrupt(int signal_number)
{
    (void)signal_number;
    is_interrupted = 1;
}

static bool is_cancelled(void *context)
{
    (void)context;
    return is_interrupted;
}

struct display {
    bool quiet, is_terminal, is_sampling;
    pid_t pid;
    const char *events;
};

static void show_progress(void *context, double elapsed_s, double duration_s, const char *doing)
{
    struct display *d = context;
    bool begins = !strcmp(doing, "sampling") && !d->is_sampling;
    if (begins) d->is_sampling = true;
    if (d->quiet) return;
    if (!d->is_terminal) {
        if (begins) fprintf(stderr, "sampling JVM %d (%s) for %g s\n", (int)d->pid, d->events, duration_s);
        return;
    }
    char bar[41];
    int full = duration_s > 0 ? (int)(elapsed_s / duration_s * 40) : 40;
    for (int i = 0; i < 40; i++) bar[i] = i < full ? '#' : '.';
    bar[40] = 0;
    fprintf(stderr, "\r%s %5.1f of %g s  %-10s", bar, elapsed_s, duration_s, doing);
    fflush(stderr);
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && !strcmp(text + n - m, end);
}

/* ---- the outputs ---- */

static int write_proto(const struct profile *p, const char *path, struct err *err)
{
    struct buf out = {0};
    struct bytes packed = {0};
    format_write_proto(p, &out);
    if (!ends_with(path, ".pb")) pack_gzip(out.data, out.len, 6, &packed);
    const void *data = packed.data ? (const void *)packed.data : out.data;
    int rc = file_write_atomic(path, data, packed.data ? packed.len : out.len, 0644, err);
    bytes_free(&packed);
    buf_free(&out);
    return rc;
}

static int write_html(const struct profile *p, const char *title, const char *sample, const char *path,
                      struct err *err)
{
    struct buf out = {0};
    struct flame_html_options page = {.data = {.title = title, .sample_type = sample}};
    int rc = flame_html_write(p, &page, &out, err);
    if (rc == 0) rc = file_write_atomic(path, out.data, out.len, 0644, err);
    buf_free(&out);
    return rc;
}

static int write_svg(const struct profile *p, const char *title, const char *sample, const char *path,
                     struct err *err)
{
    int index = sample ? profile_sample_index(p, sample) : (int)profile_default_sample_index(p);
    if (index < 0) return err_set(err, ERR_INPUT, "the profile has no sample type '%.60s'", sample);
    struct flame_layout layout;
    struct flame_layout_options layout_options = {.min_fraction = 0.1 / 1180};
    struct flame_svg_options svg = {.title = title,
                                    .palette = "java",
                                    .type = profile_text(p, p->sample_types[index].type),
                                    .unit = profile_text(p, p->sample_types[index].unit)};
    struct buf out = {0};
    flame_layout_profile(p, (size_t)index, &layout_options, &layout);
    flame_svg_write(&layout, &svg, &out);
    flame_layout_free(&layout);
    int rc = file_write_atomic(path, out.data, out.len, 0644, err);
    buf_free(&out);
    return rc;
}

static int write_archives(const struct jvm_collected *got, unsigned events, const char *folder, bool quiet,
                          struct err *err)
{
    static const struct {
        unsigned event;
        const char *type, *sample;
    } kinds[] = {{JVM_EVENT_CPU, "cpu", "cpu"}, {JVM_EVENT_ALLOC, "mem", "alloc_space"}};
    int rc = 0;
    for (size_t i = 0; i < 2 && rc == 0; i++) {
        char path[512];
        if (!(events & kinds[i].event)) continue;
        const struct fe_archive_options archive = {
            .type = kinds[i].type,
            .sample_type = profile_sample_index(got->profile, kinds[i].sample) >= 0 ? kinds[i].sample : NULL,
            .start_ns = got->start_ns};
        rc = fe_archive_write(got->profile, &archive, folder, path, err);
        if (rc == 0 && !quiet) fprintf(stderr, "wrote %s\n", path);
    }
    return rc;
}

static int write_one(const struct profile *p, const struct arguments *a, const char *title, const char *path,
                     struct err *err)
{
    int rc = ends_with(path, ".html")  ? write_html(p, title, a->sample, path, err)
             : ends_with(path, ".svg") ? write_svg(p, title, a->sample, path, err)
                                       : write_proto(p, path, err);
    if (rc == 0 && !a->quiet) fprintf(stderr, "wrote %s\n", path);
    return rc;
}

/* "cpu 450ms (45 samples), alloc_space 73.50MB (1996281 objects); nothing of lock" */
static void print_totals(const struct profile *p, unsigned events)
{
    static const struct {
        unsigned event;
        const char *name, *type;
    } asked[] = {{JVM_EVENT_CPU, "cpu", "cpu"},
                 {JVM_EVENT_ALLOC, "alloc", "alloc_space"},
                 {JVM_EVENT_LOCK, "lock", "delay"},
                 {JVM_EVENT_WALL, "wall", "wall"},
                 {JVM_EVENT_LIVE, "live", "inuse_space"},
                 {JVM_EVENT_NATIVEMEM, "nativemem", "malloc_space"},
                 {JVM_EVENT_NATIVELOCK, "nativelock", "native_delay"}};
    const char *between = "";
    for (size_t t = 0; t < p->n_sample_types && p->n_samples; t++) {
        const char *name = profile_text(p, p->sample_types[t].type);
        const char *unit = profile_text(p, p->sample_types[t].unit);
        bool is_count = !strcmp(unit, "count");
        if (is_count && t + 1 < p->n_sample_types &&
            strcmp(profile_text(p, p->sample_types[t + 1].unit), "count") != 0)
            continue; /* told behind the value */
        char text[UNIT_LABEL_BYTES];
        fprintf(stderr, "%s%s %s", between, name, unit_label(profile_total(p, t), unit, "auto", text));
        if (!is_count && t) {
            const char *counted = profile_text(p, p->sample_types[t - 1].type), *noun = strrchr(counted, '_');
            fprintf(stderr, " (%lld %s)", (long long)profile_total(p, t - 1), noun ? noun + 1 : counted);
        }
        between = ", ";
    }
    between = *between ? "; nothing of " : "nothing of ";
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        int type = profile_sample_index(p, asked[i].type);
        if (!(events & asked[i].event) || (type >= 0 && p->n_samples)) continue;
        fprintf(stderr, "%s%s", between, asked[i].name);
        between = ", ";
    }
    fprintf(stderr, "\n");
}

/* The file named by --html or --svg; "": named after the profile. NULL when it is not asked for; else
 * mem_free. */
static char *beside(const char *given, const char *profile, const char *ending)
{
    static const char *const endings[] = {".pb.gz", ".pb", ".jfr", ".html", ".svg"};
    if (!given) return NULL;
    if (*given) return mem_strdup(given);
    size_t n = strlen(profile);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (ends_with(profile, endings[i])) {
            n -= strlen(endings[i]);
            break;
        }
    return mem_printf("%.*s%s", (int)n, profile, ending);
}

/* "--html" and "--svg" may stand without a file: before another option, or last. */
static char **with_files(int argc, char **argv)
{
    char **words = mem_array((size_t)argc + 1, sizeof *words);
    for (int i = 0; i < argc; i++) {
        bool is_alone = i + 1 == argc || (argv[i + 1][0] == '-' && argv[i + 1][1]);
        words[i] = is_alone && !strcmp(argv[i], "--html")  ? (char *)"--html="
                   : is_alone && !strcmp(argv[i], "--svg") ? (char *)"--svg="
                                                           : argv[i];
    }
    words[argc] = NULL;
    return words;
}

static int write_all(struct arguments *a, unsigned events, const struct jvm_proc *proc,
                     const struct jvm_collected *got, struct err *err)
{
    struct jvm_about about;
    char stamp[32], title[400], own_name[96];
    time_t start_s = (time_t)(got->start_ns / 1000000000);
    struct tm local;
    jvm_proc_about(proc, &about);
    strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", localtime_r(&start_s, &local));
    snprintf(title, sizeof title, "JVM %d %.256s %s", (int)proc->pid, about.main_name, stamp);
    int rc = 0;
    snprintf(own_name, sizeof own_name, "jvm-%d-%s.pb.gz", (int)proc->pid, stamp);
    if (!a->output && !a->html && !a->svg && !a->archive && !a->jfr) a->output = own_name;
    char *html = beside(a->html, a->output ? a->output : own_name, ".html");
    char *svg = beside(a->svg, a->output ? a->output : own_name, ".svg");
    if (a->output && !ends_with(a->output, ".jfr")) rc = write_one(got->profile, a, title, a->output, err);
    if (rc == 0 && html) {
        rc = write_html(got->profile, title, a->sample, html, err);
        if (rc == 0 && !a->quiet) fprintf(stderr, "wrote %s\n", html);
    }
    if (rc == 0 && svg) {
        rc = write_svg(got->profile, title, a->sample, svg, err);
        if (rc == 0 && !a->quiet) fprintf(stderr, "wrote %s\n", svg);
    }
    mem_free(html);
    mem_free(svg);
    if (rc == 0 && a->archive) rc = write_archives(got, events, a->archive, a->quiet, err);
    return rc;
}

/* Somebody else's session is never touched; the server's own follow each other with a second between them, so
 * who waits gets his turn. */
static int collect_in_turn(const struct jvm_proc *proc, const struct jvm_collect_options *options,
                           const struct arguments *a, struct jvm_collected *got, struct err *err)
{
    enum { LOOK_MS = 400 }; /* shorter than the time between two sessions of the server */
    int64_t until_ns = clock_monotonic_ns() + (int64_t)(a->wait_s * 1e9);
    bool is_told = false;
    for (;;) {
        int rc = jvm_collect(proc, options, got, err);
        if (rc != ERR_BUSY || is_interrupted || clock_monotonic_ns() >= until_ns) return rc;
        if (!is_told && !a->quiet)
            fprintf(stderr, "%s; waiting up to %g s for its end (--wait)\n", err->text, a->wait_s);
        is_told = true;
        poll(NULL, 0, LOOK_MS);
    }
}

int collect_jvm_run(int argc, char **argv)
{
    struct arguments a = {.events = "cpu", .engine = "auto", .duration_s = 30, .wait_s = 150};
    const struct option table[] = {
        {0, "jvm", OPTION_TEXT, &a.target, "JVM", "a pid, a part of the main class, or :PORT"},
        {'e', "event", OPTION_TEXT, &a.events, "LIST",
         "cpu, alloc, lock, wall, live, nativemem, nativelock (cpu)"},
        {'d', "duration", OPTION_DURATION, &a.duration_s, "TIME",
         "length of the capture (30s); Ctrl-C ends it early and keeps what it has"},
        {'o', "output", OPTION_TEXT, &a.output, "FILE",
         "profile: .pb.gz, .pb, .html, .svg or .jfr (jvm-PID-TIME.pb.gz)"},
        {0, "html", OPTION_TEXT, &a.html, "[FILE]", "also a page with the full viewer (beside the profile)"},
        {0, "svg", OPTION_TEXT, &a.svg, "[FILE]", "also a flame graph (beside the profile)"},
        {0, "archive", OPTION_TEXT, &a.archive, "DIR",
         "also cpu-profile-TIME.html.tar.gz, mem-profile-... as StarRocks keeps them"},
        {'s', "sample", OPTION_TEXT, &a.sample, "TYPE",
         "value that pages and pictures show first: cpu, alloc_space, delay, wall ..."},
        {0, "interval", OPTION_DURATION, &a.cpu_interval_s, "TIME", "CPU time between samples (10ms)"},
        {0, "wall-interval", OPTION_DURATION, &a.wall_interval_s, "TIME",
         "time between samples of all threads (50ms)"},
        {0, "alloc-interval", OPTION_SIZE, &a.alloc_interval_bytes, "SIZE",
         "bytes allocated between samples (512k)"},
        {0, "lock-interval", OPTION_DURATION, &a.lock_interval_s, "TIME", "waiting between samples (10us)"},
        {0, "jstackdepth", OPTION_INT, &a.jstack_depth, "N", "deepest stack that is kept (2048)"},
        {0, "memlimit", OPTION_SIZE, &a.memory_limit_bytes, "SIZE",
         "memory the profiler may take in the JVM (256m)"},
        {0, "engine", OPTION_TEXT, &a.engine, "NAME",
         "auto, async-profiler, or jfr (the JVM's flight recorder)"},
        {0, "async-profiler", OPTION_TEXT, &a.library, "FILE", "libasyncProfiler.so to use"},
        {0, "jfr", OPTION_TEXT, &a.jfr, "FILE", "also keep the recording itself"},
        {0, "wait", OPTION_DURATION, &a.wait_s, "TIME",
         "wait for another session of this JVM to end (150s); 0: refuse at once"},
        {'q', "quiet", OPTION_FLAG, &a.quiet, NULL, "print only errors"},
        {0},
    };
    static const struct options_help help = {
        .usage = "procprof collect --jvm JVM [OPTIONS]",
        .text = "Profiles a running JVM without a restart. Several events make one session and one profile.",
        .examples =
            "  procprof collect --jvm 4711 --event cpu,alloc,lock,wall --duration 30 -o fe.pb.gz\n"
            "  procprof collect --jvm StarRocksFE --html fe.html\n"
            "  procprof collect --jvm :8030 --event cpu,alloc --duration 120 --archive log/proc_profile\n",
    };
    char **words = with_files(argc, argv);
    int n = options_parse(argc, words, table, &help);
    if (n > 0)
        command_failf("collect: unexpected argument '%s'; 'procprof collect --help' lists the options",
                      words[1]);
    mem_free(words);
    if (n) return n == OPTIONS_DONE ? 0 : 2;
    if (!a.target) return command_failf("collect: --jvm needs a pid, a main class or :PORT"), 2;
    struct err err;
    unsigned events;
    struct jvm_collect_options options = {.is_cancelled = is_cancelled, .progress = show_progress};
    if (jvm_events_parse(a.events, &events, &err) < 0 ||
        jvm_engine_parse(a.engine, &options.engine, &err) < 0)
        return command_fail(&err), 2;
    if (!(a.duration_s > 0) || a.duration_s > 86400)
        return command_failf("collect: --duration must be above 0 and at most a day"), 2;
    if (!(a.wait_s >= 0) || a.wait_s > 86400) return command_failf("collect: --wait must be 0 to a day"), 2;
    if (a.jstack_depth < 0 || a.jstack_depth > 65536)
        return command_failf("collect: --jstackdepth must be 1 to 65536"), 2;
    struct jvm_proc proc;
    if (jvm_find(a.target, &proc, &err) < 0) return command_fail(&err);
    struct display display = {
        .quiet = a.quiet, .is_terminal = isatty(2), .pid = proc.pid, .events = a.events};
    options.events = events;
    options.duration_s = a.duration_s;
    options.library = a.library;
    options.jstack_depth = (unsigned)a.jstack_depth;
    options.cpu_interval_s = a.cpu_interval_s;
    options.wall_interval_s = a.wall_interval_s;
    options.lock_interval_s = a.lock_interval_s;
    options.alloc_interval_bytes = a.alloc_interval_bytes;
    options.memory_limit_bytes = a.memory_limit_bytes;
    options.keep_jfr = a.jfr ? a.jfr : a.output && ends_with(a.output, ".jfr") ? a.output : NULL;
    options.context = &display;
    /* The second Ctrl-C ends the program as usual. */
    struct sigaction action = {.sa_handler = interrupt, .sa_flags = (int)SA_RESETHAND};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    struct jvm_collected got;
    int rc = collect_in_turn(&proc, &options, &a, &got, &err);
    if (display.is_terminal && !a.quiet) fprintf(stderr, "\r%70s\r", "");
    if (rc < 0) return command_fail(&err);
    if (*got.note) command_warnf("%s", got.note);
    if (!a.quiet) print_totals(got.profile, events);
    if (options.keep_jfr && !a.quiet) fprintf(stderr, "wrote %s\n", options.keep_jfr);
    rc = write_all(&a, events, &proc, &got, &err);
    profile_free(got.profile);
    return rc < 0 ? command_fail(&err) : 0;
}
