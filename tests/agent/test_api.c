/* The public functions (include/procprof.h): structs that grow, settings, what an end means. */
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

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

/* ---- settings */

/* The status code of the answer. */
static int ask(const char *path, const char *token)
{
    char text[1024];
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)pp_agent_port())};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    REQUIRE(fd >= 0 && !connect(fd, (struct sockaddr *)&a, sizeof a));
    int n = snprintf(text, sizeof text, "GET %s HTTP/1.0\r\nAuthorization: Bearer %s\r\n\r\n", path, token);
    REQUIRE(write(fd, text, (size_t)n) == n);
    ssize_t got = recv(fd, text, sizeof text - 1, MSG_WAITALL);
    close(fd);
    REQUIRE(got > 12);
    text[got] = 0;
    return atoi(text + 9);
}

TEST(a_token_may_hold_commas_and_what_looks_like_settings)
{
    struct pp_options o = {.size = sizeof o, .listen = "127.0.0.1:0", .token = "abc,quiet,hz=1"};
    CHECK_INT(pp_agent_start(&o), 0);
    CHECK_INT(ask("/pprof/cmdline", "abc"), 401);
    CHECK_INT(ask("/pprof/cmdline", "abc,quiet,hz=1"), 200);
    pp_agent_stop();
    o.settings = "token=other,hz=5"; /* settings come first */
    CHECK_INT(pp_agent_start(&o), 0);
    CHECK_INT(ask("/pprof/cmdline", "abc,quiet,hz=1"), 401);
    CHECK_INT(ask("/pprof/cmdline", "other"), 200);
    pp_agent_stop();
}

TEST(an_address_is_taken_as_it_is)
{
    struct pp_options o = {.size = sizeof o, .listen = "127.0.0.1:0,token=x"};
    CHECK_INT(pp_agent_start(&o), PP_ERROR_INPUT);
    CHECK_STR(pp_error_text(), "listen: \"0,token=x\" is not a port");
}

TEST_MAIN()
