/* The public functions (include/procprof.h): structs that grow, settings, what an end means. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>

#include "agent/host/sized.h"
#include "agent/hot/heap_hook.h"
#include "agent/hot/lock_hook.h"
#include "procprof.h"

#include "../t.h"

#if defined(__SANITIZE_ADDRESS__) ||                                                                         \
    defined(__SANITIZE_THREAD__) /* stand in for malloc and locks themselves */
#define SEES_CALLS 0
#else
#define SEES_CALLS 1
#endif

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
    CHECK_STR(err.text, "pp_x.size is 15; set it to sizeof(struct pp_x)");
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
    CHECK(strstr(pp_error_text(), "knows only"));
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
    CHECK(strstr(pp_error_text(), "knows only"));
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
    CHECK_STR(pp_error_text(), "listen: \"0,token=x\" is not a port; use 0 to 65535");
}

/* ---- a capture */

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int n_descriptors(void)
{
    int n = 0;
    for (int fd = 0; fd < 2048; fd++) n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

TEST(what_is_wrong_with_a_capture_is_said_before_it_is_taken)
{
    struct pp_capture c = {.size = sizeof c, .kind = "profile", .seconds = 50, .format = "xml"};
    void *bytes;
    size_t n_bytes;
    CHECK_INT(pp_agent_start(NULL), 0);
    double begin = now_s();
    CHECK_INT(pp_profile(&c, &bytes, &n_bytes), PP_ERROR_INPUT);
    CHECK_STR(pp_error_text(), "pp_capture.format is \"xml\"; use proto, legacy or text");
    c.format = NULL;
    for (int i = 0; i < 4; i++) {
        c.seconds = (double[]){-1, 1e300, NAN, INFINITY}[i];
        CHECK_INT(pp_profile(&c, &bytes, &n_bytes), PP_ERROR_INPUT);
        CHECK(strstr(pp_error_text(), "pp_capture.seconds is "));
    }
    c.seconds = 50;
    CHECK_INT(pp_profile(&c, NULL, &n_bytes), PP_ERROR_INPUT);
    CHECK_INT(pp_profile_to_file(&c, NULL), PP_ERROR_INPUT);
    CHECK(now_s() - begin < 40);
    pp_agent_stop();
}

TEST(a_file_appears_whole_or_not_at_all_and_nothing_is_left_open)
{
    char folder[] = "/tmp/procprof_api_XXXXXX", path[64], other[80], planted[80];
    REQUIRE(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/profile", folder);
    snprintf(planted, sizeof planted, "%s.part", path);
    snprintf(other, sizeof other, "%s/other", folder);
    REQUIRE(!symlink(other, planted)); /* in /tmp anybody may have put it there */
    struct pp_capture c = {.size = sizeof c, .kind = "threads", .format = "text"};
    struct stat s;
    CHECK_INT(pp_agent_start(NULL), 0);
    int n_before = n_descriptors();
    errno = 77;
    CHECK_INT(pp_profile_to_file(&c, path), 0);
    CHECK(!lstat(path, &s) && S_ISREG(s.st_mode) && s.st_size > 0);
    CHECK(lstat(other, &s) != 0);
    CHECK_INT(pp_profile_to_file(&c, folder), PP_ERROR_IO);
    CHECK(strstr(pp_error_text(), "Is a directory"));

    struct rlimit limit, small;
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &limit);
    small = (struct rlimit){.rlim_cur = 10, .rlim_max = limit.rlim_max}; /* the file may not grow */
    setrlimit(RLIMIT_FSIZE, &small);
    errno = 77;
    int status = pp_profile_to_file(&c, other), errno_after = errno;
    setrlimit(RLIMIT_FSIZE, &limit);
    CHECK_INT(status, PP_ERROR_IO);
    CHECK_INT(errno_after, 77);
    CHECK(strstr(pp_error_text(), "File too large"));
    CHECK(lstat(other, &s) != 0);
    CHECK_INT(n_descriptors(), n_before);
    pp_agent_stop();
    unlink(planted);
    unlink(path);
    CHECK(!rmdir(folder)); /* nothing else was left there */
}

/* ---- the end */

static void sleep_s(double seconds) /* signals of the samplers cut sleeps short */
{
    for (double end = now_s() + seconds; now_s() < end;)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
}

struct taking {
    const char *kind;
    pthread_t thread;
    int status;
    double took_s;
    size_t n_bytes;
};

static void *take(void *argument)
{
    struct taking *t = argument;
    struct pp_capture c = {.size = sizeof c, .kind = t->kind, .seconds = 40};
    void *bytes = NULL;
    double begin = now_s();
    t->status = pp_profile(&c, &bytes, &t->n_bytes);
    t->took_s = now_s() - begin;
    if (!t->status) pp_free(bytes, t->n_bytes);
    return NULL;
}

TEST(the_end_cuts_captures_short_and_they_return_what_they_have)
{
    struct taking all[] = {{.kind = "profile"}, {.kind = "wall"}, {.kind = "heap"}, {.kind = "mutex"}};
    size_t n = SEES_CALLS ? 4 : 2;
    CHECK_INT(pp_agent_start(NULL), 0);
    for (size_t i = 0; i < n; i++) REQUIRE(!pthread_create(&all[i].thread, NULL, take, &all[i]));
    sleep_s(1);
    pp_agent_stop();
    for (size_t i = 0; i < n; i++) {
        pthread_join(all[i].thread, NULL);
        CHECK_INT(all[i].status, 0);
        CHECK(all[i].n_bytes > 0);
        CHECK(all[i].took_s < 30);
    }
    CHECK_INT(pp_control("heap", "status", NULL, NULL, 0), PP_ERROR_UNSUPPORTED);
}

#if SEES_CALLS
static sigjmp_buf out_of_it;

static void jump_out(int signal_number)
{
    (void)signal_number;
    siglongjmp(out_of_it, 1);
}

static void *stop(void *argument)
{
    pp_agent_stop();
    return argument;
}

/* A stack where the frames of a call have been: the bytes of it that change while the agent ends. */
static __attribute__((noinline)) size_t n_changed_by_the_end(void)
{
    volatile unsigned char place[32768];
    pthread_t thread;
    size_t n = 0;
    for (size_t i = 0; i < sizeof place; i++) place[i] = 0;
    REQUIRE(!pthread_create(&thread, NULL, stop, NULL));
    pthread_join(thread, NULL);
    for (size_t i = 0; i < sizeof place; i++) n += place[i] != 0;
    return n;
}

TEST(a_call_that_was_jumped_out_of_leaves_nothing_on_the_stack_and_is_waited_for_once)
{
    struct itimerval soon = {.it_value = {.tv_usec = 300000}};
    struct sigaction action = {.sa_handler = jump_out}, before;
    struct pp_capture c = {.size = sizeof c, .kind = "heap", .seconds = 30};
    void *bytes;
    size_t n_bytes;
    CHECK_INT(pp_agent_start(NULL), 0);
    sigaction(SIGALRM, &action, &before);
    if (!sigsetjmp(out_of_it, 1)) {
        setitimer(ITIMER_REAL, &soon, NULL);
        pp_profile(&c, &bytes, &n_bytes);
    }
    sigaction(SIGALRM, &before, NULL);
    CHECK_INT((long long)n_changed_by_the_end(), 0);
    CHECK_INT(pp_agent_start(NULL), 0);
    double begin = now_s();
    pp_agent_stop();
    CHECK(now_s() - begin < 1.5); /* the first end waited for two */
}
#endif

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* they stand in for malloc themselves   \
                                                                     */
TEST(the_end_switches_off_what_counts_all_the_time)
{
    struct pp_options o = {.size = sizeof o, .settings = "heap=on,heap_interval=1,contention=block"};
    CHECK_INT(pp_agent_start(NULL), 0);
    pp_agent_stop();
    void *(*plain_malloc)(size_t) = atomic_load(&heap_routes.malloc);
    void (*plain_free)(void *) = atomic_load(&heap_routes.free);
    for (int i = 0; i < 2; i++) { /* by its settings, and by a switch */
        CHECK_INT(pp_agent_start(&o), 0);
        if (i) CHECK_INT(pp_control("allocs", "enable", "interval=1", NULL, 0), 0);
        if (i) CHECK_INT(pp_control("block", "enable", NULL, NULL, 0), 0);
        void *volatile leaked = malloc(1000);
        CHECK(leaked && atomic_load(&heap_active) && atomic_load(&lock_active));
        CHECK(atomic_load(&heap_routes.malloc) != plain_malloc &&
              atomic_load(&heap_routes.free) != plain_free);
        pp_agent_stop();
        CHECK(!atomic_load(&heap_active) && !atomic_load(&lock_active));
        CHECK(atomic_load(&heap_routes.malloc) == plain_malloc);
        CHECK(atomic_load(&heap_routes.free) == plain_free); /* what was sampled is not followed either */
        o.settings = NULL;
    }
}
#endif

TEST(after_the_end_no_descriptor_and_no_thread_is_left_and_it_starts_again)
{
    struct pp_options o = {.size = sizeof o, .listen = "127.0.0.1:0"};
    int n_before = n_descriptors();
    for (int i = 0; i < 20; i++) {
        CHECK_INT(pp_agent_start(&o), 0);
        CHECK_INT(pp_agent_start(&o), PP_ERROR_BUSY);
        if (i % 4 == 0) CHECK_INT(ask("/pprof/threads", ""), 200);
        pp_agent_stop();
        CHECK_INT(n_descriptors(), n_before);
        CHECK_INT(pp_agent_port(), 0);
    }
    pp_agent_stop();
}

static struct sockaddr_un unix_address(const char *path)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
    return a;
}

TEST(the_name_of_a_unix_socket_goes_at_the_end_and_a_left_over_one_is_replaced)
{
    char folder[] = "/tmp/procprof_api_XXXXXX", path[64], address[80];
    REQUIRE(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/socket", folder);
    snprintf(address, sizeof address, "unix:%s", path);
    struct pp_options o = {.size = sizeof o, .listen = address};
    struct sockaddr_un a = unix_address(path);
    struct stat s;
    umask(0);

    for (int i = 0; i < 2; i++) {
        CHECK_INT(pp_agent_start(&o), 0);
        CHECK(!lstat(path, &s) && S_ISSOCK(s.st_mode));
        CHECK_INT(s.st_mode & 0777, 0600); /* nobody else, without a token */
        pp_agent_stop();
        CHECK(lstat(path, &s) && errno == ENOENT);
    }

    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    REQUIRE(!bind(fd, (struct sockaddr *)&a, sizeof a));
    CHECK_INT(pp_agent_start(&o), PP_ERROR_IO); /* somebody is there, about to listen */
    CHECK(strstr(pp_error_text(), "in use"));
    REQUIRE(!listen(fd, 1));
    CHECK_INT(pp_agent_start(&o), PP_ERROR_IO);
    CHECK(strstr(pp_error_text(), "in use"));
    close(fd); /* and has ended, its name is still there */
    CHECK_INT(pp_agent_start(&o), 0);

    unlink(path); /* somebody else took the name meanwhile: it is not ours to take away */
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    pp_agent_stop();
    CHECK(!lstat(path, &s) && S_ISREG(s.st_mode));
    CHECK_INT(pp_agent_start(&o), PP_ERROR_IO); /* a file is no left-over socket */
    CHECK(!lstat(path, &s));
    close(fd);
    unlink(path);
    rmdir(folder);
}

#ifndef __SANITIZE_THREAD__ /* it takes the host's part for a mistake, which it is */
TEST(the_end_comes_also_when_the_host_has_taken_the_descriptors)
{
    struct pp_options o = {.size = sizeof o, .listen = "127.0.0.1:0"};
    CHECK_INT(pp_agent_start(&o), 0);
    sleep_s(0.2);
    for (int fd = 3; fd < 2048; fd++) close(fd);
    int highest = 0, n = 0;
    while (highest < 600) {
        highest = memfd_create("host's", 0);
        REQUIRE(highest >= 0 && write(highest, "x", 1) == 1);
        n++;
    }
    CHECK_INT(pp_control("heap", "status", NULL, NULL, 0), 0);
    double begin = now_s();
    pp_agent_stop();
    CHECK(now_s() - begin < 4); /* it was woken; the limit is five */
    for (int fd = highest; n > 0; fd--, n--)
        CHECK(lseek(fd, 0, SEEK_CUR) == 1 && lseek(fd, 0, SEEK_END) == 1);
    CHECK_INT(pp_agent_start(&o), 0);
    CHECK_INT(ask("/health", ""), 200);
    pp_agent_stop();
}
#endif

TEST_MAIN()
