/* jeprof's table and graph, on stacks small enough to count by hand. */
#include "../t.h"
#include "base/mem.h"
#include "report/jeprof_dot.h"

TEST(names_are_shortened)
{
    static const char *const cases[][2] = {
        {"main", "main"},
        {"std::vector<int, std::allocator<int> >::push_back(int const&)", "std::vector::push_back"},
        {"void ns::Class<a<b>, c>::run(int (*)(char), x) const", "ns::Class::run"},
        {"(anonymous namespace)::helper(int)", "::helper"},
        {"unsigned long f(int)", "unsigned long f"},
        {"std::operator<< <char>(std::ostream&)", "std::operator<< "},
        {"a::operator->() const", "a::operator->"},
        {"broken(a(b", "broken(a(b"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *got = jeprof_short_name(cases[i][0], strlen(cases[i][0]));
        CHECK_STR(got, cases[i][1]);
        mem_free(got);
    }
}

static void add(struct jeprof_stacks *s, double count, const char *leaf_first)
{
    jeprof_stacks_begin(s, count);
    if (!s->names.n_items) strtab_add(&s->names, "", 0);
    for (const char *p = leaf_first; *p; p++) jeprof_stacks_frame_id(s, strtab_add(&s->names, p, 1));
}

TEST(a_name_counts_once_a_stack)
{
    struct jeprof_stacks s = {0};
    struct buf out = {0};
    add(&s, 70, "aba");
    add(&s, 30, "ba");
    add(&s, 5, "");
    jeprof_text_write(&s, JEPROF_SAMPLES, false, -1, &out);
    CHECK_STR(buf_cstr(&out),
              "      70  70.0%  70.0%      100 100.0% a\n      30  30.0% 100.0%      100 100.0% b\n");
    out.len = 0;
    jeprof_text_write(&s, JEPROF_SAMPLES, true, 1, &out);
    CHECK_STR(buf_cstr(&out), "      70  70.0%  70.0%      100 100.0% a\n");
    buf_free(&out);
    jeprof_stacks_free(&s);
}

TEST(graph_keeps_a_way_into_every_node)
{
    struct jeprof_stacks s = {0};
    struct buf out = {0};
    struct err err;
    add(&s, 1048576.0 * 3, "ab");
    add(&s, 1048576.0, "cb");
    add(&s, 100, "cd");
    struct jeprof_dot_options o = JEPROF_DOT_DEFAULTS;
    o.program = "x";
    o.unit = JEPROF_MEGABYTES;
    o.overall_total = 1048576 * 4.0;
    o.nodefraction = 0;
    o.edgefraction = 0.5;
    CHECK_INT(jeprof_dot_write(&s, &o, &out, NULL, &err), 0);
    CHECK_STR(buf_cstr(&out), "digraph \"x; 4.0 MB\" {\nnode [width=0.375,height=0.25];\n"
                              "Legend [shape=box,fontsize=24,shape=plaintext,label=\"x\\lTotal MB: "
                              "4.0\\lFocusing on: 4.0\\lDropped nodes with <= 0.0 "
                              "abs(MB)\\lDropped edges with <= 2.0 MB\\l\"];\n"
                              "N1 [label=\"b\\n0.0 (0.0%)\\rof 4.0 (100.0%)\\r\",shape=box,fontsize=8.0];\n"
                              "N2 [label=\"a\\n3.0 (75.0%)\\r\",shape=box,fontsize=51.3];\n"
                              "N3 [label=\"c\\n1.0 (25.0%)\\r\",shape=box,fontsize=33.0];\n"
                              "N4 [label=\"d\\n0.0 (0.0%)\\rof 0.0 (0.0%)\\r\",shape=box,fontsize=8.0];\n"
                              "N1 -> N2 [label=3.0, weight=35351, style=\"setlinewidth(2.000000)\"];\n"
                              "N1 -> N3 [label=1.0, weight=16383, style=\"setlinewidth(1.499964)\"];\n"
                              "}\n");
    o.nodefraction = 2;
    CHECK_INT(jeprof_dot_write(&s, &o, &out, NULL, &err), ERR_NOT_FOUND);
    buf_free(&out);
    jeprof_stacks_free(&s);
}

TEST_MAIN()
