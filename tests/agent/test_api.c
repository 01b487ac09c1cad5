/* The public functions (include/procprof.h): structs that grow, settings, what an end means. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/sized.h"
#include "procprof.h"

#include "../t.h"

/* ---- structs that grow */

struct version_1 {
    size_t size;
    const char *text;
};
struct version_2 {
    size_t size;
    const char *text;
    uint32_t more;
};

TEST(a_struct_of_an_older_caller_is_taken_and_the_rest_is_zero)
{
    struct version_1 older = {.size = sizeof older, .text = "x"};
    struct version_2 ours;
    struct err err;
    memset(&ours, 0xff, sizeof ours);
    CHECK_INT(sized_copy(&ours, sizeof ours, &older, sizeof older, "pp_x", &err), 0);
    CHECK_INT(ours.size, sizeof ours);
    CHECK_STR(ours.text, "x");
    CHECK_INT(ours.more, 0);
    older.size--;
    CHECK_INT(sized_copy(&ours, sizeof ours, &older, sizeof older, "pp_x", &err), PP_ERROR_INPUT);
    CHECK_STR(err.text, "pp_x.size is 15, must be sizeof(struct pp_x)");
    older.size = SIZE_MAX; /* never filled in: not read */
    CHECK_INT(sized_copy(&ours, sizeof ours, &older, sizeof older, "pp_x", &err), PP_ERROR_INPUT);
}

TEST(options_of_a_newer_caller_are_taken_when_they_ask_for_nothing_new)
{
    struct {
        struct pp_options known;
        void *news[2];
    } newer = {.known = {.size = sizeof newer}};
    CHECK_INT(pp_agent_start(&newer.known), 0);
    pp_agent_stop();
    newer.news[1] = &newer;
    CHECK_INT(pp_agent_start(&newer.known), PP_ERROR_UNSUPPORTED);
    CHECK(strstr(pp_error_text(), "does not understand"));
    newer.known.size = sizeof newer.known; /* an older caller: what lies behind is not looked at */
    CHECK_INT(pp_agent_start(&newer.known), 0);
    pp_agent_stop();
    newer.known.size = 8;
    CHECK_INT(pp_agent_start(&newer.known), PP_ERROR_INPUT);
}

TEST(a_capture_of_a_newer_caller_is_taken_when_it_asks_for_nothing_new)
{
    struct {
        struct pp_capture known;
        void *news[2];
    } newer = {.known = {.size = sizeof newer, .kind = "threads", .format = "text"}};
    void *bytes;
    size_t n_bytes;
    CHECK_INT(pp_agent_start(NULL), 0);
    CHECK_INT(pp_profile(&newer.known, &bytes, &n_bytes), 0);
    pp_free(bytes, n_bytes);
    newer.news[0] = &newer;
    CHECK_INT(pp_profile(&newer.known, &bytes, &n_bytes), PP_ERROR_UNSUPPORTED);
    CHECK(strstr(pp_error_text(), "does not understand"));
    CHECK_INT(pp_profile(NULL, &bytes, &n_bytes), PP_ERROR_INPUT);
    pp_agent_stop();
}

TEST_MAIN()
