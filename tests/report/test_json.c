#include "../profile/make.h"
#include "report/source_json.h"
#include "report/speedscope.h"
#include "report/top_json.h"

TEST(top_lists_functions_by_flat_value)
{
    struct profile *p = make("main;hash 7\nmain 3\nmain;idle 1\n");
    struct buf out = {0};
    top_json_write(p, 0, NULL, 0, 2, &out);
    CHECK_STR(buf_cstr(&out), "{\"unit\":\"count\",\"sample\":\"samples\",\"total\":11,\"rows\":["
                              "{\"name\":\"hash\",\"file\":\"\",\"line\":0,\"flat\":7,\"cum\":7},"
                              "{\"name\":\"main\",\"file\":\"\",\"line\":0,\"flat\":3,\"cum\":11}]}");
    buf_free(&out);
    profile_free(p);
}

TEST(top_with_a_base_ends_with_what_only_the_base_has)
{
    struct profile *p = make("main;hash 7\n"), *base = make("main;gone 4\nmain;hash 5\n");
    struct buf out = {0};
    top_json_write(p, 0, base, 0, 10, &out);
    const char *text = buf_cstr(&out);
    CHECK(strstr(text, "\"total\":7,\"base_total\":9,"));
    CHECK(strstr(text, "\"flat\":7,\"cum\":7,\"base_flat\":5,\"base_cum\":5}"));
    CHECK(strstr(text, "{\"name\":\"gone\",\"file\":\"\",\"line\":0,\"flat\":0,\"cum\":0,\"base_flat\":4,"
                       "\"base_cum\":4}]}"));
    buf_free(&out);
    profile_free(p);
    profile_free(base);
}

TEST(source_without_the_file_has_only_the_lines_that_cost)
{
    struct profile *p = profile_new();
    profile_add_sample_type(p, "cpu", "nanoseconds");
    uint32_t file = profile_cstr(p, "no/such/file.c"), locations[2];
    uint32_t function = profile_add_function(p, profile_cstr(p, "hash"), 0, file, 10);
    for (int i = 0; i < 2; i++) {
        locations[i] = profile_add_location(p, 0x1000 + (uint64_t)i, 0);
        profile_add_line(p, function, 12 + i * 3, 0);
        profile_add_sample(p, &locations[i], 1, (int64_t[]){5 + i});
    }
    struct buf out = {0};
    struct err err;
    CHECK_INT(source_json_write(p, 0, "^ha", "/nowhere", &out, &err), 0);
    CHECK_STR(buf_cstr(&out), "{\"functions\":[{\"name\":\"hash\",\"file\":\"no/such/file.c\",\"lines\":["
                              "{\"line\":12,\"flat\":5,\"cum\":5,\"text\":\"\"},"
                              "{\"line\":15,\"flat\":6,\"cum\":6,\"text\":\"\"}]}]}");
    out.len = 0;
    CHECK_INT(source_json_write(p, 0, "other", "/nowhere", &out, &err), 0);
    CHECK_STR(buf_cstr(&out), "{\"functions\":[]}");
    out.len = 0;
    CHECK_INT(source_json_write(p, 0, "(", "/nowhere", &out, &err), ERR_INPUT);
    CHECK_INT(out.len, 0);
    buf_free(&out);
    profile_free(p);
}

TEST(speedscope_lists_each_frame_once_and_stacks_from_the_root)
{
    struct profile *p = make("main;hash 7\nmain 3\n");
    uint32_t unnamed = profile_add_location(p, 0xabc, 0);
    profile_add_sample(p, &unnamed, 1, (int64_t[]){2});
    profile_add_sample(p, &unnamed, 1, (int64_t[]){-1}); /* no weight of the format */
    struct buf out = {0};
    speedscope_write(p, 0, &out);
    const char *text = buf_cstr(&out);
    CHECK(strstr(text,
                 "\"shared\":{\"frames\":[{\"name\":\"main\"},{\"name\":\"hash\"},{\"name\":\"0xabc\"}]}"));
    CHECK(strstr(text, "\"unit\":\"none\",\"startValue\":0,\"endValue\":11,"));
    CHECK(strstr(text, "\"samples\":[[0,1],[0],[2]],\"weights\":[7,3,2]}]"));
    buf_free(&out);
    profile_free(p);
}

TEST_MAIN()
