/* Where async-profiler's library is put for a JVM that cannot see ours, and which one is loaded again. The
 * JVM's part is played by the test itself: what matters is what it has mapped, and its /tmp. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "../t.h"
#include "base/file.h"
#include "collect/jvm_asprof.h"

static struct jvm_proc self;
static struct jvm_workspace ws;
static char folder[] = "/tmp/procprof-place-XXXXXX";

static const char *write_file(const char *name, const char *text)
{
    static char path[2][200];
    static int turn;
    struct err err;
    char *at = path[turn++ % 2];
    snprintf(at, sizeof path[0], "%s/%s", folder, name);
    REQUIRE(file_write_atomic(at, text, strlen(text), 0755, &err) == 0);
    return at;
}

static void map_file(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    REQUIRE(fd >= 0);
    REQUIRE(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) != MAP_FAILED);
    close(fd);
}

static void clean_up(void)
{
    jvm_workspace_close(&ws);
    file_remove_tree(folder, NULL);
}

/* A library of its own for every test: the copy's name comes from what it holds. */
static const char *begin(void)
{
    struct err err;
    char text[100];
    REQUIRE(mkdtemp(folder) != NULL);
    REQUIRE(jvm_proc_read(getpid(), &self, &err) == 0);
    self.same_root = false; /* as if it could not see ours */
    REQUIRE(jvm_workspace_open(&self, &ws, &err) == 0);
    atexit(clean_up);
    snprintf(text, sizeof text, "the library of test %d", (int)getpid());
    return write_file("libasyncProfiler.so", text);
}

static void check_holds(const char *path, const char *like)
{
    struct bytes a = {0}, b = {0};
    REQUIRE(file_read(path, 1 << 20, &a, NULL) == 0 && file_read(like, 1 << 20, &b, NULL) == 0);
    CHECK(a.len == b.len && !memcmp(a.data, b.data, a.len));
    bytes_free(&a);
    bytes_free(&b);
}

/* Opens a session and returns the path of its copy, which stays valid after the session is closed. */
static const char *open_copy(struct jvm_asprof *ret_session, const char *library)
{
    static char path[512];
    struct err err;
    REQUIRE(jvm_asprof_open(ret_session, &self, &ws, library, &err) == 0);
    snprintf(path, sizeof path, "%s", ret_session->library);
    return path;
}

TEST(the_copy_is_there_while_a_session_needs_it)
{
    const char *library = begin();
    struct jvm_asprof first, second;
    struct err err;
    REQUIRE(jvm_asprof_open(&first, &self, &ws, library, &err) == 0);
    check_holds(first.library, library);
    REQUIRE(jvm_asprof_open(&second, &self, &ws, library, &err) == 0);
    CHECK_STR(second.library, first.library);
    jvm_asprof_close(&second); /* it was busy, say */
    CHECK(access(first.library, F_OK) == 0);
    jvm_asprof_close(&first);
    CHECK(access(first.library, F_OK) < 0);
}

TEST(a_torn_copy_is_replaced)
{
    const char *library = begin();
    struct jvm_asprof as;
    struct err err = {0};
    const char *path = open_copy(&as, library);
    jvm_asprof_close(&as);
    REQUIRE(file_write_atomic(path, "the libr", 8, 0700, &err) == 0);
    CHECK_INT(jvm_asprof_open(&as, &self, &ws, library, &err), 0);
    CHECK_STR(err.text, "");
    check_holds(path, library);
    jvm_asprof_close(&as);
    CHECK(access(path, F_OK) < 0);
}

TEST(a_full_disk_leaves_no_part_of_a_copy)
{
    const char *library = begin();
    struct jvm_asprof as;
    struct err err;
    const char *path = open_copy(&as, library);
    jvm_asprof_close(&as);
    signal(SIGXFSZ, SIG_IGN);
    REQUIRE(setrlimit(RLIMIT_FSIZE, &(struct rlimit){10, RLIM_INFINITY}) == 0);
    int rc = jvm_asprof_open(&as, &self, &ws, library, &err);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY});
    CHECK_INT(rc, ERR_IO);
    jvm_asprof_close(&as);
    CHECK(access(path, F_OK) < 0);
    CHECK_INT(jvm_asprof_open(&as, &self, &ws, library, &err), 0);
    check_holds(path, library);
    jvm_asprof_close(&as);
}

TEST(a_file_that_others_can_write_is_not_used)
{
    const char *library = begin();
    struct jvm_asprof as;
    struct err err;
    REQUIRE(jvm_asprof_open(&as, &self, &ws, library, &err) == 0);
    CHECK_INT(chmod(as.library, 0777), 0);
    struct jvm_asprof other;
    CHECK_INT(jvm_asprof_open(&other, &self, &ws, library, &err), ERR_UNSUPPORTED);
    jvm_asprof_close(&as);
}

TEST(glibc_knows_a_copy_by_its_name)
{
    const char *library = begin();
    struct jvm_asprof as;
    struct err err;
    const char *path = open_copy(&as, library);
    map_file(path);
    jvm_asprof_close(&as);
    CHECK(access(path, F_OK) < 0);
    /* Another version of it, or one the JVM could see by now: what is loaded goes on. */
    CHECK_INT(jvm_asprof_open(&as, &self, &ws, write_file("newer.so", "a newer one"), &err), 0);
    CHECK_STR(as.library, path);
    CHECK(access(path, F_OK) < 0);
    jvm_asprof_close(&as);
    self.same_root = true;
    CHECK_INT(jvm_asprof_open(&as, &self, &ws, library, &err), 0);
    CHECK_STR(as.library, path);
    jvm_asprof_close(&as);
}

TEST(a_copy_that_a_killed_session_left_is_removed_by_the_next)
{
    const char *library = begin();
    struct jvm_asprof killed, next;
    struct err err;
    REQUIRE(jvm_asprof_open(&killed, &self, &ws, library, &err) == 0);
    map_file(killed.library);
    close(killed.copy_fd); /* all that is left of a process that is gone */
    CHECK_INT(jvm_asprof_open(&next, &self, &ws, library, &err), 0);
    CHECK_STR(next.library, killed.library);
    CHECK(access(next.library, F_OK) == 0);
    jvm_asprof_close(&next);
    CHECK(access(next.library, F_OK) < 0);
}

TEST(musl_keeps_its_copy_and_loads_it_again)
{
    const char *library = begin();
    map_file(write_file("ld-musl-x86_64.so.1", "the loader"));
    struct jvm_asprof as;
    struct err err;
    struct stat before, after;
    const char *path = open_copy(&as, library);
    map_file(path);
    CHECK_INT(stat(path, &before), 0);
    jvm_asprof_close(&as);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(jvm_asprof_open(&as, &self, &ws, i ? write_file("newer.so", "a newer one") : library, &err),
                  0);
        CHECK_STR(as.library, path);
        jvm_asprof_close(&as);
        CHECK(stat(path, &after) == 0 && after.st_ino == before.st_ino);
    }
    unlink(path);
}

TEST(another_library_is_another_thing_than_a_session)
{
    const char *library = begin();
    map_file(write_file("libasyncProfiler-4.0.so", "of the database"));
    struct jvm_asprof as;
    struct err err;
    CHECK_INT(jvm_asprof_open(&as, &self, &ws, library, &err), ERR_UNSUPPORTED);
    CHECK(strstr(err.text, "libasyncProfiler-4.0.so"));
}

TEST_MAIN()
