/* The model itself: what a valid profile is, which value is shown, scaling. */
#include "make.h"

static struct profile *heap(void)
{
    struct profile *p = profile_new();
    profile_add_sample_type(p, "alloc_space", "bytes");
    profile_add_sample_type(p, "inuse_objects", "count");
    profile_add_sample_type(p, "inuse_space", "bytes");
    uint32_t name = profile_cstr(p, "main"), file = profile_cstr(p, "a.c");
    uint32_t mapping = profile_add_mapping(p, 0x1000, 0x2000, 0, profile_cstr(p, "/bin/x"), 0);
    uint32_t f = profile_add_function(p, name, name, file, 3);
    uint32_t l = profile_add_location(p, 0x1234, mapping + 1);
    profile_add_line(p, f, 7, 2);
    int64_t values[] = {30, 2, 20};
    profile_add_sample(p, &l, 1, values);
    profile_add_label_str(p, profile_cstr(p, "thread"), profile_cstr(p, "t1"));
    profile_add_label_num(p, profile_cstr(p, "bytes"), 10, profile_cstr(p, "bytes"));
    return p;
}

TEST(built_by_hand)
{
    struct profile *p = heap();
    CHECK_PROFILE(p, "main 30,2,20{thread=t1}{bytes=10bytes}");
    CHECK_INT(p->locations[0].id, 1);
    CHECK_INT(p->functions[0].start_line, 3);
    CHECK_INT(p->lines[0].column, 2);
    profile_free(p);
}

TEST(sample_type_by_name)
{
    struct profile *p = heap();
    CHECK_INT(profile_default_sample_index(p), 2);
    CHECK_INT(profile_sample_index(p, "alloc_space"), 0);
    CHECK_INT(profile_sample_index(p, "1"), 1);
    CHECK_INT(profile_sample_index(p, "3"), -1);
    CHECK_INT(profile_sample_index(p, "-1"), -1);
    CHECK_INT(profile_sample_index(p, "delay"), -1);
    p->default_sample_type = profile_cstr(p, "alloc_space");
    CHECK_INT(profile_default_sample_index(p), 0);
    profile_free(p);

    p = profile_new(); /* old heap profiles have the plain names */
    profile_add_sample_type(p, "objects", "count");
    profile_add_sample_type(p, "space", "bytes");
    CHECK_INT(profile_sample_index(p, "inuse_space"), 1);
    CHECK_INT(profile_sample_index(p, "inuse_objects"), 0);
    CHECK_INT(profile_sample_index(p, "alloc_space"), -1);
    profile_free(p);
}

TEST(check_finds_what_is_wrong)
{
    struct err err;
    struct profile *p = heap();
    CHECK_INT(profile_check(p, &err), 0);
    p->sample_locations[0] = 5;
    CHECK(profile_check(p, &err) != 0 && err.text[0]);
    p->sample_locations[0] = 0;
    p->lines[0].function = 9;
    CHECK(profile_check(p, &err) != 0);
    p->lines[0].function = 0;
    p->locations[0].mapping = 2;
    CHECK(profile_check(p, &err) != 0);
    p->locations[0].mapping = 1;
    p->functions[0].id = 0;
    CHECK(profile_check(p, &err) != 0);
    p->functions[0].id = 1;
    p->functions[0].name = 4711;
    CHECK(profile_check(p, &err) != 0);
    p->functions[0].name = 0;
    p->locations[0].n_lines = 2;
    CHECK(profile_check(p, &err) != 0);
    p->locations[0].n_lines = 1;
    CHECK_INT(profile_check(p, &err), 0);
    profile_free(p);
}

TEST(equal_text_is_one_string)
{
    struct profile *p = profile_new();
    uint32_t a = profile_cstr(p, "abc");
    CHECK_INT(profile_string(p, "abcd", 3), a);
    CHECK_INT(profile_string(p, "", 0), 0);
    CHECK(profile_string(p, "ab\0c", 4) != profile_string(p, "ab\0d", 4));
    CHECK_INT(profile_str(p, profile_string(p, "ab\0c", 4)).len, 4);
    profile_free(p);
}

TEST(scaling)
{
    struct profile *p = make("a;b 10\na 3\n");
    profile_scale(p, 0.5);
    CHECK_PROFILE(p, "b<a 5;a 2");
    profile_scale(p, 0);
    for (size_t i = 0; i < p->n_samples; i++) CHECK_INT(profile_sample_values(p, i)[0], 0);
    profile_free(p);
}

TEST(comments_and_an_empty_profile)
{
    struct profile *p = profile_new();
    struct err err;
    profile_add_comment(p, "one");
    profile_add_comment(p, "two");
    CHECK_INT(p->n_comments, 2);
    CHECK_STR(profile_text(p, p->comments[1]), "two");
    profile_add_sample_type(p, "samples", "count");
    CHECK_INT(profile_check(p, &err), 0);
    CHECK_PROFILE(p, "");
    profile_free(p);
    profile_free(NULL);
}

TEST_MAIN()
