#include "base/assert.h"

#include "../t.h"

#include <fcntl.h>

static void break_an_invariant(int n_items)
{
    ASSERT(n_items > 0);
}

TEST(a_broken_invariant_names_its_place_and_aborts)
{
    if (!ASSERT_ON) SKIP("this build does not check invariants; ASSERT=1 does");
    int ends[2];
    REQUIRE(!pipe2(ends, O_CLOEXEC));
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        signal(SIGABRT, SIG_DFL);
        break_an_invariant(0);
        _exit(0);
    }
    close(ends[1]);
    char text[400] = "";
    CHECK(read(ends[0], text, sizeof text - 1) > 0);
    CHECK(strstr(text, "tests/base/test_assert.c:"));
    CHECK(strstr(text, "broken invariant: n_items > 0\n"));
    int status = t_wait(child, 10);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

TEST(releases_do_not_evaluate_the_condition)
{
    if (ASSERT_ON) SKIP("this build checks invariants");
    int n_evaluated = 0;
    ASSERT(++n_evaluated);
    CHECK_INT(n_evaluated, 0);
}

TEST(an_invariant_that_holds_is_silent)
{
    break_an_invariant(1);
}

TEST_MAIN()
