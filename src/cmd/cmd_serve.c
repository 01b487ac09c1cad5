/* cmd_serve.c - `procprof serve`: the server of a cluster, or the agent of a host. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "cmd/background.h"
#include "cmd/command.h"
#include "cmd/options.h"
#include "serve/cluster/cluster.h"
#include "serve/server.h"

struct arguments {
    const char *config, *fe_conf, *be_conf, *data, *listen, *log_level, *pid_file, *log_file, *ports_file,
        *token_file;
    int64_t http_port, mysql_port;
    struct option_list nodes, settings;
    bool daemon, durable, list_settings;
};

static void warn(const char *text)
{
    server_log(LOG_WARN_, "%s", text);
}

/* Files first, the command line last: it wins. */
static int read_conf(const struct arguments *a, struct conf *conf, struct err *err)
{
    int bad = 0;
    if (a->fe_conf) bad = conf_read(conf, a->fe_conf, CONF_FE_FILE, warn, err);
    if (!bad && a->be_conf) bad = conf_read(conf, a->be_conf, CONF_BE_FILE, warn, err);
    if (!bad && a->config) bad = conf_read(conf, a->config, CONF_OWN_FILE, warn, err);
    char number[24];
    if (!bad && a->http_port >= 0) {
        snprintf(number, sizeof number, "%lld", (long long)a->http_port);
        bad = conf_set(conf, CONF_HTTP_PORT, number, err);
    }
    if (!bad && a->mysql_port >= 0) {
        snprintf(number, sizeof number, "%lld", (long long)a->mysql_port);
        bad = conf_set(conf, CONF_QUERY_PORT, number, err);
    }
    if (!bad && a->listen) bad = conf_set(conf, CONF_LISTEN, a->listen, err);
    if (!bad && a->log_level) bad = conf_set(conf, CONF_LOG_LEVEL, a->log_level, err);
    struct buf lines = {0};
    for (size_t i = 0; i < a->settings.n_items; i++) buf_printf(&lines, "%s\n", a->settings.items[i]);
    for (size_t i = 0; i < a->nodes.n_items; i++) buf_printf(&lines, "node = %s\n", a->nodes.items[i]);
    if (!bad && lines.len)
        bad = conf_parse(conf, lines.data, lines.len, "command line", CONF_COMMAND_LINE, warn, err);
    buf_free(&lines);
    return bad;
}

static char *data_dir(const struct arguments *a, const struct conf *conf)
{
    if (a->data) return mem_strdup(a->data);
    const char *set = conf_text(conf, CONF_DATA_DIR);
    return *set ? mem_strdup(set) : file_user_dir("DATA");
}

static char *log_path(const struct arguments *a, const char *data)
{
    return a->log_file ? mem_strdup(a->log_file) : mem_printf("%s/procprof.log", data);
}

static int open_log(const char *path)
{
    return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
}

/* The file of that name from now on: the one there was has been moved away (logrotate). */
static void reopen_log(const struct arguments *a, const char *data)
{
    char *path = log_path(a, data);
    int fd = open_log(path);
    if (fd < 0) server_log(LOG_ERROR_, "%s: %s; going on with the one there was", path, strerror(errno));
    mem_free(path);
    if (fd < 0) return;
    dup2(fd, 1);
    dup2(fd, 2);
    close(fd);
}

/* The parent waits until the child serves (or says why it does not), so that the exit status is true. */
static int become_daemon(const struct arguments *a, const char *data, int *ret_report_fd)
{
    int fds[2];
    struct err err;
    if (file_make_dirs(data, 0700, &err)) return command_fail(&err);
    char *log = log_path(a, data);
    int log_fd = open_log(log);
    if (log_fd < 0) return command_failf("cannot open the log %s: %s", log, strerror(errno));
    mem_free(log);
    if (pipe2(fds, O_CLOEXEC)) return command_failf("cannot create a pipe: %s", strerror(errno));
    pid_t child = fork();
    if (child < 0) return command_failf("cannot start a background process: %s", strerror(errno));
    if (child > 0) {
        char text[500];
        close(fds[1]);
        size_t n = 0;
        ssize_t got;
        while (n < sizeof text - 1 && (got = read(fds[0], text + n, sizeof text - 1 - n)) > 0)
            n += (size_t)got;
        text[n] = 0;
        if (!strncmp(text, "ok", 2)) exit(0);
        exit(command_failf("%s", n ? text : "the server ended at its start; see its log for the reason"));
    }
    background_detach(log_fd);
    *ret_report_fd = fds[1];
    return 0;
}

static void report(int fd, const char *text)
{
    if (fd < 0) return;
    ssize_t n = write(fd, text, strlen(text));
    (void)n;
    close(fd);
}

static void write_pid(const char *path)
{
    struct err err;
    if (background_write_pid(path, getpid(), &err)) server_log(LOG_WARN_, "%s", err.text);
}

static int serve(const struct arguments *a)
{
    struct conf conf = {0};
    struct err err = {0};
    if (read_conf(a, &conf, &err)) {
        conf_free(&conf);
        return command_fail(&err);
    }
    char *data = data_dir(a, &conf), *own_pid_file = mem_printf("%s/procprof.pid", data);
    int report_fd = -1;
    if (a->daemon) {
        int status = become_daemon(a, data, &report_fd);
        if (status) return status;
    }
    sigset_t signals = background_block_signals();

    char *token = NULL;
    if (a->token_file) {
        struct bytes bytes;
        if (file_read(a->token_file, 4096, &bytes, &err))
            return report(report_fd, err.text), command_fail(&err);
        token = mem_strndup((const char *)bytes.data, bytes.len);
        token[strcspn(token, " \t\r\n")] = 0;
        bytes_free(&bytes);
    }
    struct server *server;
    struct server_options options = {
        .data_dir = data, .has_be_conf = a->be_conf != NULL, .durable = a->durable, .agent_token = token};
    int bad = server_start(&conf, &options, &server, &err);
    conf_free(&conf);
    mem_free(token);
    if (bad) {
        report(report_fd, err.text);
        return command_fail(&err);
    }
    const char *pid_file = a->pid_file ? a->pid_file : a->daemon ? own_pid_file : NULL;
    if (pid_file) write_pid(pid_file);
    if (a->ports_file) {
        char text[64];
        int n = snprintf(text, sizeof text, "http=%d mysql=%d\n", server_http_port(server),
                         server_mysql_port(server));
        if (file_write_atomic(a->ports_file, text, (size_t)n, 0644, &err))
            server_log(LOG_WARN_, "%s", err.text);
    }
    report(report_fd, "ok");
    for (;;) {
        int signal;
        if (sigwait(&signals, &signal)) continue;
        if (signal != SIGHUP) {
            server_log(LOG_INFO_, "ending on signal %d", signal);
            break;
        }
        if (a->daemon) reopen_log(a, data);
        struct conf again = {0};
        if (read_conf(a, &again, &err))
            server_log(LOG_ERROR_, "not re-read: %s", err.text);
        else
            server_reload(server, &again);
        conf_free(&again);
    }
    server_stop(server);
    if (pid_file) unlink(pid_file);
    mem_free(own_pid_file);
    mem_free(data);
    return 0;
}

/* Between tabs: key, preset, the files it may stand in, "live" when it can be changed while the server runs,
 * what it is. */
static int list_settings(void)
{
    for (int k = 0; k < CONF_N_KEYS; k++) {
        const struct conf_key_info *i = conf_key_info((enum conf_key)k);
        printf("%s\t%s\t%s%s%s\t%s\t%s\n", i->name, i->preset,
               i->files & CONF_OWN_FILE ? "procprof.conf" : "", i->files & CONF_FE_FILE ? ", fe.conf" : "",
               i->files & CONF_BE_FILE ? ", be.conf" : "", i->is_mutable ? "live" : "", i->comment);
    }
    return 0;
}

static int run(int argc, char **argv)
{
    struct arguments a = {.http_port = -1, .mysql_port = -1};
    struct option table[] = {
        {0, "config", OPTION_TEXT, &a.config, "FILE",
         "settings and nodes of this server (man procprof.conf)"},
        {0, "fe-conf", OPTION_TEXT, &a.fe_conf, "FILE",
         "fe.conf of StarRocks: the proc_profile_* keys, ports, sys_log_dir"},
        {0, "be-conf", OPTION_TEXT, &a.be_conf, "FILE", "be.conf: this host's backend becomes a node"},
        {0, "data", OPTION_TEXT, &a.data, "DIR",
         "folder for nodes, users and profiles ($XDG_DATA_HOME/procprof)"},
        {0, "http-port", OPTION_INT, &a.http_port, "PORT",
         "port of the page and the HTTP API (8030); 0: any free port"},
        {0, "mysql-port", OPTION_INT, &a.mysql_port, "PORT",
         "port of the MySQL protocol (9030); 0: any free port"},
        {0, "listen", OPTION_TEXT, &a.listen, "ADDRESS",
         "address to listen on once root has a password; loopback before"},
        {0, "node", OPTION_LIST, &a.nodes, "'BE host:port'", "a node to collect from; may be repeated"},
        {0, "set", OPTION_LIST, &a.settings, "KEY=VALUE", "a setting, as in a conf file; may be repeated"},
        {0, "log-level", OPTION_TEXT, &a.log_level, "LEVEL", "error, warn, info or debug"},
        {0, "daemon", OPTION_FLAG, &a.daemon, NULL, "serve in the background; log to DIR/procprof.log"},
        {0, "pid-file", OPTION_TEXT, &a.pid_file, "FILE", "write the process id to FILE"},
        {0, "log-file", OPTION_TEXT, &a.log_file, "FILE", "log file of the daemon"},
        {0, "ports-file", OPTION_TEXT, &a.ports_file, "FILE",
         "write the ports to FILE once the server is ready"},
        {0, "agent-token-file", OPTION_TEXT, &a.token_file, "FILE",
         "file with a token; a procprof that sends it may look and collect here"},
        {0, "durable", OPTION_FLAG, &a.durable, NULL,
         "wait for the disk at each profile, so that it survives a power cut"},
        {0, "settings", OPTION_FLAG, &a.list_settings, NULL,
         "list all settings with their defaults, and exit"},
        {0}};
    struct options_help help = {
        "procprof serve [OPTIONS]",
        "Collects profiles from the nodes of a cluster, stores them, and serves them to browsers and MySQL "
        "clients.",
        "  procprof serve                                       # http://localhost:8030/ and mysql -h "
        "127.0.0.1 -P 9030 -u root\n"
        "  procprof serve --node 'BE 127.0.0.1:8060' --set be_profile_types=cpu,heap\n"
        "  procprof serve --fe-conf fe.conf --be-conf be.conf --daemon\n"};
    int n = options_parse(argc, argv, table, &help);
    if (n < 0) return n == OPTIONS_DONE ? 0 : 2;
    if (n > 0)
        return command_failf("serve: unexpected argument '%s'; 'procprof serve --help' lists the options",
                             argv[1]),
               2;
    if (a.list_settings) return list_settings();
    int status = serve(&a);
    return status;
}

COMMAND(serve, "serve", "serve", "collect from a cluster; web page, HTTP API, MySQL protocol", run)
