/* The folder that a JVM writes its recording to: the recording is the JVM's, and what was read of it is ours.
 */
#include "collect/jvm_workspace.h"

#include <signal.h>
#include <sys/wait.h>

#include "../t.h"

static void open_one(struct jvm_proc *proc, struct jvm_workspace *ws)
{
    struct err err;
    REQUIRE(jvm_proc_read(getpid(), proc, &err) == 0);
    REQUIRE(jvm_workspace_open(proc, ws, &err) == 0);
}

static void path_in(const struct jvm_workspace *ws, const char *name, char path[800])
{
    snprintf(path, 800, "%s/%s", ws->own_path, name);
}

/* Reads a file of that size, has its owner cut it to nothing, and looks at what was read. */
static void cut_after_reading(off_t size)
{
    struct jvm_proc self;
    struct jvm_workspace ws;
    struct bytes bytes = {0};
    struct err err = {0};
    char path[800];
    open_one(&self, &ws);
    path_in(&ws, "x.jfr", path);
    CHECK_INT(jvm_workspace_write(&ws, "x.jfr", "FLR", 3, &err), 0);
    CHECK_INT(truncate(path, size), 0);
    CHECK_INT(jvm_workspace_read(&ws, "x.jfr", (size_t)1 << 30, &bytes, &err), 0);
    CHECK_INT(bytes.len, size);
    CHECK_INT(truncate(path, 0), 0);
    size_t n_set = 0;
    for (size_t i = 0; i < bytes.len; i += 4096) n_set += bytes.data[i] != 0;
    CHECK_INT(n_set, 1);
    CHECK(bytes.len > 3 && !memcmp(bytes.data, "FLR", 3));
    bytes_free(&bytes);
    CHECK_INT(jvm_workspace_read(&ws, "x.jfr", 1 << 20, &bytes, &err), ERR_NOT_FOUND);
    jvm_workspace_close(&ws);
    CHECK(access(ws.own_path, F_OK) < 0);
}

TEST(a_recording_cut_short_after_it_was_read)
{
    cut_after_reading(100000);
}

TEST(a_large_recording_cut_short_after_it_was_read)
{
    cut_after_reading((off_t)70 << 20);
}

TEST(a_recording_larger_than_wanted_is_refused)
{
    struct jvm_proc self;
    struct jvm_workspace ws;
    struct bytes bytes;
    struct err err;
    char path[800];
    open_one(&self, &ws);
    path_in(&ws, "x.jfr", path);
    CHECK_INT(jvm_workspace_write(&ws, "x.jfr", "FLR", 3, &err), 0);
    CHECK_INT(truncate(path, (off_t)1 << 40), 0);
    CHECK_INT(jvm_workspace_read(&ws, "x.jfr", (size_t)1 << 30, &bytes, &err), ERR_LIMIT);
    jvm_workspace_close(&ws);
}

/* Another procprof that looks for abandoned folders must not take one that is just being made. */
TEST(a_folder_that_is_being_made_is_not_swept)
{
    struct jvm_proc self;
    struct err err = {0};
    REQUIRE(jvm_proc_read(getpid(), &self, &err) == 0);
    pid_t sweeper = fork();
    while (sweeper == 0) jvm_workspace_sweep(&self);
    size_t n_lost = 0;
    for (int i = 0; i < 3000; i++) {
        struct jvm_workspace ws;
        if (jvm_workspace_open(&self, &ws, &err)) {
            n_lost++;
            continue;
        }
        n_lost += jvm_workspace_write(&ws, "x.jfr", "FLR", 3, &err) != 0;
        jvm_workspace_close(&ws);
    }
    kill(sweeper, SIGKILL);
    waitpid(sweeper, NULL, 0);
    CHECK_INT(n_lost, 0);
}

TEST_MAIN()
