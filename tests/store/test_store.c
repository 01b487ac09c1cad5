/* store: names, publishing, what a restart finds, retention to the byte and to the millisecond. */
#include "../t.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/mem.h"
#include "store/db.h"
#include "store/store.h"

static char dir[] = "/tmp/procprof-store.XXXXXX";
static int64_t now_ms = 1762000000000;

static int64_t test_now(void)
{
    return now_ms;
}

static struct store *open_store(void)
{
    struct store *s = NULL;
    struct err err = {0};
    struct store_options o = {.dir = dir, .now_ms = test_now};
    if (store_open(&o, &s, &err) || store_load(s, &err)) T_FAIL("%s", err.text);
    REQUIRE(s);
    return s;
}

static struct store_profile put(struct store *s, int32_t node, enum profile_type type, int64_t time_ms,
                                size_t len)
{
    char *data = mem_zalloc(len + 1);
    struct store_profile p = {0};
    struct err err = {0};
    struct store_new new = {.node = node,
                            .type = type,
                            .form = PROFILE_PPROF,
                            .time_ms = time_ms,
                            .duration_ms = 10000,
                            .samples = 7,
                            .sample_types = "samples/count,cpu/nanoseconds",
                            .has_data = true,
                            .data = data,
                            .len = len};
    if (store_publish(s, &new, &p, &err)) T_FAIL("%s", err.text);
    mem_free(data);
    return p;
}

TEST(names_pass_one_rule)
{
    struct profile_name n;
    static const char *const good[] = {
        "cpu-profile-20251101-101500-pprof.gz", "mem-profile-20251101-101500.html.tar.gz",
        "contention-profile-20240229-235959-flame.html.gz", "heap-profile-20251101-000000-pprof.gz"};
    static const char *const bad[] = {"",
                                      "cpu-profile-",
                                      "cpu-profile-20251101-101500-pprof.gz.tmp",
                                      "../cpu-profile-20251101-101500-pprof.gz",
                                      "cpu-profile-20251301-101500-pprof.gz",
                                      "cpu-profile-20251101-241500-pprof.gz",
                                      "cpu-profile-2025110x-101500-pprof.gz",
                                      "cpu-profile-20251101-101500-pprof.gz/x",
                                      "cpu-profile-20251101-101500",
                                      "CPU-profile-20251101-101500-pprof.gz",
                                      "cpu-profile-20251101-101500'-pprof.gz",
                                      "xcpu-profile-20251101-101500-pprof.gz",
                                      "cpu-profile-20251101-101500-pprof.gz\n"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        char text[PROFILE_NAME_MAX];
        if (!profile_name_parse(good[i], &n)) T_FAIL("%s is refused", good[i]);
        profile_name_print(&n, text);
        CHECK_STR(text, good[i]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (profile_name_parse(bad[i], &n)) T_FAIL("'%s' passes", bad[i]);
    char stamp[PROFILE_STAMP_LEN + 1];
    for (int64_t t = 1700000000000; t < 1800000000000; t += 7654321000) {
        profile_stamp(t, stamp);
        CHECK_INT(profile_stamp_ms(stamp), t);
    }
}

TEST(published_is_listed_and_survives)
{
    REQUIRE(mkdtemp(dir));
    struct store *s = open_store();
    struct store_profile a = put(s, 10002, PROFILE_CPU, now_ms, 100),
                         b = put(s, 10002, PROFILE_CPU, now_ms, 50), *list, p;
    struct store_profile c = put(s, 10003, PROFILE_HEAP, now_ms - 5000, 30);
    CHECK(strcmp(a.file, b.file)); /* the same second: the next one */
    CHECK_INT(b.time_ms, now_ms + 1000);
    size_t total, n = store_list(s, &(struct store_query){.limit = 2}, &list, &total);
    CHECK_INT(n, 2);
    CHECK_INT(total, 3);
    CHECK_INT(list[0].id, b.id);
    CHECK_INT(list[1].id, a.id);
    mem_free(list);
    n = store_list(s, &(struct store_query){.before_id = a.id}, &list, &total);
    CHECK_INT(n, 1);
    CHECK_INT(list[0].id, c.id);
    mem_free(list);
    CHECK_INT(store_find(s, 10002, a.file, &p), 0);
    CHECK_INT(p.id, a.id);
    CHECK_INT(store_find(s, 10003, a.file, &p), ERR_NOT_FOUND);
    CHECK_INT(store_put_derived(s, a.id, "svg", 3, NULL), 0);
    struct store *twin;
    struct err err;
    CHECK_INT(store_open(&(struct store_options){.dir = dir}, &twin, &err), ERR_BUSY);
    store_close(s);
    /* What a kill leaves: half a file under a temporary name, a file without an index row, a row without a
     * file, an orphan. */
    char *path = mem_printf("%s/10002/.tmp-999999999-1", dir);
    close(open(path, O_CREAT | O_WRONLY, 0600));
    char *foreign = mem_printf("%s/10002/contention-profile-20251101-101500-pprof.gz", dir);
    close(open(foreign, O_CREAT | O_WRONLY, 0600));
    char *orphan = mem_printf("%s/10002/cpu-profile-20201101-101500-flame.html.gz", dir);
    close(open(orphan, O_CREAT | O_WRONLY, 0600));
    char *gone = mem_printf("%s/10003/%s", dir, c.file);
    unlink(gone);
    s = open_store();
    CHECK(access(path, F_OK));
    CHECK(access(orphan, F_OK));
    n = store_list(s, &(struct store_query){0}, &list, NULL);
    CHECK_INT(n, 3);
    CHECK_INT(list[0].id, b.id);
    CHECK_INT(list[1].id, a.id);
    CHECK_INT(list[1].samples, 7);
    CHECK_INT(list[1].duration_ms, 10000);
    CHECK_STR(list[1].sample_types, "samples/count,cpu/nanoseconds");
    CHECK_INT(list[2].type, PROFILE_CONTENTION);
    CHECK_INT(list[2].samples, -1);
    CHECK(list[2].id > c.id); /* never used twice */
    mem_free(list);
    struct bytes svg;
    CHECK_INT(store_get_derived(s, a.id, &svg, &err), 0);
    CHECK_INT(svg.len, 3);
    bytes_free(&svg);
    store_close(s);
    mem_free(path), mem_free(foreign), mem_free(orphan), mem_free(gone);
    file_remove_tree(dir, NULL);
}

TEST(oldest_first_over_all_types_and_exactly)
{
    REQUIRE(mkdtemp(dir));
    struct store *s = open_store();
    const int64_t day_ms = 86400000;
    struct store_profile a = put(s, 10002, PROFILE_CPU, now_ms - day_ms - 1, 100);
    struct store_profile b = put(s, 10002, PROFILE_CONTENTION, now_ms - day_ms + 1000, 100);
    struct store_profile c = put(s, 10003, PROFILE_CPU, now_ms - 5000, 100),
                         d = put(s, 10002, PROFILE_CONTENTION, now_ms, 100), p;
    struct store_limits limits = {.max_age_ms = day_ms, .max_bytes = 1000};
    int64_t next_ms;
    CHECK_INT(store_retain(s, &limits, &next_ms), 1); /* one day is 24 hours, to the millisecond */
    CHECK_INT(store_get(s, a.id, &p), ERR_NOT_FOUND);
    CHECK_INT(next_ms, now_ms + 1000);
    now_ms += 1000;
    CHECK_INT(store_retain(s, &limits, &next_ms), 1);
    CHECK_INT(store_get(s, b.id, &p), ERR_NOT_FOUND);
    /* What was derived counts, and goes with its parent. */
    CHECK_INT(store_put_derived(s, c.id, "0123456789", 10, NULL), 0);
    limits.max_bytes = 210;
    CHECK_INT(store_retain(s, &limits, &next_ms), 0);
    limits.max_bytes = 209;
    CHECK_INT(store_retain(s, &limits, &next_ms), 1);
    CHECK_INT(store_get(s, c.id, &p), ERR_NOT_FOUND);
    CHECK_INT(store_get(s, d.id, &p), 0);
    char *folder = mem_printf("%s/10003", dir);
    CHECK_INT(rmdir(folder), 0); /* nothing is left in it */
    mem_free(folder);
    struct store_state state;
    store_state(s, &state);
    CHECK_INT(state.bytes, 100);
    store_close(s);
    file_remove_tree(dir, NULL);
}

/* Like a server that is full: one comes, the oldest goes; some come late, and one that stays has to be gone
 * around. */
TEST(a_full_store_stays_in_order)
{
    REQUIRE(mkdtemp(dir));
    struct store *s = open_store();
    enum { N = 400, KEPT = 37 };
    struct store_limits limits = {.max_age_ms = -1, .max_bytes = KEPT * 10};
    struct store_profile first = put(s, 10002, PROFILE_CPU, now_ms - 1000000, 10), *list;
    char *path = store_path(s, first.node, first.file);
    unlink(path); /* a folder of that name: it cannot be deleted */
    CHECK_INT(mkdir(path, 0700), 0);
    for (int i = 0; i < N; i++) {
        int late_s = i % 10 == 9 ? 15 : 0;
        put(s, 10002 + i % 3, PROFILE_CPU, now_ms - 500000 + (i - late_s) * 1000, 10);
        store_retain(s, &limits, NULL);
        if (i % 50 != 49) continue;
        size_t n = store_list(s, &(struct store_query){0}, &list, NULL), total;
        CHECK_INT(n, KEPT);
        CHECK_INT(list[n - 1].id, first.id);
        for (size_t k = 1; k < n; k++)
            if (list[k].time_ms > list[k - 1].time_ms) T_FAIL("%zu of %zu is out of order", k, n);
        for (size_t k = 0; k + 1 < n; k++) {
            struct store_profile p;
            char *there = store_path(s, list[k].node, list[k].file);
            CHECK_INT(access(there, R_OK), 0);
            CHECK_INT(store_find(s, list[k].node, list[k].file, &p), 0);
            CHECK_INT(p.id, list[k].id);
            mem_free(there);
        }
        mem_free(list);
        CHECK_INT(store_list(s, &(struct store_query){.limit = 1}, &list, &total), 1);
        CHECK_INT(total, KEPT);
        mem_free(list);
    }
    rmdir(path);
    mem_free(path);
    store_close(s);
    file_remove_tree(dir, NULL);
}

TEST(shared_folder_is_followed)
{
    REQUIRE(mkdtemp(dir));
    struct store *s = NULL;
    struct err err = {0};
    REQUIRE(!store_open(&(struct store_options){.dir = dir, .now_ms = test_now}, &s, &err));
    REQUIRE(!store_node_dir(s, 10001, dir, true, &err));
    REQUIRE(!store_load(s, &err));
    struct store_profile mine = put(s, 10001, PROFILE_CPU, now_ms, 10), *list, p;
    char *path = mem_printf("%s/cpu-profile-20251101-101500-pprof.gz", dir),
         *link = mem_printf("%s/cpu-profile-20251101-101501-pprof.gz", dir);
    close(open(path, O_CREAT | O_WRONLY, 0600));
    CHECK_INT(symlink("/etc/passwd", link), 0); /* no plain file: none of ours */
    store_refresh(s);
    CHECK_INT(store_list(s, &(struct store_query){0}, &list, NULL), 2);
    mem_free(list);
    CHECK_INT(store_find(s, 10001, "cpu-profile-20251101-101500-pprof.gz", &p), 0);
    unlink(path);
    store_refresh(s);
    CHECK_INT(store_list(s, &(struct store_query){0}, &list, NULL), 1);
    CHECK_INT(list[0].id, mine.id);
    mem_free(list);
    store_close(s);
    mem_free(path), mem_free(link);
    file_remove_tree(dir, NULL);
}

TEST(a_file_that_cannot_be_deleted_goes_on_counting)
{
    REQUIRE(mkdtemp(dir));
    struct store *s = open_store();
    struct store_profile a = put(s, 10002, PROFILE_CPU, now_ms - 3000, 100),
                         b = put(s, 10002, PROFILE_CPU, now_ms - 2000, 100),
                         c = put(s, 10002, PROFILE_CPU, now_ms - 1000, 100), p;
    char *path = mem_printf("%s/10002/%s", dir, a.file), *inside = mem_printf("%s/x", path);
    unlink(path);
    CHECK_INT(mkdir(path, 0700), 0);
    close(open(inside, O_CREAT | O_WRONLY, 0600));
    struct store_limits limits = {.max_age_ms = -1, .max_bytes = 200};
    CHECK_INT(store_retain(s, &limits, NULL), 1);
    CHECK_INT(store_get(s, a.id, &p), 0);
    CHECK_INT(store_get(s, b.id, &p), ERR_NOT_FOUND);
    CHECK_INT(store_get(s, c.id, &p), 0);
    struct store_state state;
    store_state(s, &state);
    CHECK(state.n_remove_failed > 0);
    store_close(s);
    mem_free(path), mem_free(inside);
    file_remove_tree(dir, NULL);
}

/* Against what a look at all of them says, while profiles of any time come and any of them go. */
TEST(ids_and_times_find_what_is_there)
{
    enum { N = 2600 };
    static int64_t ids[N];
    REQUIRE(mkdtemp(dir));
    struct store *s = open_store();
    unsigned random = 1;
    size_t n_left = 0;
    for (size_t i = 0; i < N; i++) {
        random = random * 1103515245 + 12345;
        ids[i] = put(s, 10001 + (int32_t)(i % 3), i % 2 ? PROFILE_CPU : PROFILE_HEAP,
                     now_ms + (int64_t)(random >> 8) % 100000 * 1000, 1)
                     .id;
        n_left++;
        if (i % 5 == 4) { /* most of the older ones go, so that what is kept of their ids is thrown away */
            for (size_t k = i - 4; k < i; k++) {
                CHECK_INT(store_remove(s, ids[k], NULL), 0);
                ids[k] = -ids[k];
                n_left--;
            }
        }
    }
    for (int again = 0; again < 2; again++) { /* and after a restart */
        struct store_profile *all, *some, p;
        struct store_query everything = {0};
        size_t n = store_list(s, &everything, &all, NULL);
        REQUIRE(n == n_left);
        for (size_t i = 0; i < N; i++) {
            bool there = ids[i] > 0;
            if (store_get(s, there ? ids[i] : -ids[i], &p) != (there ? 0 : ERR_NOT_FOUND) ||
                (there && p.id != ids[i]))
                T_FAIL("id %lld", (long long)ids[i]);
        }
        CHECK_INT(store_get(s, 0, &p), ERR_NOT_FOUND);
        CHECK_INT(store_get(s, INT64_MAX, &p), ERR_NOT_FOUND);
        /* Twice the same, one that is not there, in any order: newest first. */
        int64_t wanted[] = {all[40].id, all[7].id, 999999, all[300].id, all[7].id};
        CHECK_INT(store_get_many(s, wanted, 5, &some), 3);
        CHECK(some[0].id == all[7].id && some[1].id == all[40].id && some[2].id == all[300].id);
        mem_free(some);
        /* A part of the time, one type. */
        struct store_query part = {
            .from_ms = all[n - 50].time_ms, .to_ms = all[20].time_ms, .type_mask = 1 << PROFILE_CPU};
        size_t n_wanted = 0, n_some, total;
        int64_t first_ms = 0, last_ms = 0, span_first_ms = 1, span_last_ms = 1, bytes = 0;
        for (size_t i = 0; i < n; i++) {
            if (all[i].type != PROFILE_CPU || all[i].time_ms < part.from_ms || all[i].time_ms >= part.to_ms)
                continue;
            if (!n_wanted++) last_ms = all[i].time_ms;
            first_ms = all[i].time_ms;
        }
        n_some = store_list(s, &part, &some, &total);
        CHECK_INT(n_some, n_wanted);
        CHECK_INT(total, n_wanted);
        CHECK(store_span(s, &part, &span_first_ms, &span_last_ms));
        CHECK_INT(span_first_ms, first_ms);
        CHECK_INT(span_last_ms, last_ms);
        int64_t tenth = some[9].id;
        struct store_bucket *buckets;
        size_t n_buckets = store_timeline(s, &part, 1000000, &buckets);
        for (size_t i = 0; i < n_buckets; i++) {
            bytes += buckets[i].bytes;
            if (i && buckets[i].node == buckets[i - 1].node && buckets[i].t_ms <= buckets[i - 1].t_ms)
                T_FAIL("bucket %zu is not behind the one before", i);
        }
        CHECK_INT(bytes, (int64_t)n_wanted);
        mem_free(buckets);
        part.before_id = tenth;
        part.limit = 5;
        struct store_profile *page;
        CHECK_INT(store_list(s, &part, &page, &total), 5);
        CHECK_INT(total, n_wanted);
        CHECK_INT(page[0].id, some[10].id);
        CHECK_INT(page[4].id, some[14].id);
        mem_free(page), mem_free(some), mem_free(all);
        store_close(s);
        s = open_store();
    }
    store_close(s);
    file_remove_tree(dir, NULL);
}

static void put_total(struct store *s, enum profile_type type, int64_t time_ms, int64_t value,
                      const char *what)
{
    struct err err = {0};
    struct store_new new = {.node = 1,
                            .type = type,
                            .form = PROFILE_PPROF,
                            .time_ms = time_ms,
                            .samples = 1,
                            .total = {.value = value},
                            .has_data = true,
                            .data = "x",
                            .len = 1};
    snprintf(new.total.type, sizeof new.total.type, "%s", what);
    if (store_publish(s, &new, NULL, &err)) T_FAIL("%s", err.text);
}

TEST(totals_over_time)
{
    REQUIRE(mkdtemp(dir));
    const struct store_query all = {.from_ms = 1762000000000, .to_ms = 1762000100000};
    struct store_bucket *buckets;
    struct store *s = open_store();
    put_total(s, PROFILE_CPU, 1762000001000, 30, "cpu/nanoseconds");
    put_total(s, PROFILE_CPU, 1762000002000, 40, "cpu/nanoseconds");
    put_total(s, PROFILE_HEAP, 1762000001000, 35, "inuse_space/bytes");
    put_total(s, PROFILE_HEAP, 1762000002000, 0, "inuse_space/bytes");
    put_total(s, PROFILE_WALL, 1762000001000, 5, ""); /* as of an older version */
    put_total(s, PROFILE_WALL, 1762000002000, 6, "wall/nanoseconds");
    for (int restarts = 0; restarts < 2; restarts++) {
        REQUIRE(store_timeline(s, &all, 100000, &buckets) == 3);
        CHECK_INT(buckets[0].total.value, 70); /* added up, as the profiles are */
        CHECK_STR(buckets[0].total.type, "cpu/nanoseconds");
        CHECK_INT(buckets[1].type, PROFILE_HEAP);
        CHECK_INT(buckets[1].total.value, 0); /* the newest */
        CHECK_STR(buckets[1].total.type, "inuse_space/bytes");
        CHECK_STR(buckets[2].total.type, ""); /* not a part for the whole */
        mem_free(buckets);
        store_close(s);
        s = open_store();
    }
    store_close(s);
    file_remove_tree(dir, NULL);
}

TEST(an_index_of_an_older_version)
{
    REQUIRE(mkdtemp(dir));
    struct db db;
    struct store_profile p;
    struct err err = {0};
    char path[100];
    snprintf(path, sizeof path, "%s/index.db", dir);
    struct store *s = open_store();
    put_total(s, PROFILE_CPU, 1762000001000, 30, "cpu/nanoseconds");
    store_close(s);
    if (db_open(&db, path, "", NULL, &err)) T_FAIL("%s", err.text);
    CHECK_INT(db_exec(&db, "ALTER TABLE profiles DROP COLUMN total", &err), 0);
    CHECK_INT(db_exec(&db, "ALTER TABLE profiles DROP COLUMN total_type", &err), 0);
    db_close(&db);
    s = open_store();
    REQUIRE(!store_get(s, 1, &p)); /* under its old id */
    CHECK_INT(p.samples, 1);
    CHECK_STR(p.total.type, "");
    store_describe(s, 1, 0, 1, "cpu/nanoseconds", &(struct store_total){30, "cpu/nanoseconds"});
    store_close(s);
    s = open_store();
    REQUIRE(!store_get(s, 1, &p));
    CHECK_INT(p.total.value, 30);
    store_close(s);
    file_remove_tree(dir, NULL);
}

TEST_MAIN()
