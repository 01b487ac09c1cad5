/* Filters, pruning, granularity, frames made of labels. */
#include "make.h"
#include "profile/filter.h"

static const char stacks[] = "main;work;hash 10\nmain;work;sort 5\nmain;idle 3\nmain;work;hash;malloc 2\n";

TEST(focus_ignore_hide_show)
{
    static const struct {
        const char *focus, *ignore, *hide, *show, *want;
    } cases[] = {
        {"hash", NULL, NULL, NULL, "hash<work<main 10;malloc<hash<work<main 2"},
        {NULL, "hash", NULL, NULL, "sort<work<main 5;idle<main 3"},
        {"work", "malloc", NULL, NULL, "hash<work<main 10;sort<work<main 5"},
        {NULL, NULL, "work|hash", NULL, "main 10;sort<main 5;idle<main 3;malloc<main 2"},
        {NULL, NULL, NULL, "main|sort", "main 10;sort<main 5;main 3;main 2"},
        {NULL, NULL, NULL, "sort", "sort 5"},
        {"nothing", NULL, NULL, NULL, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct profile *p = make(stacks);
        struct regex *r[] = {
            cases[i].focus ? re(cases[i].focus) : NULL, cases[i].ignore ? re(cases[i].ignore) : NULL,
            cases[i].hide ? re(cases[i].hide) : NULL, cases[i].show ? re(cases[i].show) : NULL};
        struct filter_matched matched = profile_filter_by_name(p, r[0], r[1], r[2], r[3]);
        CHECK_PROFILE(p, cases[i].want);
        CHECK_INT(matched.focus, !cases[i].focus || strcmp(cases[i].focus, "nothing") != 0);
        CHECK_INT(matched.hide, cases[i].hide != NULL);
        for (int k = 0; k < 4; k++) regex_free(r[k]);
        profile_free(p);
    }
}

TEST(show_from_the_highest_match)
{
    struct profile *p = make(stacks);
    struct regex *r = re("work|hash");
    CHECK(profile_show_from(p, r));
    CHECK_PROFILE(p, "hash<work 10;sort<work 5;malloc<hash<work 2");
    regex_free(r);
    profile_free(p);
}

TEST(prune_from_makes_a_leaf)
{
    struct profile *p = make(stacks);
    struct regex *r = re("^work$");
    profile_prune_from(p, r);
    CHECK_PROFILE(p, "work<main 10;work<main 5;idle<main 3;work<main 2");
    regex_free(r);
    profile_free(p);
}

TEST(drop_and_keep_frames)
{
    struct profile *p = make("main;work;malloc;arena 7\nmain;work;malloc_keep 2\nmalloc 1\n");
    struct err err;
    CHECK_INT(profile_drop_uninteresting(p, &err), 0); /* nothing asked */
    CHECK_PROFILE(p, "arena<malloc<work<main 7;malloc_keep<work<main 2;malloc 1");
    p->drop_frames = profile_cstr(p, "malloc.*");
    p->keep_frames = profile_cstr(p, ".*keep");
    CHECK_INT(profile_drop_uninteresting(p, &err), 0);
    CHECK_PROFILE(p, "work<main 7;malloc_keep<work<main 2;malloc 1"); /* a stack is never emptied */
    p->drop_frames = profile_cstr(p, "(");
    CHECK(profile_drop_uninteresting(p, &err) != 0);
    profile_free(p);
}

TEST(labels)
{
    struct profile *p = make("a 1\nb 2\n");
    bool shown, hidden;
    profile_set_label(p, "host", "x");
    profile_set_label(p, "zone", "z");
    CHECK_PROFILE(p, "a 1{zone=z}{host=x};b 2{zone=z}{host=x}");
    profile_set_label(p, "host", "y");
    struct regex *hide = re("zone");
    profile_filter_labels(p, NULL, hide, &shown, &hidden);
    CHECK(hidden);
    CHECK_PROFILE(p, "a 1{host=y};b 2{host=y}");
    regex_free(hide);
    struct regex *show_only = re("nothing");
    profile_filter_labels(p, show_only, NULL, &shown, &hidden);
    CHECK(!shown);
    regex_free(show_only);
    profile_set_label(p, "host", "x");
    profile_remove_label(p, "host");
    CHECK_PROFILE(p, "a 1;b 2");
    profile_free(p);
}

static bool is_even(void *context, const struct profile *p, size_t sample)
{
    ++*(int *)context;
    return profile_sample_values(p, sample)[0] % 2 == 0;
}

TEST(filter_by_test)
{
    struct profile *p = make(stacks);
    int n_asked = 0;
    profile_filter_by_test(p, is_even, &n_asked);
    CHECK_INT(n_asked, 4);
    CHECK_PROFILE(p, "hash<work<main 10;malloc<hash<work<main 2");
    profile_free(p);
}

static const char *format_bytes(void *context, int64_t value, const char *unit)
{
    char *into = context;
    snprintf(into, 32, "%lld %s", (long long)value, unit);
    return into;
}

TEST(frames_of_labels)
{
    struct profile *p = make("main;a 1\nmain;b 2\n");
    bool roots, leaves;
    char scratch[32];
    profile_set_label(p, "host", "x");
    profile_add_label_frames(p, "host,zone", "", format_bytes, scratch, &roots, &leaves);
    CHECK(roots && !leaves);
    struct buf out = {0};
    const char *text = show(p, &out);
    CHECK(strstr(text, "a<main<") && strstr(text, "x"));
    CHECK_INT(profile_sample_depth(p, 0), 4); /* a, main, zone, host */
    buf_free(&out);
    profile_free(p);
}

static struct profile *two_lines(void)
{
    struct profile *p = profile_new();
    profile_add_sample_type(p, "samples", "count");
    uint32_t main_name = profile_cstr(p, "main"), inner = profile_cstr(p, "inner"),
             file = profile_cstr(p, "a.c");
    uint32_t f = profile_add_function(p, main_name, main_name, file, 1),
             g = profile_add_function(p, inner, inner, file, 9);
    uint32_t locations[2];
    for (int i = 0; i < 2; i++) {
        locations[i] = profile_add_location(p, 0x100 + (uint64_t)i, 0);
        profile_add_line(p, g, 10 + i, 0);
        profile_add_line(p, f, 2 + i, 0);
    }
    int64_t one[] = {1}, two[] = {2};
    profile_add_sample(p, &locations[0], 1, one);
    profile_add_sample(p, &locations[1], 1, two);
    return p;
}

TEST(aggregation)
{
    struct profile *p = two_lines();
    profile_aggregate(p,
                      (struct aggregate){.inlines = true, .function = true, .filename = true, .line = true});
    for (size_t i = 0; i < p->n_locations; i++) CHECK_INT(p->locations[i].address, 0);
    CHECK_PROFILE(p, "inner^main 1;inner^main 2");
    profile_free(p);

    p = two_lines();
    profile_aggregate(p, (struct aggregate){.function = true}); /* the outer function alone */
    CHECK_PROFILE(p, "main 1;main 2");
    for (size_t i = 0; i < p->n_locations; i++) CHECK_INT(p->lines[p->locations[i].first_line].line, 0);
    profile_free(p);
}

TEST(a_copy_is_its_own)
{
    struct profile *p = make(stacks), *copy = profile_copy(p);
    profile_scale(copy, 2);
    CHECK_PROFILE(p, "hash<work<main 10;sort<work<main 5;idle<main 3;malloc<hash<work<main 2");
    profile_free(p);
    CHECK_PROFILE(copy, "hash<work<main 20;sort<work<main 10;idle<main 6;malloc<hash<work<main 4");
    profile_free(copy);
}

TEST_MAIN()
