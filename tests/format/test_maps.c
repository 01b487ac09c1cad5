/* The memory map at the end of old profiles. */
#include "format/maps.h"

#include "../t.h"
#include "base/buf.h"
#include "base/mem.h"

static const char *show(struct maps *maps, struct buf *out)
{
    out->len = 0;
    for (size_t i = 0; i < maps->n_entries; i++) {
        const struct maps_entry *e = &maps->entries[i];
        buf_printf(out, "%s%llx-%llx+%llx %s%s%s", i ? ";" : "", (unsigned long long)e->start,
                   (unsigned long long)e->limit, (unsigned long long)e->offset, e->file,
                   *e->build_id ? " " : "", e->build_id);
    }
    return buf_cstr(out);
}

TEST(lines)
{
    static const struct {
        const char *line, *want;
    } cases[] = {
        {"00400000-02e00000 r-xp 00000000 00:00 0", "400000-2e00000+0 "},
        {"02e00000-02e8a000 r-xp 02a00000 00:00 15953927    /foo/bin", "400000-2e8a000+0 /foo/bin"},
        {"  02e00000-02e8a000: /foo/bin (@2a00000)", "400000-2e8a000+0 /foo/bin"},
        {"2e00000-2e8a000: /foo/bin (@FF00) abc123456", "2e00000-2e8a000+ff00 /foo/bin abc123456"},
        {"  40000-80000: /path/to/binary      (@FF00)            abc123456",
         "40000-80000+ff00 /path/to/binary abc123456"},
        {"0x40000 0x80000 r-xp /path (@10) ab", "40000-80000+10 /path ab"},
        {"40000-80000 ---p 0 08:01 1 /path", ""},
        {"40000-80000 r-xs 0 08:01 1 /path", "40000-80000+0 /path"},
        {"W1220 15:07:15.201776    8272 logger.cc:12033]   40000-80000: /x", "40000-80000+0 /x"},
        {"7fff-8000 r-xp 00000000 00:00 0                          [vdso]", "7fff-8000+0 [vdso]"},
        {"1-2 r-xp 0 08:01 1 /with blanks/in it (deleted)", "1-2+0 /with blanks/in it"},
        {"hello", ""},
        {"deadbeef", ""},
        {"1-", ""},
        {"11112222333344445-2: /x", ""},
        {"root=/opt\n1-2: $root/bin", "1-2+0 /opt/bin"},
        {"a=1\nb=$a$a\n1-2: /$b/$c", "1-2+0 /11/$c"},
        {"1-2: a\n2-3: a", "1-3+0 a"},
        {"1-2: libx.so.1\n5-6: [vdso]\n8-9: main", "8-9+0 main;5-6+0 [vdso];1-2+0 libx.so.1"},
        {"401000-402000 r-xp 1000 0:0 0 /main", "400000-402000+0 /main"},
    };
    struct buf out = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct maps maps = {0};
        maps_parse(&maps, (struct piece){cases[i].line, strlen(cases[i].line)});
        maps_massage(&maps);
        CHECK_STR(show(&maps, &out), cases[i].want);
        maps_free(&maps);
    }
    buf_free(&out);
}

TEST(definitions_that_feed_each_other_stay_small)
{
    struct buf text = {0};
    buf_str(&text, "a0=xxxxxxxxxxxxxxxx\n");
    for (int i = 1; i < 60; i++) buf_printf(&text, "a%d=$a%d$a%d$a%d$a%d\n", i, i - 1, i - 1, i - 1, i - 1);
    buf_str(&text, "1-2: $a59\n");
    struct maps maps = {0};
    maps_parse(&maps, (struct piece){text.data, text.len});
    CHECK(maps.text.total_bytes < 8 << 20);
    maps_free(&maps);
    buf_free(&text);
}

/* Against the plain rule: the first range in the list that holds the address. */
TEST(addresses_find_the_first_range_that_holds_them)
{
    srand(1);
    for (int round = 0; round < 200; round++) {
        struct maps maps = {0};
        struct profile *p = profile_new();
        int n = rand() % 8;
        for (int i = 0; i < n; i++) {
            struct maps_entry e = {.start = 1 + (uint64_t)(rand() % 60), .file = "f", .build_id = ""};
            e.limit = e.start + (uint64_t)(rand() % 20);
            *VEC_PUSH(maps.entries, maps.n_entries, maps.cap_entries) = e;
        }
        for (uint64_t a = 1; a < 90; a++) profile_add_location(p, a, 0);
        maps_apply(&maps, p);
        for (uint64_t a = 1; a < 90; a++) {
            int want = n;
            for (int i = n; i-- > 0;)
                if (maps.entries[i].start <= a && a < maps.entries[i].limit) want = i;
            CHECK_INT(p->locations[a - 1].mapping, want + 1);
        }
        profile_free(p);
        maps_free(&maps);
    }
}

TEST_MAIN()
