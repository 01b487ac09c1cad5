/* The script language: values, statements, the words of its errors, and the profiling classes over the
 * double. */
#include "../../t.h"

#include "../sql/double.h"
#include "serve/sql/heapprof.h"

static struct double_cluster cluster;

static const char *run_on(size_t node, const char *source)
{
    static struct buf out;
    out.len = 0;
    out.full = false;
    out.max_len = 0;
    struct heapprof prof = {
        .backend = &cluster.backend, .node = &cluster.nodes[node], .deadline_ns = INT64_MAX};
    struct script_host host = heapprof_host(&prof);
    script_run(source, strlen(source), &host, &out);
    return buf_cstr(&out);
}

static const char *run(const char *source)
{
    if (!cluster.n_nodes) double_init(&cluster);
    return run_on(1, source);
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
    CHECK_STR(run("System.print(1 + 2 * 3)"), "7\n");
    CHECK_STR(run("System.print(\"a\" + \"b\")\nSystem.write(1)\nSystem.print()"), "ab\n1\n");
    CHECK_STR(run("var x = [1, \"two\", null, true]\nSystem.print(x)\nSystem.print(x.count)"),
              "[1, two, null, true]\n4\n");
    CHECK_STR(run("for (i in 1..3) System.print(i)"), "1\n2\n3\n");
    CHECK_STR(run("for (i in 1...3) {\n System.write(i)\n System.write(\",\")\n}"), "1,2,");
    CHECK_STR(run("var i = 0\nwhile (i < 5) {\n i = i + 1\n if (i == 2) continue\n if (i == 4) break\n "
                  "System.write(i)\n}"),
              "13");
    CHECK_STR(run("var a = 1 > 2 ? \"yes\" : \"no\"\nSystem.print(\"it is %(a), %(1 + 1)!\")"),
              "it is no, 2!\n");
    CHECK_STR(run("System.print(!true || false && true)"), "false\n");
    CHECK_STR(run("System.print(1 / 0)\nSystem.print(0.1 + 0.2)\nSystem.print(1e10)"),
              "infinity\n0.3\n10000000000\n");
    CHECK_STR(run("/* a /* nested */ comment */ System.print(1) // and this"), "1\n");
    CHECK_STR(run("var h = HeapProf.getInstance()\nif (!h.has_enable()) "
                  "h.enable_prof()\nSystem.print(h.has_enable())"),
              "true\n");
    CHECK_STR(run("System.print([1,2].join(\"-\") + \" \" + \"a,b\".split(\",\").count.toString)"),
              "1-2 2\n");
    CHECK_STR(run("System.print(HeapProf)\nSystem.print(-3.abs)\nSystem.print(\"x\" * 3)"),
              "HeapProf\n-3\nxxx\n");
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
    CHECK_STR(run("1 + \"a\""), "Runtime error: Right operand must be a number.\n  at: main:1\n");
    CHECK_STR(run("[1][5]"), "Runtime error: Subscript out of bounds.\n  at: main:1\n");
    CHECK_STR(
        run("HeapProf.getInstance().to_dot_format(5)"),
        "Runtime error: Bad cast when getting value from Wren got number expected string\n  at: main:1\n");
    CHECK_STR(run("import \"nothing\""), "Runtime error: Could not load module 'nothing'.\n  at: main:1\n");
    CHECK_STR(run("System.print(1)\nSystem.print(null.y)\nSystem.print(2)"),
              "1\nRuntime error: Null does not implement 'y'.\n  at: main:2\n");
    CHECK_STR(run("break"),
              "Compile error: Error at 'break': Cannot use 'break' outside of a loop. at main:1\n");
    CHECK_STR(run_on(2, "HeapProf.getInstance().enable_prof()"),
              "Runtime error: http://10.0.0.3:8040/pprof/heap/enable: Connection refused\n  at: main:1\n");
}

TEST(limits_hold)
{
    CHECK(strstr(run("while (true) {}"), "too many steps") != NULL);
    CHECK(strstr(run("var s = \"x\" * 1000000\nwhile (true) s = s + s"), "too long") != NULL);
    CHECK(strstr(run("var l = []\nwhile (true) l.add(l)"), "too ") != NULL);
    CHECK_STR(run("var l = []\nl.add(l)\nSystem.print(l.count)"), "1\n");
    struct buf deep = {0};
    for (int i = 0; i < 5000; i++) buf_char(&deep, '(');
    CHECK(strstr(run(buf_cstr(&deep)), "nested too deeply") != NULL);
    deep.len = 0;
    buf_str(&deep, "var x = 1");
    for (int i = 0; i < 5000; i++) buf_str(&deep, ".a");
    CHECK(strstr(run(buf_cstr(&deep)), "Stack overflow") != NULL);
    deep.len = 0;
    for (int i = 0; i < 1000; i++) buf_str(&deep, "{\n");
    CHECK(strstr(run(buf_cstr(&deep)), "nested too deeply") != NULL);
    buf_free(&deep);
}

TEST(snapshots_are_kept_listed_compared_and_removed)
{
    char dir[] = "/tmp/procprof-snapshots-XXXXXX", path[256], script[1200];
    struct err err;
    double_init(&cluster);
    REQUIRE(mkdtemp(dir));
    CHECK_STR(run("HeapProf.getInstance().snapshot()"),
              "Runtime error: this server keeps no snapshots\n  at: main:1\n");
    cluster.backend.snapshot_dir = dir;
    cluster.backend.symbols = symbolizer_new(&(struct symbol_options){.cache_dir = ""});
    CHECK_STR(run("System.print(HeapProf.getInstance().snapshots())"), "[]\n");
    snprintf(path, sizeof path, "%s", run("System.print(HeapProf.getInstance().snapshot())"));
    path[strcspn(path, "\n")] = '\0';
    CHECK(!strncmp(path, dir, strlen(dir)));
    snprintf(script, sizeof script, "System.print(HeapProf.getInstance().to_dot_format(\"%s\"))", path);
    const char *dot = run(script);
    CHECK(!strncmp(dot, "digraph", 7));
    CHECK(strstr(dot, "double_allocates_much") && strstr(dot, "double_calls_it"));
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
    CHECK(strstr(run_on(3, "System.print(HeapProf.getInstance().snapshots())"), "[]") != NULL);
    CHECK_STR(
        run("var h = HeapProf.getInstance()\nh.remove(h.snapshots()[0])\nSystem.print(h.snapshots().count)"),
        "1\n");
    for (int i = 0; i < 40; i++) run("HeapProf.getInstance().snapshot()");
    CHECK_STR(run("System.print(HeapProf.getInstance().snapshots().count)"), "32\n");
    symbolizer_free(cluster.backend.symbols);
    file_remove_tree(dir, &err);
}

TEST_MAIN()
