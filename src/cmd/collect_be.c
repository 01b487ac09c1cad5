/* collect_be.c - `procprof collect` of a native server's profiling endpoints: once, or again and again. What
 * bin/collect_be_profile.sh is made of. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "cmd/background.h"
#include "cmd/collect.h"
#include "cmd/command.h"
#include "cmd/options.h"
#include "collect/fetch.h"
#include "serve/cluster/conf.h"
#include "serve/collector/node_capture.h"
#include "store/store.h"

enum { MAX_SECONDS = 3600, MAX_BYTES = 512 << 20 };

struct arguments {
    const char *be, *type, *output_dir, *be_conf, *token, *pid_file, *log_file;
    double duration_s, interval_s, cleanup_days;
    uint64_t cleanup_bytes;
    int64_t brpc_port;
    bool daemon, loop;
    /* worked out */
    char *url;    /* http://host:port */
    char *folder; /* DIR/proc_profile */
    enum profile_type types[PROFILE_N_TYPES];
    size_t n_types;
};

static volatile sig_atomic_t is_stopping;

static void stop(int signal_number)
{
    (void)signal_number;
    is_stopping = 1;
}

static void say(const char *level, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(const char *level, const char *format, ...)
{
    char when[32], text[600];
    time_t now = time(NULL);
    struct tm tm;
    va_list args;
    strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", localtime_r(&now, &tm));
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    FILE *to = strcmp(level, "ERROR") ? stdout : stderr;
    fprintf(to, "[%s] [%s] %s\n", when, level, text);
    fflush(to);
}

static int stop_when_told(void *context, size_t received, double elapsed_s)
{
    (void)context, (void)received, (void)elapsed_s;
    return is_stopping;
}

/* ---- one profile ---- */

static int post(void *context, const char *path, const char *body, struct bytes *ret_reply)
{
    const struct arguments *a = context;
    struct fetch_options how = {.post_body = body,
                                .timeout_s = 20,
                                .bearer_token = a->token,
                                .progress = stop_when_told,
                                .max_bytes = MAX_BYTES};
    char *url = mem_printf("%s%s", a->url, path);
    int bad = fetch(url, &how, ret_reply, NULL);
    mem_free(url);
    return bad;
}

static int get(const struct arguments *a, enum profile_type type, struct bytes *ret_body, struct err *err)
{
    struct err first = {0};
    int bad = ERR_NOT_FOUND;
    for (size_t i = 0; bad; i++) {
        char *path = capture_path(type, i, a->duration_s);
        if (!path) break;
        char *url = mem_printf("%s%s", a->url, path);
        struct fetch_options how = {.timeout_s = a->duration_s + 15,
                                    .max_bytes = MAX_BYTES,
                                    .bearer_token = a->token,
                                    .user_agent = "Go-http-client/1.1 (procprof)",
                                    .progress = stop_when_told};
        bad = fetch(url, &how, ret_body, i ? NULL : &first);
        mem_free(url);
        mem_free(path);
        if (!i && bad && !strstr(first.text, "404"))
            break; /* another spelling only helps where this one is unknown */
    }
    if (bad) *err = first;
    return bad;
}

static int write_profile(const struct arguments *a, enum profile_type type, int64_t begin_ms,
                         const void *data, size_t len, char *path, size_t size, struct err *err)
{
    struct profile_name name = {.type = type, .form = PROFILE_PPROF};
    char file[PROFILE_NAME_MAX];
    do { /* one of this second is there already: the next */
        profile_stamp(begin_ms, name.stamp);
        profile_name_print(&name, file);
        snprintf(path, size, "%s/%s", a->folder, file);
        begin_ms += 1000;
    } while (access(path, F_OK) == 0);
    return file_write_atomic(path, data, len, 0644, err);
}

static int collect_one(struct arguments *a, enum profile_type type)
{
    struct bytes body = {0}, packed = {0};
    struct profile *p = NULL;
    struct err err = {0};
    const char *format = "";
    char path[1024];
    int64_t begin_ms = clock_wall_ns() / 1000000;
    say("INFO", "collecting %s profile for %g s from %s", profile_type_name(type), a->duration_s, a->url);
    int bad = get(a, type, &body, &err);
    if (!bad) bad = capture_check(body.data, body.len, "", type, &p, &format, &err);
    if (!bad) {
        capture_pack(p, format, &body, type, begin_ms, a->duration_s, post, a, &packed);
        const struct bytes *file = packed.data ? &packed : &body;
        bad = write_profile(a, type, begin_ms, file->data, file->len, path, sizeof path, &err);
    }
    if (!bad)
        say("INFO", "wrote %s (%lld samples)", path, (long long)capture_samples(p, type));
    else if (bad == CAPTURE_EMPTY)
        say("INFO", "kept no profile: %s", err.text);
    else if (!is_stopping)
        say("ERROR", "no %s profile: %s", profile_type_name(type), err.text);
    profile_free(p);
    bytes_free(&body);
    bytes_free(&packed);
    return bad < 0 ? 1 : 0;
}

static int is_reachable(const struct arguments *a)
{
    struct fetch_options how = {
        .timeout_s = 5, .bearer_token = a->token, .progress = stop_when_told, .max_bytes = 1 << 20};
    struct bytes body = {0};
    struct err err = {0};
    char *url = mem_printf("%s/pprof/cmdline", a->url);
    int bad = fetch(url, &how, &body, &err);
    bool answers = !bad || strstr(err.text, "server response"); /* any answer is one */
    bytes_free(&body);
    mem_free(url);
    if (!answers) say("ERROR", "%s does not answer: %s", a->url, err.text);
    return answers;
}

static void clean_up(const struct arguments *a)
{
    struct store_limits limits = {.max_age_ms = (int64_t)(a->cleanup_days * 86400000),
                                  .max_bytes = (int64_t)a->cleanup_bytes};
    size_t n = store_retain_folder(a->folder, &limits, clock_wall_ns() / 1000000);
    if (n) say("INFO", "removed %zu old profiles", n);
}

static int collect_all(struct arguments *a)
{
    int status = 0;
    for (size_t i = 0; i < a->n_types && !is_stopping; i++) status |= collect_one(a, a->types[i]);
    clean_up(a);
    return status;
}

/* ---- again and again ---- */

static void wait_s(double seconds)
{
    int64_t until_ns = clock_monotonic_ns() + (int64_t)(seconds * 1e9);
    for (int64_t left; !is_stopping && (left = until_ns - clock_monotonic_ns()) > 0;)
        clock_sleep_ns(left < 200000000 ? left : 200000000);
}

static int collect_always(struct arguments *a)
{
    unsigned failures = 0;
    while (!is_stopping) {
        int status = is_reachable(a) ? collect_all(a) : 1;
        clean_up(a); /* also while nothing can be collected */
        failures = status ? failures + 1 : 0;
        double wait = a->interval_s;
        for (unsigned i = 1; i < failures && wait < 60; i++) wait *= 2;
        wait_s(wait > 60 && a->interval_s < 60 ? 60 : wait);
    }
    return 0;
}

/* A pid file names a live collector: not a second one. */
static bool is_running(const char *pid_file)
{
    struct bytes bytes;
    if (access(pid_file, F_OK) || file_read(pid_file, 64, &bytes, NULL)) return false;
    char text[65];
    snprintf(text, sizeof text, "%.*s", (int)bytes.len, (const char *)bytes.data);
    bytes_free(&bytes);
    int pid = atoi(text);
    bool alive = pid > 0 && (kill(pid, 0) == 0 || errno == EPERM);
    if (alive)
        say("ERROR", "already running with pid %d (%s)", pid, pid_file);
    else
        unlink(pid_file);
    return alive;
}

static int become_daemon(const struct arguments *a)
{
    int log = open(a->log_file ? a->log_file : "/dev/null", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (log < 0) return command_failf("cannot open the log %s: %s", a->log_file, strerror(errno));
    fflush(stdout);
    pid_t child = fork();
    if (child < 0) return command_failf("cannot start a background process: %s", strerror(errno));
    if (child > 0) {
        if (a->pid_file) {
            struct err err;
            if (background_write_pid(a->pid_file, child, &err)) {
                kill(child, SIGTERM);
                exit(command_fail(&err));
            }
        }
        say("INFO", "collecting in the background, pid %d", (int)child);
        exit(0);
    }
    background_detach(log);
    prctl(PR_SET_NAME, "collect_be_prof"); /* what stop_be.sh looks for before it ends a process */
    return 0;
}

/* ---- options ---- */

static void warn(const char *text)
{
    command_warnf("%s", text);
}

static bool parse_types(struct arguments *a)
{
    char *copy = mem_strdup(a->type), *rest = NULL;
    bool good = true;
    if (!strcmp(copy, "both")) {
        a->types[a->n_types++] = PROFILE_CPU;
        a->types[a->n_types++] = PROFILE_CONTENTION;
    } else {
        for (char *word = strtok_r(copy, ",", &rest); word && good; word = strtok_r(NULL, ",", &rest))
            good = a->n_types < PROFILE_N_TYPES && profile_type_parse(word, &a->types[a->n_types]) &&
                   ++a->n_types;
    }
    mem_free(copy);
    return good && a->n_types;
}

/* Command line, then environment, then be.conf, then presets. */
static int work_out(struct arguments *a, struct err *err)
{
    struct conf conf = {0};
    int bad = a->be_conf ? conf_read(&conf, a->be_conf, CONF_BE_FILE, warn, err) : 0;
    if (bad) return conf_free(&conf), bad;
    const char *home = getenv("STARROCKS_HOME"), *interval = getenv("COLLECT_BE_PROFILE_INTERVAL");
    if (a->brpc_port < 0) a->brpc_port = conf_int(&conf, CONF_BRPC_PORT);
    if (!(a->interval_s > 0)) {
        a->interval_s = (double)conf_int(&conf, CONF_COLLECT_BE_PROFILE_INTERVAL);
        if (interval && atoi(interval) > 0) a->interval_s = atoi(interval);
    }
    char *base = a->output_dir                            ? mem_strdup(a->output_dir)
                 : *conf_text(&conf, CONF_BE_SYS_LOG_DIR) ? mem_strdup(conf_text(&conf, CONF_BE_SYS_LOG_DIR))
                 : home && *home                          ? mem_printf("%s/log", home)
                                                          : mem_strdup(".");
    a->folder = mem_printf("%s/proc_profile", base);
    mem_free(base);
    conf_free(&conf);
    if (!a->be)
        a->url = mem_printf("http://127.0.0.1:%lld", (long long)a->brpc_port);
    else if (fetch_is_url(a->be))
        a->url = mem_strdup(a->be);
    else
        a->url = mem_printf("http://%s", a->be);
    for (size_t n = strlen(a->url); n && a->url[n - 1] == '/';) a->url[--n] = 0;
    if (!parse_types(a))
        return err_set(err, ERR_INPUT,
                       "--profiling-type %.40s: must be cpu, contention or both (or mem, heap, wall)",
                       a->type);
    if (!(a->duration_s >= 1) || a->duration_s > MAX_SECONDS)
        return err_set(err, ERR_INPUT, "--duration must be between 1 and %d seconds", MAX_SECONDS);
    if (a->interval_s > 86400) return err_set(err, ERR_INPUT, "--interval must be at most a day");
    if (a->brpc_port < 1 || a->brpc_port > 65535)
        return err_set(err, ERR_INPUT, "--brpc-port must be 1 to 65535");
    if (!(a->cleanup_days >= 0) || a->cleanup_days > 36500)
        return err_set(err, ERR_INPUT, "--cleanup-days must be 0 to 36500");
    bad = file_make_dirs(a->folder, 0755, err);
    if (!bad && access(a->folder, W_OK)) bad = err_errno(err, errno, "cannot write to %s", a->folder);
    return bad;
}

int collect_be_run(int argc, char **argv)
{
    struct arguments a = {
        .type = "cpu", .duration_s = 10, .cleanup_days = 1, .cleanup_bytes = 2147483648u, .brpc_port = -1};
    struct option table[] = {
        {0, "be", OPTION_TEXT, &a.be, "HOST:PORT",
         "address of the profiling endpoints (this host's brpc port)"},
        {0, "profiling-type", OPTION_TEXT, &a.type, "TYPE",
         "cpu, contention or both; also mem, heap, wall, with commas (cpu)"},
        {0, "duration", OPTION_DURATION, &a.duration_s, "TIME", "length of one capture (10s)"},
        {0, "interval", OPTION_DURATION, &a.interval_s, "TIME",
         "time between captures (60s, or COLLECT_BE_PROFILE_INTERVAL of the environment or be.conf)"},
        {0, "output-dir", OPTION_TEXT, &a.output_dir, "DIR",
         "profiles go into its folder proc_profile (sys_log_dir of be.conf)"},
        {0, "be-conf", OPTION_TEXT, &a.be_conf, "FILE",
         "be.conf: brpc_port, sys_log_dir, COLLECT_BE_PROFILE_INTERVAL"},
        {0, "brpc-port", OPTION_INT, &a.brpc_port, "PORT", "brpc port of this host's backend (8060)"},
        {0, "cleanup-days", OPTION_NUMBER, &a.cleanup_days, "DAYS",
         "remove profiles older than this many days of 24 hours (1)"},
        {0, "cleanup-size", OPTION_SIZE, &a.cleanup_bytes, "BYTES",
         "remove the oldest profiles until all take less (2 GiB)"},
        {0, "loop", OPTION_FLAG, &a.loop, NULL, "repeat until a signal"},
        {0, "daemon", OPTION_FLAG, &a.daemon, NULL, "repeat in the background"},
        {0, "pid-file", OPTION_TEXT, &a.pid_file, "FILE",
         "pid file of the daemon; a second daemon is refused"},
        {0, "log-file", OPTION_TEXT, &a.log_file, "FILE", "log file of the daemon"},
        {0, "token", OPTION_TEXT, &a.token, "TEXT", "sent as Authorization: Bearer"},
        {0}};
    static const struct options_help help = {
        .usage = "procprof collect [--be HOST:PORT] [OPTIONS]",
        .text =
            "Profiles a native server through its endpoints (libprocprof, brpc, StarRocks, Go). Files get "
            "the "
            "names that pages\nand scripts of StarRocks expect. An answer that is not a profile is not kept.",
        .examples =
            "  procprof collect --be 127.0.0.1:8060 --profiling-type both --output-dir log\n"
            "  procprof collect --be-conf conf/be.conf --daemon --pid-file be.pid --log-file be.log\n"};
    int n = options_parse(argc, argv, table, &help);
    if (n < 0) return n == OPTIONS_DONE ? 0 : 2;
    if (n > 0)
        return command_failf("collect: unexpected argument '%s'; 'procprof collect --help' lists the options",
                             argv[1]),
               2;
    struct err err = {0};
    if (work_out(&a, &err)) return say("ERROR", "%s", err.text), 1;
    struct sigaction action = {.sa_handler = stop};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    int status;
    if (a.daemon) {
        if (a.pid_file && is_running(a.pid_file)) return 1;
        status = become_daemon(&a);
        if (status) return status;
        status = collect_always(&a);
        if (a.pid_file) unlink(a.pid_file);
    } else if (a.loop) {
        status = collect_always(&a);
    } else {
        status = is_reachable(&a) ? collect_all(&a) : 1;
    }
    mem_free(a.url);
    mem_free(a.folder);
    return status;
}
