/* The script language: values, statements, the words of its errors, and the profiling classes over
 * a real cluster. */
#include "../../t.h"

#include "../sql/fixture.h"
#include "serve/sql/heapprof.h"

static struct fixture fixture;

static const char *run_on(int32_t node_id, const char *source)
{
    static struct buf out;
    struct cluster_node node;
    out.len = 0;
    out.full = false;
    out.max_len = 0;
    if (!fixture.sql.cluster) fixture_open(&fixture, true);
    REQUIRE(!cluster_node_get(fixture.sql.cluster, node_id, &node));
    struct heapprof prof = {.cluster = &fixture.sql, .node = &node, .deadline_ns = INT64_MAX};
    struct script_host host = heapprof_host(&prof);
    script_run(source, strlen(source), &host, &out);
    return buf_cstr(&out);
}

static const char *run(const char *source)
{
    return run_on(10002, source);
}

TEST(documented_conversation)
{
    CHECK_STR(run("System.print(HeapProf.getInstance())"), "instance of HeapProf\n");
    CHECK_STR(run("System.print(HeapProf.getInstance().has_enable())"), "false\n");
    CHECK_STR(run("System.print(HeapProf.getInstance().enable_prof())"), "instance of HeapProf\n");
    CHECK_STR(run("System.print(HeapProf.getInstance().has_enable())"), "true\n");
    const char *dot = run("System.print(HeapProf.getInstance().dump_dot_snapshot())");
    CHECK(!strncmp(dot, "digraph \"", 9));
    CHECK(strstr(dot, "4.0 (100.0%)") != NULL);
    CHECK_STR(run("System.print(HeapProf.getInstance().disable_prof())"), "instance of HeapProf\n");
    CHECK_STR(run("System.print(HeapProf.getInstance().has_enable())"), "false\n");
    CHECK_STR(run("HeapProf.getInstance().enable_prof()"), "");
}

TEST(language)
{
    CHECK_STR(run("System.print(\"a\")\nSystem.write(1)\nSystem.print()"), "a\n1\n");
    CHECK_STR(run("System.print(0.5)\nSystem.print(-2)\nSystem.print(10000000000)"),
              "0.5\n-2\n10000000000\n");
    CHECK_STR(run("System.print(true)\nSystem.print(false)\nSystem.print(null)\nSystem.print((1))"),
              "true\nfalse\nnull\n1\n");
    CHECK_STR(run("System.print(\"a\\n\\t\\\"\\\\ 100\\%\")"), "a\n\t\"\\ 100%\n");
    CHECK_STR(run("\n\nvar x = \"kept\" // a comment\n\n\nSystem.print(x)\n// another"), "kept\n");
    CHECK_STR(
        run("var h = HeapProf.getInstance()\nh.enable_prof()\nSystem.print(\n  h\n    .has_enable()\n)"),
        "Compile error: Error at '.': Expect ')' after arguments. at main:5\n"
        "Compile error: Error at 'has_enable': Expect end of file. at main:5\n");
    CHECK_STR(run("var h = HeapProf.getInstance()\nh.enable_prof()\nSystem.print(\n  h.\n  has_enable()\n)"),
              "true\n");
    CHECK_STR(run("System.print(HeapProf)\nSystem.print(System)"), "HeapProf\nSystem\n");
    CHECK_STR(run(""), "");
}

TEST(the_rest_of_wren_is_refused_by_name)
{
    static const struct {
        const char *script, *word;
    } refused[] = {
        {"for (i in 1..3) System.print(i)", "for"},
        {"var x = 1\nwhile (x < 3) {}", "while"},
        {"if (HeapProf.getInstance().has_enable()) System.print(1)", "if"},
        {"System.print(1 + 2)", "+"},
        {"System.print(\"x\" * 3)", "*"},
        {"System.print(3 - 2)", "-"},
        {"System.print(!true)", "!"},
        {"System.print(1 == 1)", "=="},
        {"System.print(1..2)", ".."},
        {"var x = 1\nx = 2", "="},
        {"System.print(true ? 1 : 2)", "?"},
        {"import \"starrocks\" for HeapProf", "import"},
        {"class A {}", "class"},
        {"return", "return"},
        {"var m = {}", "{"},
        {"var f = Fn.new {}", "{"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        char wanted[80];
        snprintf(wanted, sizeof wanted, "Error at '%s': This part of Wren is not supported", refused[i].word);
        CHECK(strstr(run(refused[i].script), wanted) != NULL);
    }
    CHECK_STR(
        run("System.print(\"%(1)\")"),
        "Compile error: Error: Interpolation is not supported; write '\\%' for a percent sign. at main:1\n"
        "Compile error: Error at end of file: Expect ')' after arguments. at main:1\n");
    CHECK(strstr(run("System.print([1])"), "Error at '[': Expected expression. at main:1\n") != NULL);
    CHECK_STR(run("System.printAll(1)"),
              "Runtime error: System metaclass does not implement 'printAll(_)'.\n  at: main:1\n");
    CHECK_STR(run("System.print(\"a\".count)"),
              "Runtime error: String does not implement 'count'.\n  at: main:1\n");
}

TEST(errors_in_wrens_words)
{
    CHECK_STR(run("System.print(HeapProf.getInstance().nope())"),
              "Runtime error: HeapProf does not implement 'nope()'.\n  at: main:1\n");
    CHECK_STR(run("System.print(HeapProf.nope(1, 2))"),
              "Runtime error: HeapProf metaclass does not implement 'nope(_,_)'.\n  at: main:1\n");
    CHECK_STR(run("\n\nHeapProf.getInstance"),
              "Runtime error: HeapProf metaclass does not implement 'getInstance'.\n  at: main:3\n");
    CHECK_STR(run("System.print(Foo.bar())"),
              "Compile error: Error at 'Foo': Variable is used but not defined. at main:1\n");
    CHECK_STR(run("System.print("),
              "Compile error: Error at end of file: Expected expression. at main:1\n"
              "Compile error: Error at end of file: Expect ')' after arguments. at main:1\n");
    CHECK_STR(run("System.print(1) System"),
              "Compile error: Error at 'System': Expect end of file. at main:1\n");
    CHECK_STR(run("var x = ;"), "Compile error: Error: Invalid character ';'. at main:1\n");
    CHECK_STR(run("System.print(\"abc)"),
              "Compile error: Error: Unterminated string. at main:1\n"
              "Compile error: Error at end of file: Expect ')' after arguments. at main:1\n");
    CHECK_STR(run("System.print(null.x)"), "Runtime error: Null does not implement 'x'.\n  at: main:1\n");
    CHECK_STR(run("1[0]"), "Runtime error: Num does not implement '[_]'.\n  at: main:1\n");
    CHECK_STR(
        run("HeapProf.getInstance().to_dot_format(5)"),
        "Runtime error: Bad cast when getting value from Wren got number expected string\n  at: main:1\n");
    CHECK_STR(
        run("HeapProf.getInstance().to_dot_format(HeapProf.getInstance())"),
        "Runtime error: Bad cast when getting value from Wren got instance expected string\n  at: main:1\n");
    CHECK_STR(run("var x = 1\nvar x = 2"),
              "Compile error: Error at 'x': Module variable is already defined. at main:2\n");
    CHECK_STR(run("var x"), "Compile error: Error at end of file: Expect '=' after variable name. at main:1\n"
                            "Compile error: Error at end of file: Expected expression. at main:1\n");
    CHECK_STR(run("System.print(\"\\q\")"),
              "Compile error: Error: Invalid escape character 'q'. at main:1\n");
    CHECK_STR(run("System.print(1)\nSystem.print(null.y)\nSystem.print(2)"),
              "1\nRuntime error: Null does not implement 'y'.\n  at: main:2\n");
    CHECK(strstr(run_on(10003, "HeapProf.getInstance().enable_prof()"),
                 "Runtime error: http://127.0.0.3:1/pprof/heap/enable: "));
}

TEST(limits_hold)
{
    struct buf text = {0};
    for (int i = 0; i < 5000; i++) buf_char(&text, '(');
    CHECK(strstr(run(buf_cstr(&text)), "nested too deeply") != NULL);
    text.len = 0;
    for (int i = 0; i < 5000; i++) buf_str(&text, "System.print(");
    CHECK(strstr(run(buf_cstr(&text)), "nested too deeply") != NULL);
    text.len = 0;
    buf_str(&text, "var x = 1");
    for (int i = 0; i < 5000; i++) buf_str(&text, ".a");
    CHECK_STR(run(buf_cstr(&text)), "Runtime error: Num does not implement 'a'.\n  at: main:1\n");
    text.len = 0;
    for (int i = 0; i < 1000; i++) buf_printf(&text, "var x%d = 1\n", i);
    CHECK(strstr(run(buf_cstr(&text)), "The script has too many variables.") != NULL);
    text.len = 0;
    buf_str(&text, "var x = \"");
    for (int i = 0; i < 1 << 20; i++) buf_char(&text, 'x');
    buf_str(&text, "\"\n");
    for (int i = 0; i < 300; i++) buf_str(&text, "System.write(x)\n");
    buf_str(&text, "System.print(\"the end\")");
    const char *out = run(buf_cstr(&text));
    CHECK(strlen(out) <= SCRIPT_MAX_OUTPUT_BYTES);
    CHECK(strstr(out, "the end") == NULL);
    buf_free(&text);
}

TEST(snapshots_are_kept_listed_compared_and_removed)
{
    char dir[] = "/tmp/procprof-snapshots-XXXXXX", path[256], script[1200];
    struct err err;
    REQUIRE(mkdtemp(dir));
    CHECK_STR(run("HeapProf.getInstance().snapshot()"),
              "Runtime error: this server keeps no snapshots\n  at: main:1\n");
    fixture.sql.snapshot_dir = dir;
    fixture.sql.symbols = symbolizer_new(&(struct symbol_options){.cache_dir = ""});
    CHECK_STR(run("System.print(HeapProf.getInstance().snapshots())"), "[]\n");
    snprintf(path, sizeof path, "%s", run("System.print(HeapProf.getInstance().snapshot())"));
    path[strcspn(path, "\n")] = '\0';
    CHECK(!strncmp(path, dir, strlen(dir)));
    snprintf(script, sizeof script, "System.print(HeapProf.getInstance().to_dot_format(\"%s\"))", path);
    const char *dot = run(script);
    CHECK(!strncmp(dot, "digraph", 7));
    CHECK(strstr(dot, "fixture_allocates_much") && strstr(dot, "fixture_calls_it"));
    CHECK(strstr(run("System.print(HeapProf.getInstance().top(5))"), "Total: 4.0 MB\n") != NULL);
    run("HeapProf.getInstance().snapshot()");
    CHECK_STR(run("System.print(HeapProf.getInstance().snapshots().count)"), "2\n");
    CHECK_STR(
        run("var h = HeapProf.getInstance()\nvar s = h.snapshots()\nSystem.write(h.diff_top(s[0], s[1], 3))"),
        "Total: 0.0 MB\n");
    CHECK(strstr(run("HeapProf.getInstance().to_dot_format(\"/etc/passwd\")"),
                 "is not a snapshot of this node") != NULL);
    CHECK(strstr(run("HeapProf.getInstance().to_dot_format(\"../x\")"), "is not a snapshot of this node") !=
          NULL);
    CHECK(strstr(run_on(10004, "System.print(HeapProf.getInstance().snapshots())"), "[]") != NULL);
    CHECK_STR(
        run("var h = HeapProf.getInstance()\nh.remove(h.snapshots()[0])\nSystem.print(h.snapshots().count)"),
        "1\n");
    CHECK_STR(run("HeapProf.getInstance().snapshots()[1]"),
              "Runtime error: Subscript out of bounds.\n  at: main:1\n");
    CHECK_STR(run("HeapProf.getInstance().snapshots()[0.5]"),
              "Runtime error: Subscript must be an integer.\n  at: main:1\n");
    CHECK_STR(run("HeapProf.getInstance().snapshots()[\"a\"]"),
              "Runtime error: Subscript must be a number.\n  at: main:1\n");
    snprintf(script, sizeof script, "%s\n", run("System.print(HeapProf.getInstance().snapshots()[0])"));
    CHECK_INT(
        strncmp(run("System.print(HeapProf.getInstance().snapshots()[-1])"), script, strlen(script) - 1), 0);
    for (int i = 0; i < 40; i++) run("HeapProf.getInstance().snapshot()");
    CHECK_STR(run("System.print(HeapProf.getInstance().snapshots().count)"), "32\n");
    symbolizer_free(fixture.sql.symbols);
    file_remove_tree(dir, &err);
}

TEST_MAIN()
