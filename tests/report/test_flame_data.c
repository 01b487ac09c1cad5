#include "../t.h"

#include "base/mem.h"
#include "base/rd.h"
#include "report/flame/flame_data.h"
#include "report/flame/flame_html.h"

/* A reader of the bytes, as plain as it can be; the page's own is tested in tests/web. */
struct decoded {
    char header[4000];
    char *names[64];
    size_t n_names, n_nodes;
    uint32_t depth[6000], function[6000];
    int64_t values[4][6000];
};

static struct rd section(struct rd *r)
{
    return rd_sub(r, rd_varint(r));
}

static struct decoded *decode(const struct buf *b, size_t n_columns)
{
    static struct decoded *all[8]; /* live as long as the test's process */
    static size_t n_all;
    struct decoded *d = all[n_all++ % 8] = mem_zalloc(sizeof *d);
    struct rd r = rd_over(b->data, b->len), s;
    REQUIRE(!memcmp(rd_bytes(&r, 4), "PPF1", 4));
    s = section(&r);
    REQUIRE(rd_left(&s) < sizeof d->header);
    memcpy(d->header, s.p, rd_left(&s));
    s = section(&r);
    for (char *text = mem_strndup((const char *)s.p, rd_left(&s)), *name; (name = strsep(&text, "\n"));)
        d->names[d->n_names++] = name;
    for (int i = 0; i < 5; i++) s = section(&r);
    s = section(&r);
    for (uint32_t depth = 0; rd_left(&s) && d->n_nodes < 6000; d->n_nodes++) {
        uint32_t up = (uint32_t)rd_varint(&s);
        depth = d->n_nodes ? depth + 1 - up : 0;
        d->depth[d->n_nodes] = depth;
    }
    s = section(&r);
    for (size_t i = 0; i < d->n_nodes; i++) d->function[i] = (uint32_t)rd_varint(&s);
    const char *kinds = strstr(d->header, "\"columns\":\"") + 11;
    char *scales = strstr(d->header, "\"scales\":[") + 10;
    for (size_t c = 0; c < n_columns; c++) {
        long long scale = strtoll(scales, &scales, 10);
        scales++;
        s = section(&r);
        for (size_t i = 0; i < d->n_nodes && kinds[c] != '0'; i++) {
            uint64_t v = rd_varint(&s);
            d->values[c][i] = kinds[c] == 'z' ? (int64_t)(v >> 1) ^ -(int64_t)(v & 1) : (int64_t)v;
            d->values[c][i] *= scale;
        }
        CHECK_INT(rd_left(&s), 0);
    }
    CHECK(!r.bad);
    CHECK_INT(rd_left(&r), 0);
    return d;
}

static uint32_t frame(struct profile *p, const char *name)
{
    uint32_t function = profile_add_function(p, profile_cstr(p, name), 0, profile_cstr(p, "a.c"), 3);
    uint32_t at = profile_add_location(p, 0x1000, 0);
    profile_add_line(p, function, 1, 0);
    return at;
}

static const char *node_name(const struct decoded *d, size_t node)
{
    return d->names[d->function[node]];
}

TEST(stacks_with_one_beginning_become_one_branch_heaviest_first)
{
    struct profile *p = profile_new();
    profile_add_sample_type(p, "samples", "count");
    profile_add_sample_type(p, "cpu", "nanoseconds");
    uint32_t m = frame(p, "main"), a = frame(p, "a"), b = frame(p, "b");
    profile_add_sample(p, (uint32_t[]){a, m}, 2, (int64_t[]){1, 10});
    profile_add_sample(p, (uint32_t[]){b, m}, 2, (int64_t[]){5, 50});
    profile_add_sample(p, (uint32_t[]){a, m}, 2, (int64_t[]){2, 20});
    profile_add_sample(p, (uint32_t[]){m}, 1, (int64_t[]){1, 10});
    struct buf out = {0};
    flame_data_write(p, NULL, &out);
    struct decoded *d = decode(&out, 2);
    REQUIRE(d->n_nodes == 4);
    CHECK_STR(node_name(d, 0), "all");
    CHECK_STR(node_name(d, 1), "main");
    CHECK_STR(node_name(d, 2), "b");
    CHECK_STR(node_name(d, 3), "a");
    CHECK_INT(d->depth[3], 2);
    CHECK_INT(d->values[0][1], 1);
    CHECK_INT(d->values[0][3], 3);
    CHECK_INT(d->values[1][2], 50);
    CHECK(strstr(d->header, "\"default\":1"));
    profile_free(p);
    buf_free(&out);
}

TEST(two_profiles_become_one_tree_by_name)
{
    struct profile *p = profile_new(), *base = profile_new();
    profile_add_sample_type(p, "cpu", "nanoseconds");
    profile_add_sample_type(base, "other", "count");
    profile_add_sample_type(base, "cpu", "nanoseconds");
    uint32_t m = frame(p, "main"), fresh = frame(p, "fresh");
    uint32_t gone = frame(base, "gone"), base_m = frame(base, "main");
    profile_add_sample(p, (uint32_t[]){fresh, m}, 2, (int64_t[]){7});
    profile_add_sample(base, (uint32_t[]){gone, base_m}, 2, (int64_t[]){99, 3});
    struct buf out = {0};
    flame_data_write(p, &(struct flame_data_options){.base = base, .title = "t\"</script>"}, &out);
    struct decoded *d = decode(&out, 2);
    REQUIRE(d->n_nodes == 4);
    for (size_t i = 1; i < 4; i++) {
        const char *name = node_name(d, i);
        CHECK_INT(d->values[0][i], !strcmp(name, "fresh") ? 7 : 0);
        CHECK_INT(d->values[1][i], !strcmp(name, "gone") ? 3 : 0);
    }
    CHECK(strstr(d->header, "\"base\":{"));
    CHECK(!strstr(d->header, "</script>"));
    profile_free(p);
    profile_free(base);
    buf_free(&out);
}

TEST(nothing_is_rejected)
{
    struct profile *p = profile_new();
    struct buf out = {0};
    flame_data_write(p, NULL, &out); /* not even a sample type */
    CHECK_INT(decode(&out, 0)->n_nodes, 1);

    profile_add_sample_type(p, "delta", "bytes");
    out.len = 0;
    flame_data_write(p, NULL, &out);
    CHECK_INT(decode(&out, 1)->n_nodes, 1);

    uint32_t odd = frame(p, "\xff\xfe<\n"), deep[5000];
    for (int i = 0; i < 5000; i++) deep[i] = odd;
    profile_add_sample(p, deep, 5000, (int64_t[]){-4});
    profile_add_sample(p, deep, 1, (int64_t[]){INT64_MAX});
    profile_add_sample(p, deep, 1, (int64_t[]){INT64_MAX});
    profile_add_sample(p, NULL, 0, (int64_t[]){1});
    profile_add_sample(p, (uint32_t[]){profile_add_location(p, 0xabc, 0)}, 1, (int64_t[]){2});
    out.len = 0;
    flame_data_write(p, NULL, &out);
    struct decoded *d = decode(&out, 1);
    REQUIRE(d->n_nodes == 5002);
    CHECK_STR(node_name(d, 1), "\xef\xbf\xbd\xef\xbf\xbd<\xef\xbf\xbd");
    CHECK(d->values[0][1] == INT64_MAX);
    CHECK_INT(d->values[0][5000], -4);
    CHECK_STR(node_name(d, 5001), "0xabc");
    profile_free(p);
    buf_free(&out);
}

TEST(past_the_limit_the_lightest_become_sums)
{
    struct profile *p = profile_new();
    profile_add_sample_type(p, "cpu", "nanoseconds");
    uint32_t m = frame(p, "main");
    int64_t sum = 0;
    for (int i = 1; i <= 50; i++) {
        char name[20];
        snprintf(name, sizeof name, "f%d", i);
        profile_add_sample(p, (uint32_t[]){frame(p, name), m}, 2, (int64_t[]){i});
        sum += i;
    }
    struct buf out = {0};
    flame_data_write(p, &(struct flame_data_options){.max_nodes = 12}, &out);
    struct decoded *d = decode(&out, 1);
    CHECK_INT(d->n_nodes, 13); /* all, main, ten functions, the rest */
    CHECK_STR(node_name(d, 12), "(smaller)");
    int64_t got = 0;
    for (size_t i = 0; i < d->n_nodes; i++) got += d->values[0][i];
    CHECK_INT(got, sum);
    CHECK(strstr(d->header, "\"left_out\":40"));
    profile_free(p);
    buf_free(&out);
}

/* The sum of a document's first column, and its header; *r then stands behind it. */
static uint64_t sum_of_document(struct rd *r, char *header, size_t size, uint64_t *n_nodes)
{
    REQUIRE(!memcmp(rd_bytes(r, 4), "PPF1", 4));
    struct rd s = section(r);
    REQUIRE(rd_left(&s) < size);
    memcpy(header, s.p, rd_left(&s));
    header[rd_left(&s)] = 0;
    for (int i = 0; i < 7; i++) s = section(r);
    *n_nodes = rd_left(&s); /* no step of this tree takes two bytes */
    section(r);
    s = section(r);
    uint64_t sum = 0;
    while (rd_left(&s) && !s.bad) sum += rd_varint(&s);
    return sum;
}

TEST(before_a_large_tree_stands_what_can_be_seen_of_it)
{
    struct profile *p = profile_new();
    profile_add_sample_type(p, "samples", "count");
    uint32_t frames[2000];
    for (int i = 0; i < 2000; i++) {
        char name[20];
        snprintf(name, sizeof name, "f%d", i);
        frames[i] = frame(p, name);
    }
    uint64_t sum = 0;
    for (uint32_t i = 0; i < 2000; i++)
        for (uint32_t k = 0; k < 60; k++) { /* 120,000 stacks of two frames more than they share */
            uint32_t stack[] = {frames[(i + k) % 2000], frames[(i * 7 + k) % 2000], frames[i]};
            uint64_t n = 1 + (i * 31 + k * 17) % 50;
            profile_add_sample(p, stack, 3, (int64_t[]){(int64_t)n});
            sum += n;
        }
    struct buf out = {0};
    flame_data_write(p, NULL, &out);
    struct rd r = rd_over(out.data, out.len);
    char header[2000];
    uint64_t n_seen, n_all;
    CHECK_INT(sum_of_document(&r, header, sizeof header, &n_seen), sum);
    CHECK(strstr(header, "\"preview\":1280"));
    CHECK_INT(sum_of_document(&r, header, sizeof header, &n_all), sum);
    CHECK(!strstr(header, "preview"));
    CHECK_INT(rd_left(&r), 0);
    CHECK_INT(n_all, 1 + 2000 + 2 * 120000);
    /* Three rows of 1280 pixels, and between frames what stands for the others, one level deeper at most. */
    CHECK(n_seen > 2000 && n_seen < 2 * 4 * 1280);
    buf_free(&out);

    out = (struct buf){0};
    flame_data_write(p, &(struct flame_data_options){.max_nodes = 100000}, &out);
    r = rd_over(out.data, out.len);
    sum_of_document(&r, header, sizeof header, &n_all);
    CHECK(!strstr(header, "preview")); /* not large as it is sent */
    CHECK_INT(rd_left(&r), 0);
    profile_free(p);
    buf_free(&out);
}

TEST(the_html_file_stands_alone)
{
    struct profile *p = profile_new();
    profile_add_sample_type(p, "cpu", "nanoseconds");
    profile_add_sample(p, (uint32_t[]){frame(p, "main")}, 1, (int64_t[]){7});
    struct flame_html_options o = {.data.title = "a <b> & \"c\"", .search = "</script>"};
    struct buf out = {0};
    struct err err;
    REQUIRE(flame_html_write(p, &o, &out, &err) == 0);
    const char *html = buf_cstr(&out);
    CHECK(strstr(html, "<title>a &lt;b&gt; &amp; &quot;c&quot;</title>"));
    CHECK(strstr(html, "{\"q\":\"\\u003c/script>\"}"));
    CHECK(strstr(html, "id=\"data\">H4sI")); /* gzip in base64 */
    CHECK(!strstr(html, "@@"));
    CHECK(!strstr(html, "src=\"http"));
    profile_free(p);
    buf_free(&out);
}

TEST_MAIN()
