/* Archives: what is written is found again, the real tar reads it, and a broken one is refused. */
#include "base/compress/tar.h"

#include "../../t.h"

static const struct tar_file files[] = {
    {"cpu.html", "<html>", 6},
    {"empty.pprof.not", "", 0},
    {"cpu.pprof", "profile", 7},
    {"second.pprof", "other", 5},
};

static struct buf make(void)
{
    struct buf tar = {0};
    tar_make(files, 4, 1700000000, &tar);
    return tar;
}

TEST(the_first_file_with_the_ending_is_found)
{
    struct buf tar = make();
    struct tar_file f = {0};
    CHECK(tar_is(tar.data, tar.len));
    CHECK_INT(tar.len % 512, 0);
    CHECK_INT(tar_find(tar.data, tar.len, ".pprof", &f, NULL), 0);
    CHECK(f.len == 7 && !memcmp(f.data, "profile", 7));
    CHECK_INT(tar_find(tar.data, tar.len, ".html", &f, NULL), 0);
    CHECK(f.len == 6 && !memcmp(f.data, "<html>", 6));
    CHECK_INT(tar_find(tar.data, tar.len, ".svg", &f, NULL), ERR_NOT_FOUND);
    buf_free(&tar);
}

TEST(the_real_tar_reads_it)
{
    struct buf tar = make();
    FILE *pipe = popen("test \"$(TZ=UTC tar tvf - | grep -c ' 0/0 .* 2023-11-14 22:13 ')\" = 4", "w");
    REQUIRE(pipe);
    CHECK_INT(fwrite(tar.data, 1, tar.len, pipe), tar.len);
    CHECK_INT(pclose(pipe), 0);
    buf_free(&tar);
}

TEST(a_cut_or_changed_archive_is_refused)
{
    struct buf tar = make();
    struct tar_file f;
    for (size_t len = 0; len < tar.len; len++) {
        struct err err = {0};
        int rc = tar_find(tar.data, len, "second.pprof", &f, &err);
        CHECK(rc == 0 ? len >= 7 * 512 - 507 : rc == ERR_NOT_FOUND || rc == ERR_INPUT);
    }
    memset(tar.data + 124, '7', 11); /* a size past everything */
    CHECK_INT(tar_find(tar.data, tar.len, ".pprof", &f, NULL), ERR_INPUT);
    CHECK(!tar_is(tar.data, tar.len)); /* the checksum says so */
    CHECK(!tar_is(tar.data, 511));
    buf_free(&tar);
}

TEST_MAIN()
