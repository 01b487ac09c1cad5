/* jeprof's command line, and its profiles: places, threads, bases. */
#include "../../t.h"
#include "base/mem.h"
#include "cmd/jeprof/jeprof_options.h"
#include "cmd/jeprof/jeprof_remote.h"
#include "cmd/jeprof/jeprof_report.h"

/* Blank-separated arguments; what is left goes to rest, joined by blanks. */
static int parse(const char *text, struct jeprof_options *o, char *rest, struct err *err)
{
    static char copy[400];
    char *argv[40] = {(char *)"jeprof"};
    int argc = 1;
    snprintf(copy, sizeof copy, "%s", text);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " ")) argv[argc++] = word;
    argv[argc] = NULL;
    int n = jeprof_options_parse(argc, argv, o, err);
    *rest = '\0';
    for (int i = 1; i <= n; i++) strcat(strcat(rest, i > 1 ? " " : ""), argv[i]);
    return n;
}

TEST(options_anywhere)
{
    struct jeprof_options o;
    struct err err;
    char rest[400];
    CHECK_INT(parse("--show_bytes --nodecount=1024 --nodefraction=0.001 --edgefraction=0.001 --maxdegree=64 "
                    "--pdf BIN "
                    "--base=a.prof b.prof",
                    &o, rest, &err),
              2);
    CHECK_STR(rest, "BIN b.prof");
    CHECK_STR(o.base, "a.prof");
    CHECK(o.show_bytes && o.pdf && !o.text);
    CHECK_INT(o.nodecount, 1024);
    CHECK_INT(o.maxdegree, 64);
    CHECK(o.nodefraction == 0.001 && o.edgefraction == 0.001);
    CHECK_INT(parse("a --text b -- --dot -x", &o, rest, &err), 4);
    CHECK_STR(rest, "a b --dot -x");
    CHECK_INT(parse("- --tex", &o, rest, &err), 1);
    CHECK_INT(parse("", &o, rest, &err), 0);
    CHECK_INT(o.nodecount, 80);
    CHECK_INT(o.seconds, 30);
}

TEST(shortened_and_in_any_case)
{
    static const struct {
        const char *text;
        size_t offset;
        bool want;
    } cases[] = {
        {"--tex", offsetof(struct jeprof_options, text), true},
        {"-TEXT", offsetof(struct jeprof_options, text), true},
        {"--text --notext", offsetof(struct jeprof_options, text), false},
        {"--text --no-text", offsetof(struct jeprof_options, text), false},
        {"--contention", offsetof(struct jeprof_options, contentions), true},
        {"--inuse_o", offsetof(struct jeprof_options, inuse_objects), true},
        {"--drop", offsetof(struct jeprof_options, drop_negative), true},
        {"--debug", offsetof(struct jeprof_options, debug),
         true}, /* whole, though a longer one begins like it */
        {"--cum", offsetof(struct jeprof_options, cum), true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct jeprof_options o;
        struct err err;
        char rest[400];
        if (parse(cases[i].text, &o, rest, &err)) T_FAIL("%s: %s", cases[i].text, err.text);
        CHECK_INT(*(bool *)((char *)&o + cases[i].offset), cases[i].want);
    }
}

TEST(refused)
{
    static const char *const cases[][2] = {
        {"--in", "Option in is ambiguous (interactive, inuse_objects, inuse_space)"},
        {"--bogus", "Unknown option: bogus"},
        {"--nodecount=many", "Value \"many\" invalid for option nodecount (number expected)"},
        {"--nodefraction=x", "Value \"x\" invalid for option nodefraction (real number expected)"},
        {"--base", "Option base requires an argument"},
        {"--text=yes", "Option text does not take an argument"},
        {"--nobase=x", "Unknown option: nobase"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct jeprof_options o;
        struct err err;
        char rest[400];
        CHECK(parse(cases[i][0], &o, rest, &err) < 0);
        CHECK_STR(err.text, cases[i][1]);
    }
}

TEST(urls)
{
    static const struct {
        const char *text, *base, *service;
    } cases[] = {
        {"http://h:80/pprof/heap", "http://h:80", "/pprof/heap"},
        {"h:80", "http://h:80", "/pprof/profile"},
        {"h:80/", "http://h:80", "/pprof/profile"},
        {"h:80/debug/mem", "http://h:80/debug/mem", "/pprof/profile"},
        {"https://h/debug/pprof/heap", "https://h/debug", "/pprof/heap"},
        {"http://h/a/pprof/pmuprofile?event=x", "http://h/a", "/pprof/pmuprofile?event=x"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct jeprof_url url = {0};
        CHECK(jeprof_url_parse(cases[i].text, &url));
        CHECK_STR(url.base, cases[i].base);
        CHECK_STR(url.service, cases[i].service);
        jeprof_url_free(&url);
    }
    CHECK(jeprof_is_url("host:8060/pprof/heap"));
    CHECK(jeprof_is_url("http://host/x"));
    CHECK(!jeprof_is_url("nosuchfile"));
    CHECK(!jeprof_is_url("-"));
    CHECK(!jeprof_is_url("/no/such:12/file"));
}

static void add(struct jeprof_profile *p, const struct jeprof_options *o, const char *text, double sign)
{
    struct bytes bytes = {.data = (uint8_t *)text, .len = strlen(text)};
    struct buf notes = {0};
    struct err err = {0};
    if (jeprof_profile_add(p, &bytes, "test", "/bin/prog", o, sign, &notes, &err)) T_FAIL("%s", err.text);
    buf_free(&notes);
}

TEST(the_same_place_at_two_addresses)
{
    struct jeprof_options o;
    struct jeprof_profile p = {0};
    struct err err;
    char rest[400];
    parse("--text", &o, rest, &err);
    add(&p, &o,
        "heap profile: 2: 300 [2: 300] @ heapprofile\n2: 300 [2: 300] @ 0x55001100 "
        "0x55001205\nMAPPED_LIBRARIES:\n"
        "55001000-55002000 r-xp 00001000 08:01 1 /bin/prog\n",
        1);
    add(&p, &o,
        "heap profile: 1: 100 [1: 100] @ heapprofile\n1: 100 [1: 100] @ 0x66001100 "
        "0x66001205\nMAPPED_LIBRARIES:\n"
        "66001000-66002000 r-xp 00001000 08:01 1 /elsewhere/prog\n",
        -1);
    CHECK_INT(p.n_places, 2);
    CHECK_INT(p.all.n_stacks, 1);
    CHECK(p.all.counts[0] == 200);
    CHECK_INT(p.places[0].address, 0x55001100); /* the sampled address stays, callers are one less */
    CHECK_INT(p.places[1].address, 0x55001204);
    jeprof_profile_free(&p);
}

TEST(threads_and_sampling)
{
    struct jeprof_options o;
    struct jeprof_profile p = {0};
    struct err err;
    char rest[400];
    static const char dump[] =
        "heap_v2/1000\n  t*: 3: 3000 [0: 0]\n  t1: 1: 1000 [0: 0] worker\n@ 0x10 0x20\n"
        "  t*: 3: 3000 [0: 0]\n  t1: 1: 1000 [0: 0]\n  t7: 2: 2000 [0: 0]\n";
    parse("--text --thread=7", &o, rest, &err);
    add(&p, &o, dump, 1);
    CHECK_INT(p.n_threads, 2);
    CHECK_INT(p.threads[1].number, 7);
    /* 1000 bytes each at a rate of 1000: one in 1 - 1/e is seen */
    CHECK_INT(p.all.counts[0], 3000 / (1 - 0.36787944));
    CHECK_INT(p.threads[1].sums.counts[0], 2000 / (1 - 0.36787944));
    jeprof_profile_free(&p);

    struct jeprof_profile objects = {0};
    parse("--inuse_objects", &o, rest, &err);
    add(&objects, &o, dump, 1);
    CHECK_INT(objects.n_threads, 0);
    CHECK_INT(objects.unit, JEPROF_OBJECTS);
    CHECK(objects.all.counts[0] > 4.7 && objects.all.counts[0] < 4.8);
    jeprof_profile_free(&objects);
}

TEST(negative_sums)
{
    struct jeprof_options o;
    struct jeprof_profile p = {0};
    struct err err;
    char rest[400];
    parse("--text", &o, rest, &err);
    add(&p, &o, "heap profile: 1: 10 [1: 10] @ heapprofile\n1: 10 [1: 10] @ 0x1\n", -1);
    CHECK(jeprof_sums_total(&p.all) == -10);
    jeprof_profile_drop_negative(&p);
    CHECK(jeprof_sums_total(&p.all) == 0);
    jeprof_profile_free(&p);
}

TEST(kinds_do_not_mix)
{
    struct jeprof_options o;
    struct jeprof_profile p = {0};
    struct err err;
    char rest[400];
    parse("--text", &o, rest, &err);
    add(&p, &o, "heap profile: 1: 10 [1: 10] @ heapprofile\n1: 10 [1: 10] @ 0x1\n", 1);
    static const char locks[] = "--- contention\ncycles/second=1000\n5 1 @ 0x1\n";
    struct bytes bytes = {.data = (uint8_t *)(uintptr_t)locks, .len = strlen(locks)};
    struct buf notes = {0};
    CHECK(jeprof_profile_add(&p, &bytes, "locks.prof", NULL, &o, 1, &notes, &err) != 0);
    CHECK(strstr(err.text, "locks.prof") != NULL);
    buf_free(&notes);
    jeprof_profile_free(&p);
}

TEST(inlined_names)
{
    struct jeprof_options o;
    struct jeprof_profile p = {0};
    struct err err;
    char rest[400];
    parse("--text", &o, rest, &err);
    add(&p, &o, "heap profile: 1: 10 [1: 10] @ heapprofile\n1: 10 [1: 10] @ 0x10 0x21\n", 1);
    static const char names[] =
        "0x10 outer--middle--inner\n0x0000020 X::operator--(int)--last\nnoise\n0x99 none\n";
    jeprof_profile_add_names(&p, names, strlen(names));
    CHECK_INT(p.places[0].n_frames, 3);
    CHECK_STR(strtab_get(&p.text, p.frames[p.places[0].first_frame].full).s, "inner");
    CHECK_INT(p.places[1].n_frames, 2);
    CHECK_STR(strtab_get(&p.text, p.frames[p.places[1].first_frame + 1].full).s, "X::operator--(int)");
    jeprof_profile_free(&p);
}

TEST_MAIN()
