/* cmd_ui.c - `procprof ui FILE...`: profiles in the browser, with the server's page. */
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "cmd/background.h"
#include "cmd/command.h"
#include "cmd/options.h"
#include "collect/fetch.h"
#include "serve/file_server.h"

extern char **environ;

/* "8080", ":8080", "host", "host:8080", "[::1]:8080"; no port means any. */
static bool parse_listen(const char *text, char *host, size_t size, int *ret_port)
{
    const char *colon = strrchr(text, ':');
    bool only_port = *text && strspn(text, "0123456789") == strlen(text);
    const char *port = only_port ? text : colon ? colon + 1 : "";
    size_t n = only_port ? 0 : colon ? (size_t)(colon - text) : strlen(text);
    if (n > 1 && text[0] == '[' && text[n - 1] == ']') text++, n -= 2;
    if (n >= size || strspn(port, "0123456789") != strlen(port) || strlen(port) > 5 || atoi(port) > 65535)
        return false;
    snprintf(host, size, "%.*s", (int)n, text);
    if (!n) snprintf(host, size, "localhost");
    *ret_port = atoi(port);
    return true;
}

static void open_browser(const char *url)
{
    const char *wanted = getenv("BROWSER");
    const char *const programs[] = {wanted && *wanted ? wanted : "xdg-open", "sensible-browser", "open"};
    for (size_t i = 0; i < 3; i++) {
        char *argv[] = {(char *)programs[i], (char *)url, NULL};
        pid_t child;
        posix_spawn_file_actions_t quiet;
        posix_spawnattr_t attributes;
        sigset_t none;
        sigemptyset(&none);
        posix_spawnattr_init(&attributes);
        posix_spawnattr_setsigmask(&attributes, &none);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
        posix_spawn_file_actions_init(&quiet);
        posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", 1, 0);
        posix_spawn_file_actions_addopen(&quiet, 2, "/dev/null", 1, 0);
        int rc = posix_spawnp(&child, programs[i], &quiet, &attributes, argv, environ);
        posix_spawn_file_actions_destroy(&quiet);
        posix_spawnattr_destroy(&attributes);
        if (!rc) return;
    }
}

static int add_sources(struct file_server *server, const char *const *sources, size_t n, double seconds,
                       struct buf *ids)
{
    int n_failed = 0;
    for (size_t i = 0; i < n; i++) {
        struct bytes bytes = {0};
        struct err err = {0};
        long long id;
        struct fetch_options how = {.seconds = seconds, .user_agent = "Go-http-client/1.1 (procprof)"};
        char *url = NULL; /* host:port/path, as pprof takes it */
        const char *colon = strchr(sources[i], ':');
        if (access(sources[i], F_OK) && !fetch_is_url(sources[i]) && colon && colon[1] >= '0' &&
            colon[1] <= '9')
            url = mem_printf("http://%s", sources[i]);
        int bad = fetch(url ? url : sources[i], &how, &bytes, &err);
        if (!bad) bad = file_server_add(server, sources[i], &bytes, &id, &err);
        bytes_free(&bytes);
        mem_free(url);
        if (bad) {
            command_fail(&err);
            n_failed++;
        } else {
            buf_printf(ids, "%s%lld", ids->len ? "," : "", id);
        }
    }
    return n_failed;
}

static int run(int argc, char **argv)
{
    const char *listen = "localhost:", *binary = NULL;
    bool browser = true;
    double seconds = 0;
    struct option_list bases = {0}, path = {0};
    struct option table[] = {
        {0, "listen", OPTION_TEXT, &listen, "HOST:PORT", "address of the page (localhost and any free port)"},
        {0, "browser", OPTION_FLAG, &browser, NULL, "open a browser (default); --no-browser does not"},
        {0, "binary", OPTION_TEXT, &binary, "FILE", "the program, for profiles that do not name it"},
        {0, "base", OPTION_LIST, &bases, "FILE", "compare with this profile"},
        {0, "path", OPTION_LIST, &path, "DIR", "also search DIR for binaries and debug files"},
        {0, "seconds", OPTION_DURATION, &seconds, "TIME", "how long a URL collects"},
        {0}};
    struct options_help help = {
        "procprof ui [OPTIONS] PROFILE...",
        "Shows profiles in the browser: files in any format that procprof reads, or URLs.",
        "  procprof ui cpu.pprof\n  procprof ui --base before.heap after.heap\n"};
    int n = options_parse(argc, argv, table, &help);
    if (n < 0) return n == OPTIONS_DONE ? 0 : 2;
    if (n == 0) return command_failf("ui needs at least one profile: procprof ui FILE..."), 2;
    char host[256];
    int port;
    if (!parse_listen(listen, host, sizeof host, &port))
        return command_failf("--listen %s: must have the form HOST:PORT", listen);

    sigset_t signals = background_block_signals();
    struct file_server_options o = {.host = host, .port = port, .binary = binary, .search = path.items};
    struct file_server *server;
    struct err err = {0};
    if (file_server_start(&o, &server, &err)) return command_fail(&err);
    struct buf ids = {0}, base_ids = {0};
    int n_failed = add_sources(server, (const char *const *)argv + 1, (size_t)n, seconds, &ids);
    n_failed += add_sources(server, bases.items, bases.n_items, seconds, &base_ids);
    int status = 0;
    if (!ids.len || (bases.n_items && !base_ids.len)) {
        status = 1;
    } else {
        char *selection = mem_printf("ids=%s%s%s", buf_cstr(&ids), base_ids.len ? "&base_ids=" : "",
                                     base_ids.len ? buf_cstr(&base_ids) : "");
        file_server_select(server, selection);
        char *url = mem_printf("http://%s%s%s:%d/#/view?%s", strchr(host, ':') ? "[" : "", host,
                               strchr(host, ':') ? "]" : "", file_server_port(server), selection);
        mem_free(selection);
        printf("Serving web UI on %s\n", url);
        fflush(stdout);
        if (browser) open_browser(url);
        mem_free(url);
        int signal;
        while (sigwait(&signals, &signal)) continue;
    }
    (void)n_failed;
    buf_free(&ids);
    buf_free(&base_ids);
    file_server_stop(server);
    return status;
}

COMMAND(ui, "ui", "report", "show profiles in the browser", run)
