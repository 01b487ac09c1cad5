/* Who gets SIGQUIT, and how often. The test itself plays the JVM: what has a file of that name mapped and a
 * handler is taken for one. */
#include <fcntl.h>
#include <sys/mman.h>

#include "../t.h"
#include "base/file.h"
#include "collect/jvm_attach.h"

static volatile sig_atomic_t n_signals;

static void count(int number)
{
    (void)number;
    n_signals++;
}

static void map_as(const char *name)
{
    char folder[] = "/tmp/procprof-signal-XXXXXX", path[200];
    struct err err;
    REQUIRE(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    REQUIRE(file_write_atomic(path, "x", 1, 0755, &err) == 0);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    REQUIRE(fd >= 0 && mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) != MAP_FAILED);
    close(fd);
    file_remove_tree(folder, NULL);
}

static int attach(double timeout_s, struct err *err)
{
    struct jvm_proc self;
    struct jvm_attach_options options = {.timeout_s = timeout_s};
    struct buf reply = {0};
    REQUIRE(jvm_proc_read(getpid(), &self, err) == 0);
    int rc = jvm_jcmd(&self, "VM.version", &options, &reply, err);
    buf_free(&reply);
    return rc;
}

TEST(a_jvm_that_does_not_answer_is_signalled_once)
{
    struct err err;
    signal(SIGQUIT, count);
    map_as("libjvm.so");
    CHECK_INT(attach(0.3, &err), ERR_TIMEOUT); /* too short to know: it may be slow */
    CHECK_INT(n_signals, 1);
    CHECK_INT(attach(5.5, &err), ERR_TIMEOUT);
    CHECK_INT(n_signals, 2);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(attach(5.5, &err), ERR_DENIED);
        CHECK(strstr(err.text, "did not answer SIGQUIT before"));
    }
    CHECK_INT(n_signals, 2);
}

TEST(openj9_gets_no_signal)
{
    struct err err;
    signal(SIGQUIT, count);
    map_as("libjvm.so");
    map_as("libj9vm29.so");
    CHECK_INT(attach(0.3, &err), ERR_UNSUPPORTED);
    CHECK(strstr(err.text, "OpenJ9"));
    CHECK_INT(n_signals, 0);
}

TEST_MAIN()
