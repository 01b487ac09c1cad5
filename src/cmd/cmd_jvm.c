/* cmd_jvm.c - `procprof jvm`: small questions to the JVMs of this host. */
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cmd/command.h"
#include "cmd/options.h"
#include "collect/jvm_attach.h"
#include "collect/jvm_find.h"
#include "collect/jvm_threads.h"

static double uptime_s(uint64_t start_ticks)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (double)now.tv_sec - (double)start_ticks / (double)sysconf(_SC_CLK_TCK);
}

static void print_duration(double seconds)
{
    long s = seconds > 0 ? (long)seconds : 0;
    char text[32];
    if (s >= 86400)
        snprintf(text, sizeof text, "%ldd%02ldh", s / 86400, s / 3600 % 24);
    else if (s >= 3600)
        snprintf(text, sizeof text, "%ldh%02ldm", s / 3600, s / 60 % 60);
    else
        snprintf(text, sizeof text, "%ldm%02lds", s / 60, s % 60);
    printf("%8s", text);
}

static int run_list(int argc, char **argv)
{
    static const struct options_help help = {
        .usage = "procprof jvm list",
        .text =
            "Lists the JVMs of this host, containers included, without attaching to them. PORTS are the TCP "
            "ports they listen on.",
    };
    int n = options_parse(argc, argv, (struct option[]){{0}}, &help);
    if (n < 0) return n == OPTIONS_DONE ? 0 : 2;
    struct jvm_list list = {0};
    jvm_list_all(&list);
    if (list.n_items)
        printf("%8s %-10s %-10s %8s %8s %7s %-16s %s\n", "PID", "USER", "JAVA", "UP", "RSS MB", "THREADS",
               "PORTS", "MAIN");
    for (size_t i = 0; i < list.n_items; i++) {
        const struct jvm_info *one = &list.items[i];
        struct passwd *user = getpwuid(one->proc.euid);
        char user_text[32], port_text[64] = "";
        snprintf(user_text, sizeof user_text, "%u", (unsigned)one->proc.euid);
        unsigned ports[8];
        size_t n_ports = jvm_listening_ports(one->proc.pid, ports, 8);
        for (size_t p = 0, at = 0; p < n_ports && p < 8 && at < sizeof port_text; p++)
            at += (size_t)snprintf(port_text + at, sizeof port_text - at, "%s%u", p ? "," : "", ports[p]);
        printf("%8d %-10.10s %-10s ", (int)one->proc.pid, user ? user->pw_name : user_text,
               *one->about.version ? one->about.version : "?");
        print_duration(uptime_s(one->proc.start_ticks));
        printf(" %8.1f %7d %-16s %.120s\n", (double)one->proc.rss_bytes / 1048576.0, one->proc.n_threads,
               *port_text ? port_text : "-", *one->about.command ? one->about.command : "?");
    }
    if (!list.n_items) printf("no JVM runs here\n");
    if (list.n_unreadable && geteuid() != 0)
        command_warnf("%zu processes of other users are not readable; run as root to see all",
                      list.n_unreadable);
    jvm_list_free(&list);
    return 0;
}

static int run_threads(int argc, char **argv)
{
    double interval_s = 1, timeout_s = 10;
    int64_t limit = 0;
    bool raw = false;
    const struct option table[] = {
        {'i', "interval", OPTION_DURATION, &interval_s, "TIME",
         "measure CPU over this time (1s); 0: do not measure"},
        {'n', "limit", OPTION_INT, &limit, "N", "show the N busiest only"},
        {0, "raw", OPTION_FLAG, &raw, NULL, "print the JVM's own thread dump"},
        {0, "timeout", OPTION_DURATION, &timeout_s, "TIME", "give up if the JVM does not answer (10s)"},
        {0},
    };
    static const struct options_help help = {
        .usage = "procprof jvm threads [OPTIONS] PID|NAME|:PORT",
        .text = "Shows which threads use the CPU and where they are, as top -H and jstack in one table.",
        .examples = "  procprof jvm threads StarRocksFE\n  procprof jvm threads --raw :8030 > dump.txt\n",
    };
    int n = options_parse(argc, argv, table, &help);
    if (n < 0) return n == OPTIONS_DONE ? 0 : 2;
    if (n != 1) return command_failf("jvm threads: name one JVM by pid, main class or :port"), 2;
    struct err err;
    struct jvm_proc proc;
    struct jvm_threads threads = {0};
    const struct jvm_attach_options options = {.timeout_s = timeout_s};
    if (jvm_find(argv[1], &proc, &err) < 0 ||
        jvm_threads_read(&proc, raw ? 0 : interval_s, &options, &threads, &err) < 0)
        return command_fail(&err);
    if (raw) {
        fwrite(threads.dump.data, 1, threads.dump.len, stdout);
    } else {
        printf("%8s %6s %-14s %-40s %s\n", "TID", "CPU%", "STATE", "NAME", "AT");
        for (size_t i = 0; i < threads.n_items && (limit <= 0 || (int64_t)i < limit); i++) {
            const struct jvm_thread *t = &threads.items[i];
            printf("%8d %6.1f %-14s %-40.40s %s\n", t->tid, t->cpu_share * 100, t->state, t->name, t->top);
        }
    }
    jvm_threads_free(&threads);
    return 0;
}

static int run_jcmd(int argc, char **argv)
{
    /* What follows the target belongs to the JVM, dashes and all. */
    double timeout_s = 60;
    const struct option table[] = {
        {0, "timeout", OPTION_DURATION, &timeout_s, "TIME", "give up if the JVM does not answer (60s)"}, {0}};
    static const struct options_help help = {
        .usage = "procprof jvm jcmd [--timeout TIME] PID|NAME|:PORT [COMMAND [ARGUMENT...]]",
        .text =
            "Sends a diagnostic command to the JVM; no JDK is needed. Without a command, lists the commands "
            "that the JVM knows.",
        .examples =
            "  procprof jvm jcmd 4711 VM.flags\n  procprof jvm jcmd StarRocksFE GC.class_histogram -all\n",
    };
    int own = 1;
    while (own < argc && argv[own][0] == '-' && strcmp(argv[own], "--"))
        own += !strcmp(argv[own], "--timeout") ? 2 : 1;
    if (own > argc) own = argc;
    char **own_words = mem_array((size_t)own + 1, sizeof *own_words);
    memcpy(own_words, argv, (size_t)own * sizeof *own_words);
    own_words[own] = NULL;
    int n = options_parse(own, own_words, table, &help);
    mem_free(own_words);
    if (n < 0) return n == OPTIONS_DONE ? 0 : 2;
    if (own < argc && !strcmp(argv[own], "--")) own++;
    if (own >= argc) return command_failf("jvm jcmd: name a JVM by pid, main class or :port"), 2;
    struct buf command = {0}, reply = {0};
    for (int i = own + 1; i < argc; i++) {
        if (i > own + 1) buf_char(&command, ' ');
        buf_str(&command, argv[i]);
    }
    if (!command.len) buf_str(&command, "help");
    struct err err;
    struct jvm_proc proc;
    const struct jvm_attach_options options = {.timeout_s = timeout_s};
    int rc = jvm_find(argv[own], &proc, &err);
    if (rc == 0) rc = jvm_jcmd(&proc, buf_cstr(&command), &options, &reply, &err);
    int status = rc < 0 ? command_fail(&err) : 0;
    /* Of an answer that is a refusal, the message has the first line. */
    size_t said = rc < 0 ? strcspn(buf_cstr(&reply), "\n") : 0;
    if (rc < 0 && said < reply.len) said++;
    fwrite(buf_cstr(&reply) + said, 1, reply.len - said, rc == 0 ? stdout : stderr);
    buf_free(&command);
    buf_free(&reply);
    return status;
}

static int run_jvm(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(int argc, char **argv);
        const char *summary;
    } parts[] = {{"list", run_list, "list the JVMs of this host"},
                 {"threads", run_threads, "show the threads of a JVM: CPU, state, position"},
                 {"jcmd", run_jcmd, "send a diagnostic command to a JVM"}};
    for (size_t i = 0; argc > 1 && i < sizeof parts / sizeof *parts; i++)
        if (!strcmp(argv[1], parts[i].name)) return parts[i].run(argc - 1, argv + 1);
    bool asked = argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"));
    FILE *to = asked ? stdout : stderr;
    if (argc > 1 && !asked) fprintf(to, "procprof: jvm has no command '%s'\n", argv[1]);
    fprintf(to, "usage: procprof jvm list|threads|jcmd ...\n\n");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        fprintf(to, "  %-8s %s\n", parts[i].name, parts[i].summary);
    fprintf(to, "\n'procprof collect --jvm PID' profiles a JVM.\n");
    return asked ? 0 : 2;
}

COMMAND(jvm, "jvm", "collect", "list JVMs, show their threads, send a jcmd command", run_jvm)
