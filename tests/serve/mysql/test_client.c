/* A real client (Debian's mariadb) against our own listener, over a real cluster: the documented conversation
 * word for word, and what goes wrong. */
#include "../../t.h"

#include <sys/stat.h>

#include "../sql/fixture.h"
#include "serve/mysql/mysql_server.h"

static struct fixture fixture;
static struct mysql_server *server;

static void begin(const char *cert, const char *key)
{
    struct err err;
    if (system("command -v mariadb >/dev/null")) SKIP("no mariadb client (Debian: mariadb-client)");
    fixture_open(&fixture, true);
    struct mysql_options options = {.tls_cert = cert, .tls_key = key};
    if (mysql_server_start(fixture.sql.cluster, &options, &server, &err)) T_FAIL("%s", err.text);
    REQUIRE(server);
}

/* Everything the client prints, both streams; the statement travels through the environment, so no shell
 * reads it. */
static const char *ask(const char *options, const char *sql)
{
    static struct buf out;
    char command[600];
    out.len = 0;
    setenv("STATEMENT", sql, 1);
    snprintf(command, sizeof command, "mariadb --no-defaults -h 127.0.0.1 -P %d %s -e \"$STATEMENT\" 2>&1",
             mysql_server_port(server), options);
    FILE *pipe = popen(command, "r");
    char piece[4096];
    for (size_t n; (n = fread(piece, 1, sizeof piece, pipe)) > 0;) buf_add(&out, piece, n);
    pclose(pipe);
    /* On an error the client first repeats the statement between two lines of dashes. */
    const char *text = buf_cstr(&out), *end = strncmp(text, "--------------\n", 15)
                                                  ? NULL
                                                  : strstr(text + 15, "\n--------------\n\n");
    return end && !strncmp(end + 17, "ERROR", 5) ? end + 17 : text;
}

static bool says(const char *options, const char *sql, const char *part)
{
    const char *got = ask(options, sql);
    if (strstr(got, part)) return true;
    printf("# %s\n# gives: %.2000s\n# wants: %s\n", sql, got, part);
    return false;
}

TEST(documented_conversation_word_for_word)
{
    begin(NULL, NULL);
    CHECK_STR(ask("-uroot -t", "admin execute on 10002 'System.print(HeapProf.getInstance().enable_prof())'"),
              "+----------------------+\n"
              "| result               |\n"
              "+----------------------+\n"
              "| instance of HeapProf |\n"
              "+----------------------+\n");
    CHECK_STR(ask("-uroot -t", "admin execute on 10002 'System.print(HeapProf.getInstance().has_enable())'"),
              "+--------+\n"
              "| result |\n"
              "+--------+\n"
              "| true   |\n"
              "+--------+\n");
    const char *dot =
        ask("-uroot -N", "admin execute on 10002 'System.print(HeapProf.getInstance().dump_dot_snapshot())'");
    CHECK(!strncmp(dot, "digraph \"", 9));
    CHECK(strstr(dot, "Legend [shape=box") != NULL);
    CHECK(strstr(dot, "\n}\n") != NULL);
    CHECK_STR(
        ask("-uroot -t", "admin execute on 10002 'System.print(HeapProf.getInstance().disable_prof())'"),
        "+----------------------+\n"
        "| result               |\n"
        "+----------------------+\n"
        "| instance of HeapProf |\n"
        "+----------------------+\n");
    CHECK_STR(ask("-uroot -N", "admin execute on 10002 'System.print(HeapProf.getInstance().has_enable())'"),
              "false\n");
    mysql_server_stop(server);
}

TEST(what_goes_wrong)
{
    begin(NULL, NULL);
    CHECK_STR(ask("-uroot", "admin execute on 4711 'System.print(HeapProf.getInstance().enable_prof())'"),
              "ERROR 1064 (HY000) at line 1: node not found: 4711\n");
    CHECK_STR(ask("-uroot", "set password = password('secret')"), "");
    CHECK_STR(ask("-uroot", "select 1"),
              "ERROR 1045 (28000): Access denied for user 'root' (using password: NO)\n");
    CHECK_STR(ask("-uroot -pwrong", "select 1"),
              "ERROR 1045 (28000): Access denied for user 'root' (using password: YES)\n");
    CHECK_STR(ask("-unobody -pwrong", "select 1"),
              "ERROR 1045 (28000): Access denied for user 'nobody' (using password: YES)\n");
    CHECK_STR(ask("-uroot -psecret -N", "select 1"), "1\n");
    CHECK_STR(
        ask("-uroot -psecret", "create user viewer identified by 'v'; grant node on system to user viewer"),
        "");
    CHECK(says("-uviewer -pv", "admin execute on 10002 'System.print(1)'",
               "ERROR 5203 (42000) at line 1: Access denied; you need"));
    CHECK(says("-uviewer -pv -N", "show backends", "10002\t127.0.0.2"));
    CHECK_STR(
        ask("-uroot -psecret -N", "admin execute on 10002 'System.print(HeapProf.getInstance().enable())'"),
        "Runtime error: HeapProf does not implement 'enable()'.\n  at: main:1\n");
    CHECK_STR(ask("-uroot -psecret -N",
                  "admin execute on 10002 'System.print(HeapProf.getInstance().enable_prof()'"),
              "Compile error: Error at end of file: Expect ')' after arguments. at main:1\n");
    CHECK(says("-uroot -psecret", "shwo backends",
               "ERROR 1064 (HY000) at line 1: Getting syntax error at line 1, column 0"));
    CHECK(says("-uroot -psecret nope", "select 1", "ERROR 1049 (42000): Unknown database 'nope'"));
    CHECK_STR(ask("-uroot -psecret -N information_schema", "select database()"), "information_schema\n");
    for (int i = 0; i < 1000; i++)
        cluster_login_result(fixture.sql.cluster, "root", "127.0.0.1", NULL, false);
    CHECK(says("-uroot -psecret", "select 1", "too many failed logins"));
    mysql_server_stop(server);
}

TEST(other_plugins_and_interactive_use)
{
    begin(NULL, NULL);
    CHECK_STR(ask("-uroot --default-auth=caching_sha2_password -N", "select 1"), "1\n");
    ask("-uroot", "set password = password('secret')");
    CHECK_STR(ask("-uroot -psecret --default-auth=caching_sha2_password -N", "select 1"), "1\n");
    CHECK(says("-uroot -pwrong --default-auth=caching_sha2_password -N", "select 1", "ERROR 1045 (28000)"));
    /* what the interactive client sends: @@version_comment, SELECT DATABASE(), show databases/tables,
     * FIELD_LIST, ping, use, status */
    CHECK(says("-uroot -psecret", "\\s", "Server version:\t\t8.0.33 procprof"));
    CHECK(says("-uroot -psecret", "show backends\\G", "            BackendId: 10002"));
    CHECK_STR(ask("-uroot -psecret -N", "select 1; select 2"), "1\n2\n");
    mysql_server_stop(server);
}

TEST(many_rows_and_long_ones)
{
    begin(NULL, NULL);
    struct buf statement = {0};
    buf_str(&statement, "admin execute on 10002 'System.print(\"");
    for (int i = 1; i < 20000; i++) buf_printf(&statement, "%d\n", i);
    buf_str(&statement, "20000\")'");
    const char *text = ask("-uroot -N", buf_cstr(&statement));
    size_t n = 0;
    for (const char *c = text; *c; c++) n += *c == '\n';
    CHECK_INT(n, 20000);
    /* One row of 20 MB: more than a packet holds. */
    statement.len = 0;
    buf_str(&statement, "admin execute on 10002 'var x = \"");
    for (int i = 0; i < 50000; i++) buf_char(&statement, 'x');
    buf_str(&statement, "\"\n");
    for (int i = 0; i < 400; i++) buf_str(&statement, "System.write(x)\n");
    buf_char(&statement, '\'');
    text = ask("-uroot -N --max-allowed-packet=64M", buf_cstr(&statement));
    buf_free(&statement);
    CHECK_INT(strlen(text), 20000001);
    CHECK_INT(strspn(text, "x"), 20000000);
    mysql_server_stop(server);
}

TEST(tls)
{
    char dir[] = "/tmp/procprof-tls-XXXXXX", command[500], cert[100], key[100];
    struct err err;
    REQUIRE(mkdtemp(dir));
    snprintf(cert, sizeof cert, "%s/cert.pem", dir);
    snprintf(key, sizeof key, "%s/key.pem", dir);
    snprintf(command, sizeof command,
             "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -keyout %s -out %s "
             ">/dev/null 2>&1",
             key, cert);
    if (system(command)) SKIP("no openssl program");
    begin(cert, key);
    CHECK(says("-uroot --ssl -N", "\\s", "Cipher in use is TLS"));
    ask("-uroot", "set password = password('secret')");
    CHECK_STR(ask("-uroot -psecret --ssl -N", "select 1"), "1\n");
    CHECK_STR(ask("-uroot -psecret --ssl --default-auth=caching_sha2_password -N", "select 1"), "1\n");
    CHECK(says("-uroot -pwrong --ssl --default-auth=caching_sha2_password -N", "select 1", "ERROR 1045"));
    CHECK_STR(ask("-uroot -psecret --skip-ssl -N", "select 1"), "1\n");
    mysql_server_stop(server);
    struct mysql_options wrong = {.tls_cert = key, .tls_key = key};
    struct mysql_server *none = NULL;
    CHECK_INT(mysql_server_start(fixture.sql.cluster, &wrong, &none, &err), ERR_INPUT);
    CHECK(strstr(err.text, "key.pem: cannot be used for TLS") != NULL);
    file_remove_tree(dir, &err);
}

TEST(listener_moves_and_stops_with_clients_connected)
{
    struct err err;
    begin(NULL, NULL);
    char command[300];
    snprintf(command, sizeof command,
             "mariadb --no-defaults -h 127.0.0.1 -P %d -uroot -e 'select 1; system sleep 30; select 2' "
             ">/dev/null 2>&1",
             mysql_server_port(server));
    pid_t child = fork();
    if (!child) {
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    usleep(300000);
    CHECK_INT(mysql_server_rebind(server, "0.0.0.0", &err), 0);
    CHECK_STR(ask("-uroot -N", "select 1"), "1\n");
    CHECK(mysql_server_rebind(server, "203.0.113.7", &err) != 0);
    CHECK_STR(ask("-uroot -N", "select 1"), "1\n");
    mysql_server_stop(server);
    kill(child, SIGKILL);
}

TEST_MAIN()
