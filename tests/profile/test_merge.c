/* Merging, subtracting, making profiles comparable. */
#include "base/mem.h"
#include "make.h"
#include "profile/compat.h"
#include "profile/filter.h"

TEST(equal_stacks_add_up)
{
    struct profile *sources[] = {make("a;b 10\na;c 1\n"), make("a;b 5\nd 2\n"), make("a;b 1\n")}, *merged;
    struct err err;
    REQUIRE(profile_merge(sources, 3, &merged, &err) == 0);
    CHECK_PROFILE(merged, "b<a 16;c<a 1;d 2");
    CHECK_INT(merged->n_functions, 4);
    CHECK_INT(merged->n_locations, 4);
    CHECK_PROFILE(sources[0], "b<a 10;c<a 1");
    for (int i = 0; i < 3; i++) profile_free(sources[i]);
    profile_free(merged);
}

TEST(labels_keep_stacks_apart)
{
    struct profile *sources[] = {make("m;a 10\n"), make("m;a 5\n"), make("m;a 1\n")}, *merged;
    struct err err;
    profile_set_label(sources[0], "host", "x");
    profile_set_label(sources[1], "host", "y");
    profile_set_label(sources[2], "host", "x");
    REQUIRE(profile_merge(sources, 3, &merged, &err) == 0);
    CHECK_PROFILE(merged, "a<m 11{host=x};a<m 5{host=y}");
    for (int i = 0; i < 3; i++) profile_free(sources[i]);
    profile_free(merged);
}

TEST(times_and_comments)
{
    struct profile *sources[] = {make("m;a 1\n"), make("m;a 1\n")}, *merged;
    struct err err;
    sources[0]->time_ns = 200, sources[0]->duration_ns = 10, sources[0]->period = 7;
    sources[1]->time_ns = 100, sources[1]->duration_ns = 5, sources[1]->period = 9;
    profile_add_comment(sources[0], "same");
    profile_add_comment(sources[1], "same");
    profile_add_comment(sources[1], "other");
    REQUIRE(profile_merge(sources, 2, &merged, &err) == 0);
    CHECK_INT(merged->time_ns, 100);
    CHECK_INT(merged->duration_ns, 15);
    CHECK_INT(merged->period, 9);
    CHECK_INT(merged->n_comments, 2);
    profile_free(sources[0]);
    profile_free(sources[1]);
    profile_free(merged);
}

TEST(durations_end_at_the_largest_number)
{
    struct profile *sources[] = {make("m;a 1\n"), make("m;a 1\n")}, *merged;
    struct err err;
    sources[0]->duration_ns = INT64_MAX - 1;
    sources[1]->duration_ns = 5;
    REQUIRE(profile_merge(sources, 2, &merged, &err) == 0);
    CHECK(merged->duration_ns == INT64_MAX);
    profile_free(sources[0]);
    profile_free(sources[1]);
    profile_free(merged);
}

static struct profile *typed(const char *type, const char *unit, const char *type2, const char *unit2,
                             int64_t value)
{
    struct profile *p = profile_new();
    profile_add_sample_type(p, type, unit);
    if (type2) profile_add_sample_type(p, type2, unit2);
    uint32_t name = profile_cstr(p, "f"), f = profile_add_function(p, name, name, 0, 0);
    uint32_t l = profile_add_location(p, 0, 0);
    profile_add_line(p, f, 0, 0);
    int64_t values[] = {value, value * 10};
    profile_add_sample(p, &l, 1, values);
    return p;
}

TEST(other_sample_types_are_refused)
{
    struct profile *sources[] = {typed("cpu", "nanoseconds", NULL, NULL, 1),
                                 typed("inuse", "bytes", NULL, NULL, 1)},
                   *merged;
    struct err err = {0};
    CHECK(profile_merge(sources, 2, &merged, &err) != 0);
    CHECK(err.text[0]);
    err.text[0] = '\0';
    CHECK_INT(profile_make_compatible(sources, 2, &err), ERR_INPUT);
    CHECK_STR(err.text, "profiles have empty common sample type list");
    profile_free(sources[0]);
    profile_free(sources[1]);
}

TEST(common_types_in_the_finest_unit)
{
    struct profile *sources[] = {typed("samples", "count", "cpu", "milliseconds", 2),
                                 typed("cpu", "microseconds", "samples", "count", 3)};
    struct profile *merged;
    struct err err;
    REQUIRE(profile_make_compatible(sources, 2, &err) == 0);
    REQUIRE(profile_merge(sources, 2, &merged, &err) == 0);
    CHECK_PROFILE(merged, "f 32,20003");
    CHECK_STR(profile_text(merged, merged->sample_types[1].unit), "microseconds");
    profile_free(sources[0]);
    profile_free(sources[1]);
    profile_free(merged);
}

TEST(only_what_all_have)
{
    struct profile *sources[] = {typed("objects", "count", "space", "bytes", 2),
                                 typed("space", "bytes", NULL, NULL, 5)};
    struct err err;
    REQUIRE(profile_make_compatible(sources, 2, &err) == 0);
    CHECK_PROFILE(sources[0], "f 20");
    CHECK_PROFILE(sources[1], "f 5");
    profile_free(sources[0]);
    profile_free(sources[1]);
}

TEST(subtraction)
{
    struct profile *p = make("a;b 10\na;c 4\n"), *base = make("a;b 3\nd 5\n");
    struct err err;
    REQUIRE(profile_subtract(&p, base, false, false, &err) == 0);
    CHECK_PROFILE(p, "b<a 7;c<a 4;d -5");
    profile_free(p);
    profile_free(base);

    p = make("a;b 10\n"), base = make("a;b 3\n");
    REQUIRE(profile_subtract(&p, base, true, false, &err) == 0); /* the base stays recognisable */
    CHECK_PROFILE(p, "b<a 10;b<a -3{pprof::base=true}");
    profile_free(p);
    profile_free(base);
}

TEST(normalization)
{
    struct profile *p = make("a 10\nb 30\n"), *base = make("a 8\nc 12\n");
    profile_normalize(p, base);
    CHECK_PROFILE(p, "a 5;b 15");
    profile_free(p);
    profile_free(base);
}

/* Tables that are alike at first sight: the same index, but another text, line or file behind it. */
static struct profile *nearly(unsigned variant)
{
    struct profile *p = profile_new();
    profile_add_sample_type(p, "cpu", "count");
    uint32_t file = profile_cstr(p, variant == 1 ? "other.c" : "file.c");
    uint32_t map = profile_add_mapping(p, 0x1000 * (1 + variant % 2), 0x1000 * (1 + variant % 2) + 0x1000, 0,
                                       profile_cstr(p, variant == 2 ? "b.so" : "a.so"), 0);
    for (unsigned i = 0; i < 6; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%u", (i + (variant == 3)) % 6);
        uint32_t text = profile_cstr(p, name),
                 f = profile_add_function(p, text, text, file, variant == 4 && i == 2);
        profile_add_location(p, p->mappings[map].start + i * 16, variant == 5 && i == 4 ? 0 : 1);
        profile_add_line(p, f, 10 + i + (variant == 6 && i == 1), 0);
    }
    for (uint32_t i = 0; i < 6; i++) {
        uint32_t stack[] = {(i + variant) % 6, (i + 1) % 6};
        profile_add_sample(p, stack, 2, &(int64_t){1 + i});
        if (i % 3 == 0)
            profile_add_label_str(p, profile_cstr(p, "k"), profile_cstr(p, variant % 2 ? "x" : "y"));
    }
    return p;
}

/* Every field that a sample leads to, as text. */
static void spell(const struct profile *p, struct buf *out)
{
    show(p, out);
    for (size_t i = 0; i < p->n_locations; i++) {
        const struct location *l = &p->locations[i];
        const struct line *line = &p->lines[l->first_line];
        const struct function *f = &p->functions[line->function];
        buf_printf(out, "\n%llx %s %lld %s %s %lld", (unsigned long long)l->address,
                   l->mapping ? profile_text(p, p->mappings[l->mapping - 1].filename) : "-",
                   (long long)line->line, profile_text(p, f->name), profile_text(p, f->filename),
                   (long long)f->start_line);
    }
    buf_cstr(out);
}

TEST(many_at_once_are_as_one_after_the_other)
{
    enum { N = 40 };
    struct profile *sources[N], *at_once, *one_by_one;
    struct err err;
    for (unsigned i = 0; i < N; i++) sources[i] = nearly(i * 5 % 8);
    REQUIRE(profile_merge(sources, N, &at_once, &err) == 0);
    REQUIRE(profile_merge(sources, 1, &one_by_one, &err) == 0);
    for (unsigned i = 1; i < N; i++) {
        struct profile *next;
        REQUIRE(profile_merge((struct profile *[]){one_by_one, sources[i]}, 2, &next, &err) == 0);
        profile_free(one_by_one);
        one_by_one = next;
    }
    struct buf a = {0}, b = {0};
    spell(at_once, &a);
    spell(one_by_one, &b);
    CHECK_STR(a.data, b.data);
    int64_t total = 0;
    for (size_t s = 0; s < at_once->n_samples; s++) total += profile_sample_values(at_once, s)[0];
    CHECK_INT(total, N * 21);
    CHECK(at_once->n_locations > 6);
    CHECK_INT(profile_check(at_once, &err), 0);
    buf_free(&a);
    buf_free(&b);
    for (unsigned i = 0; i < N; i++) profile_free(sources[i]);
    profile_free(at_once);
    profile_free(one_by_one);
}

TEST(a_merger_leaves_out_what_does_not_fit)
{
    struct profile_merger *merger = profile_merger_new();
    struct err err = {0};
    CHECK_INT(profile_merger_take(merger, 0, make("a;b 10\n"), &err), 0);
    CHECK_INT(profile_merger_take(merger, 1, NULL, &err), 0);
    CHECK_INT(profile_merger_take(merger, 2, typed("inuse", "bytes", NULL, NULL, 1), &err), ERR_INPUT);
    CHECK(strstr(err.text, "incompatible"));
    CHECK_INT(profile_merger_take(merger, 3, make("a;b 5\nc 1\n"), &err), 0);
    struct profile *merged = profile_merger_end(merger);
    CHECK_PROFILE(merged, "b<a 15;c 1");
    profile_free(merged);
}

TEST_MAIN()
