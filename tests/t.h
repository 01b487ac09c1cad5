/* t.h - the whole test framework.
 *
 *     #include "t.h"
 *     TEST(reader_stops_at_the_end) { CHECK_INT(rd_left(&r), 0); }
 *     TEST_MAIN()
 *
 * Prints TAP. Each test runs in a forked child, so a crash, a hang or a failed check costs that one test
 * only. The time limit (T_SECONDS, default 60) is kept by the parent, so a test may use every signal.
 * `PROGRAM word` runs the tests whose name has the word.
 */
#ifndef TESTS_T_H
#define TESTS_T_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct t_case {
    const char *name;
    void (*run)(void);
    struct t_case *next;
};

static struct t_case *t_first, **t_last = &t_first;
static int t_n_cases, t_n_bad;

#define TEST(name_)                                                                                          \
    static void t_run_##name_(void);                                                                         \
    __attribute__((constructor)) static void t_add_##name_(void)                                             \
    {                                                                                                        \
        static struct t_case c = {#name_, t_run_##name_, NULL};                                              \
        *t_last = &c;                                                                                        \
        t_last = &c.next;                                                                                    \
        t_n_cases++;                                                                                         \
    }                                                                                                        \
    static void t_run_##name_(void)

#define T_FAIL(...)                                                                                          \
    do {                                                                                                     \
        printf("# %s:%d: ", __FILE__, __LINE__);                                                             \
        printf(__VA_ARGS__);                                                                                 \
        printf("\n");                                                                                        \
        t_n_bad++;                                                                                           \
    } while (0)

#define CHECK(e)                                                                                             \
    do {                                                                                                     \
        if (!(e)) T_FAIL("%s", #e);                                                                          \
    } while (0)

#define CHECK_INT(got_, want_)                                                                               \
    do {                                                                                                     \
        long long g_ = (long long)(got_), w_ = (long long)(want_);                                           \
        if (g_ != w_) T_FAIL("%s is %lld, want %lld", #got_, g_, w_);                                        \
    } while (0)

#define CHECK_STR(got_, want_)                                                                               \
    do {                                                                                                     \
        const char *g_ = (got_), *w_ = (want_);                                                              \
        if (!g_ || strcmp(g_, w_)) T_FAIL("%s is \"%s\", want \"%s\"", #got_, g_ ? g_ : "(null)", w_);       \
    } while (0)

/* As CHECK, and ends this test when it does not hold. */
#define REQUIRE(e)                                                                                           \
    do {                                                                                                     \
        if (!(e)) {                                                                                          \
            T_FAIL("%s", #e);                                                                                \
            fflush(stdout);                                                                                  \
            _exit(1);                                                                                        \
        }                                                                                                    \
    } while (0)

#define SKIP(why)                                                                                            \
    do {                                                                                                     \
        printf("# skipped: %s\n", why);                                                                      \
        fflush(stdout);                                                                                      \
        _exit(77);                                                                                           \
    } while (0)

static inline int t_wait(pid_t child, int limit_s)
{
    int status;
    for (int waited_ms = 0; waitpid(child, &status, WNOHANG) == 0;) {
        int step_ms = waited_ms < 100 ? 1 : 20;
        nanosleep(&(struct timespec){.tv_nsec = step_ms * 1000000L}, NULL);
        waited_ms += step_ms;
        if (waited_ms >= limit_s * 1000) {
            kill(child, SIGKILL);
            waitpid(child, &status, 0);
            printf("# took longer than %d s\n", limit_s);
            break;
        }
    }
    return status;
}

static inline int t_main(int argc, char **argv)
{
    const char *limit = getenv("T_SECONDS");
    int n = 0, n_failed = 0;
    printf("1..%d\n", t_n_cases);
    for (struct t_case *c = t_first; c; c = c->next) {
        n++;
        if (argc > 1 && !strstr(c->name, argv[1])) {
            printf("ok %d - %s # SKIP not asked for\n", n, c->name);
            continue;
        }
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            c->run();
            fflush(stdout);
            exit(t_n_bad ? 1 : 0);
        }
        int status = t_wait(child, limit ? atoi(limit) : 60);
        int skipped = WIFEXITED(status) && WEXITSTATUS(status) == 77;
        int good = skipped || (WIFEXITED(status) && WEXITSTATUS(status) == 0);
        if (!good) n_failed++;
        if (WIFSIGNALED(status))
            printf("# ended by signal %d (%s)\n", WTERMSIG(status), strsignal(WTERMSIG(status)));
        printf("%s %d - %s%s\n", good ? "ok" : "not ok", n, c->name, skipped ? " # SKIP" : "");
    }
    return n_failed != 0;
}

#define TEST_MAIN()                                                                                          \
    int main(int argc, char **argv)                                                                          \
    {                                                                                                        \
        return t_main(argc, argv);                                                                           \
    }

#endif
